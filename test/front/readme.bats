# README.md's sections on rtf: typed as they are printed, under the configuration as shipped.
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

# lines HEADING: what is to be typed there.
lines() { awk -v heading="## $1" '/^## / { inside = $0 == heading } inside && /^    /' "$RTF_SOURCE/README.md" | sed -e 's/^ *//' -e 's/ *#.*//'; }

# typed: the script on standard input, as Alice, with errors fatal; what is said is in $WORK/out.
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

# player: a program whose thread has a name, until its standard input ends.
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
is_real_time() { [[ $(kernel "$(audio_of "$1")") == "deadline 0 "*" 10000/100000/100000 "* ]]; }

@test "My program has threads" {
    broker_start
    player
    [ "$(lines 'My program has threads' | wc -l)" -eq 2 ]
    become $ALICE "$WORK/player" <"$WORK/input" 3>&- &
    program=$!
    echo "$program" >>"$WORK/pids"
    exec 4>"$WORK/input"
    eventually has_audio "$program"
    lines 'My program has threads' | sed -n "1s/PID/$program/p" | typed
    is_real_time "$program"
    is_policy "$program" other
    exec 4>&-
    eventually nothing_in "$OWN"

    cd "$WORK"
    as $ALICE env -C "$WORK" PATH="$WORK/bin:/usr/bin:/bin" USER=$ALICE sh -c "$(lines 'My program has threads' | sed -n 2p)" <"$WORK/input" 3>&- &
    echo "$!" >>"$WORK/pids"
    exec 4>"$WORK/input"
    eventually eval 'program=$(pgrep -u $ALICE -f "$WORK/[p]layer|[.]/player" | tail -n 1) && has_audio "$program"'
    eventually is_real_time "$program"
    exec 4>&-
    eventually nothing_in "$OWN"
}
