# README.md's sections on rtf, typed as printed, under the configuration as shipped.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    configure_as_shipped
    mkdir "$WORK/bin"
    for name in rtf rtf-run rtf-wait; do printf '#!/bin/sh\nexec %s --spool %s "$@"\n' "$RTF_BIN/$name" "$SPOOL" >"$WORK/bin/$name"; done
    chmod 755 "$WORK"/bin/*
}

# lines HEADING: prints the commands in this section.
lines() { awk -v heading="## $1" '/^## / { inside = $0 == heading } inside && /^    /' "$RTF_SOURCE/README.md" | sed -e 's/^ *//' -e 's/ *#.*//'; }

# typed: runs the script on standard input as Alice, and errors are fatal. $WORK/out has the output.
typed() {
    cat >"$WORK/script"
    as $ALICE env PATH="$WORK/bin:/usr/bin:/bin" USER=$ALICE sh -eu "$WORK/script" </dev/null >"$WORK/out" 2>&1 || { cat "$WORK/script" "$WORK/out" >&2; return 1; }
}

@test "In a word each" {
    broker_start
    [ "$(lines 'In a word each' | wc -l)" -eq 6 ]
    lines 'In a word each' | sed -E 's/^rtf (attach|change|detach) .*/&; chrt -p $$/' | typed
    grep -q '^EDF would grant 10ms of each 100ms on CPUs ' "$WORK/out"
    [ "$(grep -c 'policy: SCHED_DEADLINE' "$WORK/out")" -eq 2 ]
    grep -q 'parameters: 20000000/' "$WORK/out"
    tail -n 2 "$WORK/out" | grep -q SCHED_OTHER
    [ -z "$(ls -A "$OWN")" ]
}

@test "List and watch" {
    broker_start
    silent rtf declare cam -T 10ms -P 100ms
    [ "$(lines 'List and watch' | wc -l)" -eq 4 ]
    lines 'List and watch' | typed
    grep -q '^cam *granted' "$WORK/out"
    grep -q '^granted *EDF grants 10ms of each 100ms' "$WORK/out"
    grep -q '^EDF *deadline' "$WORK/out"
    grep -q '"result":"OK"' "$WORK/out"
}

# sentences HEADING: prints the commands within the sentences of this section.
sentences() { awk -v heading="## $1" '/^## / { inside = $0 == heading } inside && !/^    /' "$RTF_SOURCE/README.md" | grep -oE '`rtf [^`]*`' | tr -d '`' | sort -u; }

@test "List and watch: the commands within its sentences print something, and JSON with --json" {
    broker_start
    silent rtf declare cam -T 10ms -P 100ms
    rtf log >/dev/null # verdicts are kept for the user from now on
    silent rtf release cam
    silent rtf declare cam -T 10ms -P 100ms
    printf '#!/bin/sh\n[ "$*" != "log -f" ] && [ "$*" != "log -f --json" ] || exec timeout 1 %s --spool %s "$@"\nexec %s --spool %s "$@"\n' "$RTF_BIN/rtf" "$SPOOL" "$RTF_BIN/rtf" "$SPOOL" >"$WORK/bin/rtf"
    [ "$(sentences 'List and watch' | wc -l)" -eq 7 ]
    count=0
    while read -r _ words; do
        [ "$words" != top ] || continue # top.bats runs top in a terminal
        for option in '' --json; do
            [ "$words $option" != 'metrics --json' ] || continue
            # shellcheck disable=SC2086 # words
            PATH=$WORK/bin:$PATH command rtf $words $option >"$WORK/out" 2>"$WORK/err" </dev/null || [ $? -eq 124 ] || [ "$words" = doctor ]
            [ -s "$WORK/out" ]
            [ -z "$option" ] || jq . "$WORK/out" >/dev/null
            count=$((count + 1))
        done
    done < <(sentences 'List and watch')
    [ "$count" -eq 11 ]
}

@test "What did I get?" {
    command -v gnuplot >/dev/null || skip 'there is no gnuplot, which rtf muse report needs'
    broker_start
    install -d -o $ALICE "$WORK/home"
    [ "$(lines 'What did I get?' | wc -l)" -eq 4 ]
    { echo "cd '$WORK/home'"; lines 'What did I get?' | sed -e '$d' -e 's/"10s"/"2s"/'; } | typed
    grep -q '^cam: granted 10ms/40ms; got ' "$WORK/out"
}

@test "Which period, and which runtime?" {
    broker_start
    install -d -o $ALICE "$WORK/home"
    become $ALICE "$RTF_STAGE/worker" "$WORK/home/truth" clock 20000 1000 3>&- &
    program=$!
    echo "$program" >>"$WORK/pids"
    [ "$(lines 'Which period, and which runtime?' | wc -l)" -eq 3 ]
    printf '#!/bin/sh\n(sleep 3; exec kill $$) &\nexec %s %s clock 20000 1000\n' "$RTF_STAGE/worker" "$WORK/home/recorded" >"$WORK/home/camera"
    chmod 755 "$WORK/home/camera"
    { echo "cd '$WORK/home'"; lines 'Which period, and which runtime?' | sed -e "s/\$(pidof -s camera)/$program/" -e 's/10s/2s/'; } | typed
    grep -qE "^rtf-run --spool $SPOOL -T [0-9]+[um]s -P (20ms|19[0-9]*us) -- ./camera$" "$WORK/out" || { cat "$WORK/out" >&2; false; }
    is_policy "$program" deadline
    kill "$program"
    eventually nothing_in "$OWN"
}

# player: a program with a named thread, which runs until its standard input ends.
player() {
    cat >"$WORK/player" <<'END'
#!/usr/bin/python3
import ctypes, sys, threading
def play():
    ctypes.CDLL(None).prctl(15, b"audio", 0, 0, 0)
    sys.stdin.read()
threading.Thread(target=play).start()
END
    chmod 755 "$WORK/player"
    mkfifo -m 666 "$WORK/input"
}
audio_of() { grep -lx audio "/proc/$1"/task/*/comm 2>/dev/null | sed -E 's,.*/task/([0-9]+)/.*,\1,'; }
has_audio() { [ -n "$(audio_of "$1")" ]; }
is_audio() { [[ $(kernel "$(audio_of "$program")") == "$1 "* ]]; }

# The first two lines are player.json; then rtf-run, rtf attach, rtf show, rtf release.
@test "My program has threads" {
    broker_start
    player
    [ "$(lines 'My program has threads' | wc -l)" -eq 6 ]
    lines 'My program has threads' | sed -n 1,2p >"$WORK/player.json"
    chmod 644 "$WORK/player.json"
    become $ALICE "$WORK/player" <"$WORK/input" 3>&- &
    program=$!
    echo "$program" >>"$WORK/pids"
    exec 4>"$WORK/input"
    eventually has_audio "$program"
    cd "$WORK"
    lines 'My program has threads' | sed -n "4s/PID/$program/p" | typed
    is_audio fifo
    is_policy "$program" other
    lines 'My program has threads' | sed -n 5p | typed
    grep -q '^thread  *[0-9]* (audio), attached, rule 2: FP grants 1ms of each 10ms' "$WORK/out"
    lines 'My program has threads' | sed -n 6p | typed
    is_audio other
    exec 4>&-
    eventually is_gone "$program"

    as $ALICE env -C "$WORK" PATH="$WORK/bin:/usr/bin:/bin" USER=$ALICE sh -c "$(lines 'My program has threads' | sed -n 3p)" <"$WORK/input" 3>&- &
    echo "$!" >>"$WORK/pids"
    exec 4>"$WORK/input"
    eventually eval 'program=$(pgrep -u $ALICE -f "$WORK/[p]layer|[.]/player" | tail -n 1) && has_audio "$program"'
    eventually is_audio fifo
    exec 4>&-
    eventually nothing_in "$OWN"
}
