# The examples on the pages of rtf's commands do what the pages say, typed as they are printed.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    configure_rules "$ALICE - max_utilization 1.8"
    mkdir "$WORK/bin" "$WORK/home"
    for name in rtf rtf-run rtf-wait; do
        printf '#!/bin/sh\nexec %s --spool %s "$@"\n' "$RTF_BIN/$name" "$SPOOL" >"$WORK/bin/$name"
    done
    printf '#!/bin/sh\nexec %s --spool %s "$@"\n' "$RTF_LIBEXEC/rtf-invariants" "$SPOOL" >"$WORK/bin/rtf-invariants"
    printf '#!/bin/sh\necho sampled\n' >"$WORK/home/sample"
    cp "$WORK/home/sample" "$WORK/home/probe"
    chmod 755 "$WORK"/bin/* "$WORK"/home/*
    chown -R $ALICE "$WORK/home"
    echo '{"runtime": "10ms", "period": "100ms"}' >"$WORK/home/camera.json"
}

# example PAGE NUMBER: writes one literal block of the page's EXAMPLES to $WORK/script, as a reader sees the block.
example() {
    awk -v wanted="$2" '/^# / { inside = $0 == "# EXAMPLES" } !inside { next } /^```/ { literal = !literal; count += literal; next }
        literal && count == wanted { gsub(/\\\\/, "\\"); print }' "$RTF_SOURCE/man/$1.scd" | sed -e "s/4242/${SLEEPER:-4242}/g" -e "s/4200/${SLEEPER:-4200}/g" >"$WORK/script"
    [ -s "$WORK/script" ]
}
# typed [UID]: runs the script, and errors are fatal. $WORK/out has the output.
typed() {
    (cd "$WORK/home" && as "${1:-$ALICE}" env PATH="$WORK/bin:/usr/bin:/bin" USER="${1:-$ALICE}" sh -eu "$WORK/script" </dev/null >"$WORK/out" 2>&1) ||
        { cat "$WORK/script" "$WORK/out" >&2; return 1; }
}

@test "the examples of rtf(1), rtf-declare(1), rtf-show(1), rtf-change(1) and rtf-release(1) work" {
    broker_start
    sleeper $ALICE
    example rtf.1 1 && typed
    grep -q '^cam *attached' "$WORK/out"
    example rtf-declare.1 1 && typed
    example rtf-change.1 1 && sed -i '/deadline=$/i rtf change cam deadline=50ms' "$WORK/script" && typed
    holds cam '.grant.runtime == 8000 and .grant.period == 80000 and .grant.deadline == 80000'
    example rtf-change.1 2 && typed
    grep -q '20ms of each 80ms' "$WORK/out"
    example rtf-release.1 1
    sed -i '/--all/d' "$WORK/script" && typed
    example rtf-declare.1 2 && typed
    holds cam '.grant.period == 200000'
    example rtf-release.1 1
    sed -i '1d' "$WORK/script" && typed
    [ -z "$(ls -A "$OWN")" ]
    example rtf-declare.1 3 && typed
    holds cam '.grant.runtime == 20000'
}

@test "rtf show and rtf plugins print as rtf-show(1) and rtf-plugins(1) show" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 10ms -P 100ms
    silent rtf attach cam "$SLEEPER"
    shape() { sed -E -e 's/[0-9]{4}-[0-9-]+T[0-9:.]+Z/TIME/' -e "s/\b(4242|$SLEEPER) \([a-z]+\)/THREAD/" -e 's/CPUs? [0-9,-]+/CPUS/' -e 's/[0-9]+\.[0-9]{3}s/SECONDS/g'; }
    example rtf-show.1 1
    diff <(sed 1d "$WORK/script" | shape) <(rtf show cam | shape) >&2
    example rtf-plugins.1 1
    diff <(sed 1d "$WORK/script" | tr -s ' ' | cut -d ' ' -f 1-3,5-6) <(rtf plugins | tr -s ' ' | cut -d ' ' -f 1-3,5-6) >&2
}

@test "the examples of rtf-attach(1), rtf-detach(1) and rtf-adopt(1) work" {
    broker_start
    sleeper $ALICE
    example rtf-attach.1 1 && typed
    is_policy "$SLEEPER" deadline
    example rtf-detach.1 1 && typed
    is_policy "$SLEEPER" other
    (exec setpriv --reuid $ALICE --regid $ALICE --clear-groups -- /usr/bin/python3 -S -c 'import ctypes, time; ctypes.CDLL(None).prctl(15, b"audio-1", 0, 0, 0); time.sleep(300)' 3>&-) &
    SLEEPER=$!
    echo "$SLEEPER" >>"$WORK/pids"
    is_audio() { [ "$(cat "/proc/$SLEEPER/comm" 2>/dev/null)" = audio-1 ]; }
    eventually is_audio
    example rtf-attach.1 2 && typed
    is_policy "$SLEEPER" deadline
    silent rtf release --all
    chrt -f -p 5 "$SLEEPER"
    example rtf-adopt.1 1 && sed -i 's/$/ || :/' "$WORK/script" && typed 0
    grep -q "$SLEEPER" "$WORK/out"
    example rtf-adopt.1 2 && typed
    holds radar '.grant.policy == "fifo"'
}

@test "the examples of rtf-ls(1), rtf-what-if(1), rtf-every(1) and rtf-wait(1) work" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    rtf declare bad --keep --set perid=5 2>"$WORK/err" || true
    example rtf-ls.1 1 && typed
    grep -q '^bad: .*perid' "$WORK/out"
    example rtf-what-if.1 1 && typed
    grep -q '"plugin": "EDF"' "$WORK/out"
    example rtf-what-if.1 2 && typed
    [ "$(tail -n 1 "$WORK/out")" -gt 1000 ]
    example rtf-every.1 1 && sed -i 's/+60s/+500ms/' "$WORK/script" && typed
    grep -qx sampled "$WORK/home/samples"
    example rtf-every.1 2 && sed -i -e 's/50/4/' -e 's/^jq -e .*/jq -e .activations tally/' "$WORK/script" && typed
    grep -qx 4 "$WORK/out"
}

@test "the examples of rtf-usage(1) work" {
    broker_start
    hog $ALICE
    silent rtf declare cam -T 10ms -P 100ms --attach "$HOG"
    example rtf-usage.1 1 && sed -i 's/60s/1s/' "$WORK/script" && typed
    [ "$(cat "$WORK/out")" -ge 5000 ]
    example rtf-usage.1 2 && sed -i "s,/var/spool/rtf/specs/,$SPECS/," "$WORK/script" && typed
    jq -e '.jobs > 30 and .jobs <= 50 and .misses >= 4' "$WORK/out"
}

# rtf learn finds no period in two seconds if the thread waits for a CPU most of the time.
# bats test_tags=machine
@test "the examples of rtf-learn(1) and rtf-adapt(1) work" {
    broker_start
    # From 64 jobs on, jobs that begin late beside other programs do not hide the period.
    become $ALICE "$RTF_STAGE/worker" "$WORK/home/truth" clock 10000 500 3>&- &
    SLEEPER=$!
    echo "$SLEEPER" >>"$WORK/pids"
    printf '#!/bin/sh\nexec %s %s clock 10000 500\n' "$RTF_STAGE/worker" "$WORK/home/truth" >"$WORK/home/camera"
    chmod 755 "$WORK/home/camera"
    learned() { # PAGE NUMBER
        example "$1" "$2" && sed -i -e 's/^\$ //' -e 's/5s/2s/' "$WORK/script"
    }
    learned rtf-learn.1 1 && typed
    grep -q '"period"' "$WORK/out"
    learned rtf-learn.1 2 && sed -i 's,rtf-run -f camera.spec -- ./camera,rtf-run -f camera.spec -- chrt -p 0,' "$WORK/script" && typed
    grep -q SCHED_DEADLINE "$WORK/out"
    learned rtf-learn.1 3 && typed
    is_policy "$SLEEPER" deadline
    silent rtf release cam
    learned rtf-adapt.1 1 && typed
    holds cam '.thread.state == "attached"'
    kill "$SLEEPER"
}

@test "the loop of rtf-every(1) works" {
    broker_start
    awk '/^```/ { literal = !literal; next } literal && /--loop/ { inside = 1 } literal && inside { gsub(/\\\\/, "\\"); print } !literal { inside = 0 }' "$RTF_SOURCE/man/rtf-every.1.scd" |
        sed -e 's/--loop/--loop --count 3/' -e "s,/run/lock/beat,$WORK/home/beat," >"$WORK/script"
    typed
    [ "$(cat "$WORK/home/beat")" = 3 ]
}
