# rtf muse: the supply that marks show, the load that makes the marks, and the reports.
load helper
load command

prepare() {
    MUSE=${RTF_MUSE:-$RTF_LIBEXEC/front/rtf-muse}
    mkdir -m 777 "$WORK/muse"
    cd "$WORK/muse"
}

# experiment DURATION THREAD...: writes an experiment with these threads, which are analysed; THREAD is NAME, or NAME=JSON with more keys.
experiment() {
    local duration thread comma=
    duration=$(awk "BEGIN { print $1 * 1000 }")ms
    shift
    printf '{"global": {"duration": "%s", "analysis": {"supply": true}},\n "threads": {' "$duration"
    for thread; do
        printf '%s\n  "%s": {"phases": {"c0": {"loops": 20000}}, "analysis": {"supply": true, "runmap": true, "migrations": true, "statistical": true}%s}' \
            "$comma" "${thread%%=*}" "$([ "$thread" = "${thread%%=*}" ] || printf ', %s' "${thread#*=}")"
        comma=,
    done
    printf '\n }}\n'
}

# server THREAD BUDGET PERIOD PHASE JOB COUNT: prints the marks of a server that gives its budget at the start of each period, in us.
server() {
    awk -v thread="$1" -v q="$2" -v p="$3" -v phase="$4" -v job="$5" -v count="$6" 'BEGIN {
        for (j = 0; j < count; j++) { n = j * job; printf "%d,%d,%d,%d\n", thread, phase + int(n / q) * p + n % q, int(n / q) % 2, j } }'
}

# near VALUE WANTED: the two are equal to a billionth.
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-9) }' || { echo "$1 instead of $2" >&2; return 1; }; }

of() { jq -r "$1" "${2:-out}/result.json"; }

# bats test_tags=turn:2
@test "muse: a server's share and delay come out of its marks to a billionth, whatever its phase" {
    experiment 10 a >e.json
    for parameters in '5000 20000 0 1000' '5000 20000 777 500' '3000 7000 13 250' '90000 100000 1 10000'; do
        # shellcheck disable=SC2086 # numbers
        server 1 $parameters 2000 >marks.csv
        "$MUSE" import e.json marks.csv -o out >/dev/null
        read -r q p _ <<<"$parameters"
        near "$(of .threads.a.supply.lower.alpha)" "$(jq -n "$q / $p")"
        near "$(of .threads.a.supply.lower.delta)" "$(jq -n "($p - $q) / 1e6")"
        near "$(of .threads.a.supply.upper.alpha)" "$(jq -n "$q / $p")"
        near "$(of .threads.a.supply.upper.delta)" "$(jq -n "-($p - $q) / 1e6")"
        near "$(of .threads.a.joint.alpha)" "$(jq -n "$q / $p")"
        near "$(of .threads.a.longest_blackout)" "$(jq -n "($p - $q) / 1e6")"
        [ "$(of .threads.a.jobs)" -eq 2000 ]
        [ "$(of .threads.a.lost)" -eq 0 ]
        near "$(of .global.supply.lower.alpha)" "$(jq -n "$q / $p")"
    done
}

# bats test_tags=turn:1
@test "muse: marks of another recorder need no phases, and the paper's own listing is an experiment" {
    echo '{"global": {"duration": "1s"}, "threads": {"a": {"analysis": {"supply": true}}}}' >e.json
    server 1 5000 10000 0 1000 500 >marks.csv
    "$MUSE" import e.json marks.csv -o out >/dev/null
    near "$(of .threads.a.supply.lower.alpha)" 0.5
    fails 65 'rtf-muse: e.json: key "threads.a" (line 1) lacks the key "phases" (or "command")' "$MUSE" run e.json -o other
    cat >e.json <<'END_OF_LISTING'
{ "global": {"default_policy": "SCHED_RR", "duration": "10s", "analysis": {"supply": true}}, "resources": 2, "shared": 50,
  "threads": {
    "thread1": {"priority": 10, "cpus": [0, 1, 2],
      "phases": {"c0": {"loops": 1000}, "l0": {"loops": 2000, "res": 0}, "s0": {"loops": 1000}, "l1": {"loops": 3000, "res": 1},
                 "m0": {"loops": 1000, "memory": 10}, "c1": {"loops": 5000}},
      "analysis": {"supply": true, "runmap": true, "migrations": true, "statistical": true}},
    "thread2": {"cpus": [0, 1], "policy": "SCHED_DEADLINE", "budget": "1000ns", "period": "2000ns",
      "phases": {"c0": {"loops": 5000}, "m0": {"loops": 1000, "memory": 100}, "l0": {"loops": 10000, "res": 1}}}}}
END_OF_LISTING
    { server 1 1000000 1000000 0 1000 9000; server 2 1 2 0 1 100; } >marks.csv
    "$MUSE" import e.json marks.csv -o out >/dev/null
    near "$(of .threads.thread1.supply.lower.alpha)" 1
    near "$(of .threads.thread2.granted.period)" 0.000002
    [ "$(of .threads.thread2.supply)" = null ]
    [ "$(of .global.jobs)" -eq 9000 ]
}

# bats test_tags=turn:2
@test "muse: two dedicated CPUs are two CPUs, and the functions are in tables beside" {
    experiment 1 a='"cpus": [0]' b='"cpus": [1]' >e.json
    { server 1 1000000 1000000 0 1000 900; server 2 1000000 1000000 500 1000 900; } >marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    near "$(of .global.supply.lower.alpha)" 2
    near "$(of .global.supply.upper.alpha)" 2
    [ "$(of .global.supply.rate)" -eq 2 ]
    for name in a b global; do
        for which in lower upper; do
            [ "$(head -n 1 "out/$name.$which.csv")" = t,supply ]
            awk -F, 'NR > 1 && ($1 < t || $2 < s) { exit 1 } NR > 1 { t = $1; s = $2 }' "out/$name.$which.csv"
        done
    done
    grep -q '^all threads: got 2.0000 of 2 CPUs$' said
    [ "$(of '.window | map(tostring) | join(" ")')" = '0.0005 0.899' ]
}

# bats test_tags=turn:0
@test "muse: a thread that never ran, one of one mark, and no mark at all are told, not a failure" {
    experiment 1 never once twice >e.json
    { server 3 1000000 1000000 0 1000 800; echo 2,5000,0,0; } >marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    grep -q '^never: never ran: it began no job$' said
    grep -q '^once: began one job and ended none: there is nothing to measure$' said
    for thread in never once; do
        [ "$(of ".threads.$thread.supply.lower | tojson")" = '{"alpha":0,"delta":null}' ]
    done
    near "$(of .threads.twice.supply.lower.alpha)" 1
    : >none.csv
    "$MUSE" import e.json none.csv -o none >said
    [ "$(grep -c 'never ran' said)" -eq 4 ]
    near "$(of .global.supply.lower.alpha none)" 0
}

@test "muse supply prints the word of plugins.conf for the least share and the longest delay of all threads" {
    experiment 10 a b >e.json
    { server 1 5000 20000 0 1000 2000; server 2 90000 100000 0 1000 7200; } >marks.csv
    "$MUSE" import e.json marks.csv -o out >/dev/null
    [ "$("$MUSE" supply out)" = 'supply=0.25,15000us' ]
    "$RTF_LIBEXEC/plugins/rm" name=RM cpus=0 priority=1-9 admission=rta "$("$MUSE" supply out)" </dev/null | grep -q '^answer=ok$'
    jq '.threads.a.supply.lower = {alpha: 0.9999999994, delta: 0.0000010001} | .threads.b.supply = null' out/result.json >again && cp again out/result.json
    [ "$("$MUSE" supply out)" = 'supply=0.999999999,2us' ]
    jq '.threads.a.supply.lower = {alpha: 1.0000000001, delta: -1e-9}' out/result.json >again && cp again out/result.json
    [ "$("$MUSE" supply out)" = 'supply=1,0us' ]
    jq '.threads.a.supply.lower = {alpha: 0, delta: 3}' out/result.json >again && cp again out/result.json
    fails 65 'rtf-muse: out/result.json: a thread got no supply within the horizon, *' "$MUSE" supply out
    jq '.threads.a.supply = null' out/result.json >again && cp again out/result.json
    fails 65 'rtf-muse: out/result.json: no thread has an analysis of its supply' "$MUSE" supply out
    echo '[' >out/result.json
    fails 65 'rtf-muse: out/result.json: is not a result' "$MUSE" supply out
    fails 66 'rtf-muse: none/result.json: there is none; *' "$MUSE" supply none
    fails 64 'rtf-muse: supply: DIR is missing' "$MUSE" supply
    fails 64 'rtf-muse: supply: only one DIR is allowed' "$MUSE" supply out out
}

# bats test_tags=turn:1
@test "muse: lost marks are found by their numbers, interpolated and counted; order and repetition do not matter" {
    experiment 1 a >e.json
    server 1 1000000 1000000 0 1000 900 >all.csv
    awk -F, '$4 % 10 != 3 && !($4 > 500 && $4 < 520)' all.csv | tac >marks.csv
    head -n 5 marks.csv >again && cat again >>marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    [ "$(of .threads.a.jobs)" -eq 900 ]
    [ "$(of .threads.a.lost)" -eq $((90 + 19 - 2)) ]
    near "$(of .threads.a.supply.lower.alpha)" 1
    near "$(of .threads.a.supply.lower.delta)" 0
    grep -q '^a: 107 of 900 marks were lost and interpolated$' said
}

# bats test_tags=turn:2
@test "muse: a thread that falls silent or comes late is starved: that counts, and does not hide in a shorter window" {
    experiment 10 a b c >e.json
    { server 1 1000000 1000000 0 1000 9990; server 2 1000000 1000000 0 1000 4000; server 3 1000000 1000000 3000000 1000 6990; } >marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    near "$(of .threads.a.supply.lower.alpha)" 1
    near "$(of .threads.b.supply.lower.alpha)" 0
    near "$(of .threads.c.supply.lower.alpha)" 0
    grep -q '^b: began no job in the last 5.99s$' said
    grep -q '^c: began no job in the first 3s$' said
    grep -q '^b: no supply is guaranteed within the horizon: the thread got no CPU time for 5.989s$' said
}

# bats test_tags=turn:0
@test "muse: where jobs began, how often they moved, and what k of them took" {
    experiment 1 a='"cpus": [0, 1, 2]' >e.json
    printf '%s\n' thread,start_us,cpu,job 1,0,0,0 1,1000,0,1 1,3000,1,2 1,4000,0,3 >marks.csv
    "$MUSE" import e.json marks.csv -o out >/dev/null
    [ "$(of '.threads.a.runmap | tojson')" = '{"0":0.75,"1":0.25,"2":0}' ]
    [ "$(of .threads.a.migrations)" -eq 2 ]
    [ "$(of .threads.a.migrations_per_job)" = 0.5 ]
    near "$(of '.threads.a.statistical.mean[0]')" "$(jq -n '4e-3 / 3')"
    near "$(of '.threads.a.statistical.variance[0]')" "$(jq -n '2e-6 / 9')"
    [ "$(of '.threads.a.statistical.k | tojson')" = '[1,2,3]' ]
    [ "$(sed -n 2p out/a.statistical.csv)" = 1,0.001333333333,2.222222222e-07 ]
}

# bats test_tags=turn:1
@test "muse tells an error in the marks with its line" {
    experiment 1 a >e.json
    wrong() { # PATTERN LINE...
        printf '%s\n' "${@:2}" >marks.csv
        fails 65 "rtf-muse: marks.csv: $1" "$MUSE" import e.json marks.csv -o out
    }
    wrong 'line 2: this must be THREAD,START_US,CPU,JOB, as 1,250.125,0,7' 1,0,0,0 1,x,0,1
    wrong 'line 1: this must be THREAD,*' 1,0,0
    wrong 'line 1: this must be THREAD,*' 0,0,0,0
    wrong 'line 1: this must be THREAD,*' 1,99999999999999999999,0,0
    wrong 'line 1: there is no thread 2: the experiment has 1' 2,0,0,0
    wrong 'thread 1: job 1 begins before job 0' 1,5,0,0 1,3,0,1
    wrong 'thread 1: job 1 begins twice' 1,5,0,1 1,6,0,1
    wrong 'the marks are more than a day apart' 1,0,0,0 1,90000000000,0,1
    printf '%s\n' 1,0,0,0 1,10,0,4000000000 >marks.csv
    fails 65 'rtf-muse: marks: job 4000000000 comes after job 0: too many marks between them are lost' "$MUSE" import e.json marks.csv -o out
    printf '%s\n' 1,0,0,0 1,0,0,1 1,0,0,2 >marks.csv
    "$MUSE" import e.json marks.csv -o out | grep -q '^a: a job took no measurable time: make jobs longer, or use a finer clock$'
    fails 66 'rtf-muse: none.csv: No such file or directory' "$MUSE" import e.json none.csv -o out
    fails 66 'rtf-muse: none/experiment.json: cannot be read: No such file or directory' "$MUSE" analyse none
    fails 64 "rtf-muse: there is no command 'runn': *" "$MUSE" runn
}

# bats test_tags=turn:2
@test "muse tells an error in an experiment with its key and its line" {
    thread='"phases": {"c0": {"loops": 1}}'
    wrong() { # PATTERN JSON
        printf '%s\n' "$2" >e.json
        fails 65 "rtf-muse: e.json: $1" "$MUSE" run e.json -o out
    }
    in_thread() { wrong "key \"threads.t${1#+}" '{"threads": {"s": {'"$thread"'},
 "t": {'"$2"'}}}'; }
    wrong 'is not one JSON object: line 2, column *' '{
 x}'
    wrong 'must be one JSON object with "global" and "threads"' '[]'
    wrong 'lacks the key "threads"' '{}'
    wrong 'key "thread" (line 1) is unknown; known here: global, resources, shared, threads, comment, sweep' '{"thread": {}}'
    wrong 'key "threads" (line 1) must be an object of 1 to 1024 threads' '{"threads": {}}'
    wrong 'key "global.duration" (line 2) must be a string with a time and its unit, such as "5ms": ns, us, ms, s, min, h or d, up to a day' '{"global":
 {"duration": -1}}'
    wrong 'key "global.default_policy" (line 1) must be one of SCHED_OTHER, *' '{"global": {"default_policy": "EDF"}}'
    wrong 'key "global.analysis.runmap" (line 1) is unknown; known here: supply' '{"global": {"analysis": {"runmap": true}}}'
    wrong 'key "resources" (line 1) must be a whole number from 0 to 4096' '{"resources": -1}'
    wrong 'key "sweep" (line 1) describes several experiments: run them with rtf muse sweep' '{"sweep": {}}'
    in_thread '" (line 2) lacks the key "phases" (or "command")' ''
    in_thread '.prio" (line 2) is unknown; *' '"prio": 5'
    in_thread '.priority" (line 2) must be a whole number from 1 to 99' '"priority": 100'
    in_thread '.budget" (line 2) must be a string with a time and its unit, such as "5ms": ns, us, ms, s, min, h or d, up to a day' '"budget": "5"'
    for time in 5000000 '"1.5ms"' '"25h"' '"3m"' '"0s"'; do in_thread '.budget" (line 2) must be a string with a time and its unit, *' "\"budget\": $time"; done
    for time in 500us 3min 1h 1d; do in_thread '.none" (line 2) is unknown; *' "\"budget\": \"$time\", \"none\": 1"; done
    in_thread '.cpus" (line 2) must be CPUs, as [[]0, 1] or "0-3"' '"cpus": ["a"]'
    in_thread '.phases" (line 2) must be an object of 1 to 256 phases' '"phases": {}'
    in_thread '.phases.x0" (line 2) is no phase: *' '"phases": {"x0": {}}'
    in_thread '.phases.c0" (line 2) lacks the key "loops"' '"phases": {"c0": {}}'
    in_thread '.phases.l0" (line 2) lacks the key "res"' '"phases": {"l0": {"loops": 1}}'
    in_thread '.phases.m0" (line 2) lacks the key "memory"' '"phases": {"m0": {"loops": 1}}'
    in_thread '.phases.z0" (line 2) lacks the key "duration"' '"phases": {"z0": {}}'
    in_thread '.phases.u0" (line 2) lacks the key "library"' '"phases": {"u0": {}}'
    in_thread '" (line 2) locks resource 0 in phase l0, but there are 0: set "resources"' '"phases": {"l0": {"loops": 1, "res": 0}}'
    in_thread '" (line 2) has the shared phase s0, but "shared" is less than the 8 bytes of a number' '"phases": {"s0": {"loops": 1}}'
    in_thread '" (line 2) has SCHED_DEADLINE and lacks the key "budget"' "$thread"', "policy": "SCHED_DEADLINE"'
    in_thread '" (line 2) must have budget <= deadline <= period: 9000000, 5000000 and 5000000 ns' "$thread"', "policy": "SCHED_DEADLINE", "budget": "9ms", "period": "5ms"'
    in_thread '" (line 2) has a reservation, which decides on the policy: *' "$thread"', "reservation": {}, "priority": 3'
    in_thread '" (line 2) has both "phases" and "command"' "$thread"', "command": ["true"]'
    in_thread '.reservation" (line 2) must not have the keys attach, token and lifetime, which rtf muse sets itself' '"reservation": {"attach": 5}'
    in_thread '.command" (line 2) must be a program and its arguments, as *' '"command": "true"'
    in_thread '.analysis.supply" (line 2) must be true or false' '"analysis": {"supply": 1}'
    in_thread '.exec" (line 2) is unknown; *' '"exec": 5'
    fails 66 'rtf-muse: none.json: cannot be read: No such file or directory' "$MUSE" run none.json
}

# bats test_tags=turn:0
@test "muse run marks and analyses jobs, and the printed marks give the same result elsewhere" {
    experiment 0.5 a b >e.json
    "$MUSE" run e.json -o out >said
    [ "$(of .threads.a.lost)" -eq 0 ]
    [ "$(of .threads.a.jobs)" -gt 50 ]
    [ "$(jq -r .ended out/run.json)" = well ]
    [ "$(jq .threads.b.dropped out/run.json)" -eq 0 ]
    "$MUSE" marks out >marks.csv
    "$MUSE" import e.json marks.csv -o other >/dev/null
    diff <(jq 'del(.sentences)' out/result.json) <(jq 'del(.sentences)' other/result.json)
    "$MUSE" analyse out --json | diff - out/result.json
    [ -z "$("$MUSE" analyse --quiet out 2>&1)" ]
}

# is_interrupted [OPTION...]: Ctrl-C ends the run, and the marks until then are analysed.
is_interrupted() {
    experiment 100 a >e.json
    "$MUSE" run "$@" e.json -o out >said 2>&1 3>&- &
    pid=$!
    echo "$pid" >>"$WORK/pids"
    eventually test -s out/marks/1
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 130 ]
    [ "$(of .threads.a.jobs)" -gt 10 ]
    [ "$(jq -r .ended out/run.json)" = interrupted ]
}

# bats test_tags=turn:1
@test "muse run: Ctrl-C ends it early, and what there is until then is analysed" {
    is_interrupted
}

# bats test_tags=turn:2
@test "muse run: when the load is killed, its marks survive" {
    experiment 100 a >e.json
    "$MUSE" run e.json -o out >said 2>err 3>&- &
    pid=$!
    echo "$pid" >>"$WORK/pids"
    eventually test -s out/marks/1
    kill -KILL "$(pgrep -P "$pid")"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 70 ]
    [ "$(cat err)" = 'rtf-muse: the load was killed: by signal 9; the marks until then are analysed' ]
    [ "$(of .threads.a.jobs)" -gt 10 ]
}

tidy() {
    if mountpoint -q "$WORK/muse/small"; then umount "$WORK/muse/small"; fi
}

# bats test_tags=turn:0
@test "muse run: a full disk ends it with a sentence, and the table is printed all the same" {
    experiment 100 a='"comment": ""' | sed 's/20000/200/' >e.json
    mkdir small
    mount -t tmpfs -o size=512k tmpfs small
    status=0
    timeout 60 "$MUSE" run e.json -o small/out >said 2>err 3>&- || status=$?
    [ "$status" -eq 74 ]
    grep -q '^rtf-muse: marks cannot be written: No space left on device; the marks until then are analysed$' err
    grep -q '^a: got 0\.[0-9]* of a CPU' said
}

# bats test_tags=turn:1
@test "muse run: 64 threads, no CPUs named, some without analysis" {
    command jq -n '{global: {duration: "1s", analysis: {supply: true}}, threads: [range(64) | {key: "t\(.)", value: ({phases: {c0: {loops: 5000}}} + if . % 2 == 0 then {analysis: {supply: true}} else {} end)}] | from_entries}' >e.json
    "$MUSE" run e.json -o out >/dev/null
    [ "$(of '[.threads[] | select(.analysed)] | length')" -eq 32 ]
    [ "$(of '[.threads[].jobs] | add')" -gt 64 ]
}

# bats test_tags=turn:2
@test "muse run: an experiment of the paper's own tool runs as it is with --compat" {
    cat >e.json <<'END_OF_EXPERIMENT'
{"global": {"duration": 1, "default_policy": "SCHED_OTHER", "lock_pages": true, "logdir": "./", "analysis": {"supply": true}}, "resources": 2, "shared": 50,
 "threads": {
  "thread1": {"priority": 10, "cpus": [0], "phases": {"c0": {"loops": 1000}, "l0": {"loops": 2000, "resource_id": 0}, "s0": {"loops": 1000},
   "m0": {"loops": 1000, "memory": 10}, "z0": {"duration": 100}}, "analysis": {"supply": true, "runmap": true}},
  "thread2": {"policy": "SCHED_DEADLINE", "exec": 1000, "period": 20000, "hard_rsv": false, "phases": {"c0": {"loops": 5000}}, "analysis": {"supply": true}}}}
END_OF_EXPERIMENT
    "$MUSE" run --compat e.json -o out >/dev/null
    [ "$(of .threads.thread2.granted.period)" = 0.02 ]
    near "$(of '.threads.thread1.runmap["0"]')" 1
    fails 65 'rtf-muse: e.json: key "global.duration" (line 1) must be a string with a time *' "$MUSE" run e.json -o other
    sed 's/"duration": 1,/"duration": "1s",/' e.json >n.json
    fails 65 'rtf-muse: n.json: key "global.lock_pages" (line 1) is unknown; *' "$MUSE" run n.json -o other
}

# bats test_tags=turn:0
@test "muse run: a user without rights is told what to do, and is measured under a reservation" {
    mkdir -m 777 user
    cd user
    experiment 1 a='"policy": "SCHED_FIFO"' >e.json
    fails 77 'rtf-muse: thread a: SCHED_FIFO: the user may not set this policy: use a "reservation", which goes through the spool' as $ALICE "$MUSE" run e.json -o out
    experiment 2 a='"nominal": "cpu-time", "reservation": {"runtime": "20ms", "period": "100ms"}' >e.json
    fails 69 'rtf-muse: thread a: the reservation cannot be made: *' as $ALICE "$MUSE" run --spool "$SPOOL" e.json -o out
    configure_plugins 'EDF edf - all partition=global threshold=0.3'
    broker_start
    as $ALICE env USER=$ALICE "$MUSE" run --spool "$SPOOL" e.json -o out >said
    [ "$(of '.threads.a.granted | tojson')" = '{"period":0.1,"runtime":0.02,"share":0.2}' ]
    grep -q '^a: granted 20ms/100ms; got 0\.[12][0-9]* of a CPU, never without CPU time for more than [0-9.]*ms$' said
    eventually no_specs
    experiment 1 a='"reservation": {"runtime": "99ms", "period": "100ms", "plugin": "EDF"}' >e.json
    fails 65 'rtf-muse: thread a: the reservation was not granted: EDF refused: *' as $ALICE env USER=$ALICE "$MUSE" run --spool "$SPOOL" e.json -o other
    as $ALICE "$MUSE" report --no-png out 2>err || grep -q 'is not installed' err
}
no_specs() { [ -z "$(ls "$SPECS/$ALICE")" ]; }

# bats test_tags=turn:1
@test "muse report: pictures of each function, and one page that needs nothing else" {
    command -v gnuplot >/dev/null || skip 'needs gnuplot'
    experiment 10 a b never >e.json
    { server 1 5000 20000 0 1000 2000; server 2 3000 7000 0 250 2000; } >marks.csv
    "$MUSE" import e.json marks.csv -o out >/dev/null
    "$MUSE" report out
    for name in a.supply a.near a.statistical b.supply global.supply; do
        [ -s "out/$name.svg" ]
        [ "$(head -c 4 "out/$name.png" | tail -c 3)" = PNG ]
    done
    grep -q '<td>a</td><td>2000</td>' out/report.html
    command jq -n '{ended_at: "", host: "", kernel: "", processors: 2, threads: {a: {calibrated_job: 0, jobs: 0, cpu_time: 0, dropped: 0}}}' >out/run.json
    "$MUSE" report out
    grep -q '<td>a</td><td>–</td><td>[0-9.]*</td><td>–</td><td>0</td>' out/report.html
    [ "$(grep -c '<svg' out/report.html)" -eq 7 ]
    run grep -nE '(src|href)="?https?:|<script|<link|@import' out/report.html
    [ "$status" -eq 1 ]
    rm out/result.json
    fails 66 "rtf-muse: out/result.json: there is none; 'rtf muse analyse out' makes it" "$MUSE" report out
    fails 64 'rtf-muse: report: DIR is missing' "$MUSE" report
}

# bats test_tags=turn:2
@test "muse sweep: a run for each value, a line for each run, a picture for each number" {
    experiment 0.2 a | jq '.sweep = {set: ["threads.a.phases.c0.loops"], to: [[1000], [10000]]}' >e.json
    "$MUSE" sweep --no-picture --plot threads.a.supply.lower.alpha --plot threads.a.nominal e.json >said
    [ "$(sed -n 1p said)" = threads.a.phases.c0.loops,threads.a.supply.lower.alpha,threads.a.nominal ]
    awk -F, 'NR == 2 { small = $3 } NR == 3 { exit !($3 > 5 * small && small > 0) } END { if (NR != 3) exit 1 }' said
    cmp said e.sweep/sweep.csv
    "$MUSE" sweep --no-picture --plot threads.a.statistical.mean.0 --plot no.such e.json >said
    awk -F, 'NR == 2 { small = $2 } NR == 3 { exit !($2 > 5 * small && small > 0 && $3 == "") }' said
    experiment 1 a >e.json
    fails 65 'rtf-muse: e.json: key "sweep" must be *' "$MUSE" sweep --no-picture e.json
}

# far_away RELAY: makes an ssh that runs the command here, as sshd would; with a relay, its datagrams go through that port.
far_away() {
    mkdir -p bin
    cat >bin/ssh <<END_OF_SSH
#!/bin/sh
[ "\$1" = -T ] && [ "\$2" = far ] && [ "\$3" = -- ] || exit 255
shift 3
command=\$1
port=\${command##*--send }
port=\${port%% *}
echo "\$port" >$WORK/muse/port
[ -z "$1" ] || command=\$(echo "\$command" | sed "s/--send \$port /--send \$(cat $WORK/muse/relay) /")
SSH_CONNECTION='127.0.0.1 5000 127.0.0.1 22' exec sh -c "\$command"
END_OF_SSH
    chmod 755 bin/ssh
    PATH=$WORK/muse/bin:$PATH
}

# bats test_tags=turn:0
@test "muse run --remote: marks come as datagrams, and the experiment of the target is known here" {
    far_away ''
    experiment 1 a b >e.json
    "$MUSE" run --remote far --remote-command "env LONG=$(printf '%0200d' 0) $MUSE" e.json -o out >/dev/null
    [ "$(jq -r .ended out/run.json)" = well ]
    [ "$(of .threads.a.lost)" -eq 0 ]
    [ "$("$MUSE" marks out | grep -c ^2,)" -eq "$(jq .threads.b.jobs out/run.json)" ]
    experiment 1 a='"policy": "SCHED_DEADLINE", "budget": "1ns", "period": "1ns"' >e.json
    fails 78 'rtf-muse: thread a: SCHED_DEADLINE: the kernel'\''s limits are a budget of at least 1024 ns *' "$MUSE" run --remote far --remote-command "$MUSE" e.json -o out
    fails 64 'rtf-muse: --send: is only used by rtf muse run --remote, through ssh' "$MUSE" run --send 1 -
    rm bin/ssh
    printf '#!/bin/sh\nexit 255\n' >bin/ssh && chmod 755 bin/ssh
    fails 69 'rtf-muse: far: the connection ended before the experiment' "$MUSE" run --remote far e.json -o out
}

# bats test_tags=turn:1
@test "muse run --remote: of a tenth of the datagrams that is lost, all is found, interpolated and counted" {
    far_away relay
    cat >relay.py <<'END_OF_RELAY'
import os, socket, sys
relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
relay.bind(("127.0.0.1", 0))
open("relay.new", "w").write(str(relay.getsockname()[1]))
os.rename("relay.new", "relay")
count = 0
while True:
    data = relay.recv(65536)
    count += 1
    if count % 10 != 5:
        relay.sendto(data, ("127.0.0.1", int(open("port").read())))
END_OF_RELAY
    /usr/bin/python3 -S relay.py 3>&- &
    echo $! >>"$WORK/pids"
    eventually test -e relay
    experiment 3 a >e.json
    "$MUSE" run --remote far --remote-command "$MUSE" e.json -o out >said
    grep -q '^a: [0-9]* of [0-9]* marks were lost and interpolated$' said
    [ "$(of '.threads.a | .lost * 20 > .jobs and .lost * 5 < .jobs')" = true ]
    [ "$(of '.threads.a | .lost + .marks == .jobs')" = true ]
}

# bats test_tags=turn:2
@test "muse run --remote: the secret is in no command line, and one peer is heard" {
    far_away relay
    sed -i "s,^SSH_CONNECTION,echo \"\$*\" >$WORK/muse/command; SSH_CONNECTION," bin/ssh
    cat >relay.py <<'END_OF_RELAY'
import os, socket, struct
relay, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
relay.bind(("127.0.0.1", 0))
open("relay.new", "w").write(str(relay.getsockname()[1]))
os.rename("relay.new", "relay")
while True:
    data = relay.recv(65536)
    to = ("127.0.0.1", int(open("port").read()))
    relay.sendto(data, to)
    other.sendto(data[:16] + struct.pack("=II", 1, 0) + struct.pack("=qIHH", 7777, 4000000000, 0, 0), to)
    open("forged", "w").write("yes")
END_OF_RELAY
    /usr/bin/python3 -S relay.py 3>&- &
    echo $! >>"$WORK/pids"
    eventually test -e relay
    experiment 1 a >e.json
    "$MUSE" run --remote far --remote-command "$MUSE" e.json -o out >/dev/null
    [[ $(<command) =~ --send\ [0-9]+\ -$ ]]
    [ "$(<forged)" = yes ]
    "$MUSE" marks out >marks
    [ "$(wc -l <marks)" -gt 100 ]
    [ "$(grep -c 4000000000 marks)" = 0 ]
}

# bats test_tags=turn:2
@test "muse run --remote: when the target is gone, the marks until then are analysed" {
    far_away ''
    sed -i 's/exec sh -c/exec timeout -s KILL 1.5 sh -c/' bin/ssh
    experiment 100 a >e.json
    status=0
    "$MUSE" run --remote far --remote-command "$MUSE" e.json -o out >said 2>err || status=$?
    [ "$status" -eq 69 ]
    grep -q '^rtf-muse: far: the connection ended before the experiment; the marks until then are analysed$' err
    grep -q '^a: got ' said
    [ "$(of .threads.a.jobs)" -gt 100 ]
}

# bats test_tags=turn:0
@test "muse run --remote: Ctrl-C here ends the experiment there, and the marks until then are analysed" {
    far_away ''
    is_interrupted --remote far --remote-command "$MUSE"
}

# in_tracefs COMMAND...: runs a command in the root of a tracefs that nobody else sees.
in_tracefs() { unshare --mount sh -c 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null && cd /sys/kernel/tracing && exec "$@"' sh "$@"; }

has_instance() { in_tracefs ls instances | grep -q "rtf-watch-$1-"; }

# bats test_tags=turn:1
@test "muse run: a program that makes no marks is measured by the scheduler's events" {
    in_tracefs test -d instances || skip 'needs tracefs'
    command jq -n '{global: {duration: "3s"}, threads: {
        c: {policy: "SCHED_DEADLINE", budget: "20ms", period: "100ms", command: ["sh", "-c", "while :; do :; done"], analysis: {supply: true, runmap: true}},
        s: {command: ["sh", "-c", "while :; do sleep 0.1; done"], analysis: {supply: true}},
        h: {phases: {c0: {loops: 20000}}}}}' >e.json
    "$MUSE" run e.json -o out >said 3>&- &
    pid=$!
    eventually has_instance "$pid"
    wait "$pid"
    [ "$(of '.threads.c.jobs | . > 4000 and . < 7500')" = true ]
    near "$(of .threads.c.nominal)" 0.0001
    grep -q '^c: granted 20ms/100ms; got 0\.[12]' said
    grep -q '^s: slept for [23]' said
    no has_instance "$pid"
    [ "$(jq ".threads.c.looked_every == 0 and .threads.c.exited == false" out/run.json)" = true ]
    jq '.threads |= {n: {command: ["/nonexistent"], analysis: {supply: true}}}' e.json >n.json
    "$MUSE" run --duration 300ms n.json -o out >said 2>err
    [ "$(cat err)" = 'rtf-muse: thread n: /nonexistent: No such file or directory' ]
    grep -q '^n: its program ended before the experiment$' said
}

# bats test_tags=turn:1
@test "muse tells of less than the grant and of too long a silence, and names the cause" {
    experiment 10 a='"policy": "SCHED_DEADLINE", "budget": "10ms", "period": "20ms"' >e.json
    server 1 5000 20000 0 1000 2500 >marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    grep -q '^a: granted 10ms/20ms; got 0.2500 of a CPU, never without CPU time for more than 15ms$' said
    grep -q '^a: got 50.0 % less than granted$' said
    run grep 'the longest time without CPU time exceeds' said
    [ "$status" -eq 1 ]
    command jq -n '{tick: 0.004, threads: {a: {cpu_time: 4.5}}}' >out/run.json
    "$MUSE" analyse out | grep -q '^a: got 50.0 % less than granted$'
    command jq -n '{tick: 0.004, threads: {a: {cpu_time: 5}}}' >out/run.json
    "$MUSE" analyse out >said
    grep -q '^a: the kernel gave the granted time; in part of that time the thread did less work than at its best$' said
    run grep -e 'less than granted' -e 'the longest time without CPU time exceeds' said
    [ "$status" -eq 1 ]
    experiment 10 a='"policy": "SCHED_DEADLINE", "budget": "5ms", "period": "9ms"' >out/experiment.json
    "$MUSE" analyse out | grep -q '^a: the longest time without CPU time exceeds 2 (P - Q) = 8ms and a tick of 4ms$'
    experiment 10 a='"policy": "SCHED_DEADLINE", "budget": "5ms", "period": "20ms"' >out/experiment.json
    [ "$("$MUSE" analyse out | grep -c '^a: ')" -eq 1 ]
}

@test "muse: the silence of jobs of ten runtimes, and of looks at a command, has a higher bound" {
    experiment 10 a='"policy": "SCHED_DEADLINE", "budget": "1ms", "period": "2ms", "nominal": "10ms"' >e.json
    server 1 1000 2000 0 10000 400 >marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    grep -q '^a: granted 1ms/2ms; got .*, never without CPU time for more than 10ms$' said
    command jq -n '{tick: 0.004, threads: {a: {cpu_time: 4}}}' >out/run.json
    "$MUSE" analyse out >said
    no grep 'the longest time without CPU time exceeds' said
    # With twice the period each job waits for 30 ms.
    server 1 1000 4000 0 10000 200 >marks.csv
    "$MUSE" import e.json marks.csv -o out >said
    command jq -n '{tick: 0.004, threads: {a: {cpu_time: 2}}}' >out/run.json
    "$MUSE" analyse out >said
    grep -qx 'a: the longest time without CPU time exceeds 11 (P - Q) = 11ms and a tick of 4ms' said
    # The samples of a command were far apart.
    for apart in 0.02 0.01; do
        command jq -n --argjson apart $apart '{tick: 0.004, threads: {a: {cpu_time: 2, looked_every: $apart}}}' >out/run.json
        "$MUSE" analyse out >"said.$apart"
    done
    no grep 'the longest time without CPU time exceeds' said.0.02
    grep -qx 'a: the longest time without CPU time exceeds 11 (P - Q) = 11ms and a tick of 4ms, and the 10ms between two samples' said.0.01
}

@test "muse run: jobs that watch the clock are of one length, however often the thread is interrupted, and marks touch no new page" {
    command jq -n '{global: {duration: "2s", default_policy: "SCHED_OTHER"}, threads: {w: {phases: {w0: {duration: "100us"}}, analysis: {}}, c: {phases: {w0: {duration: "2us"}}},
        hog1: {phases: {c0: {loops: 100000}}}, hog2: {phases: {c0: {loops: 100000}}}}}' >e.json
    as $ALICE "$MUSE" run --quiet -o out e.json
    # When a thread was preempted for longer than 100 us, one of its jobs is not 100 us long. An interrupt or the host can also make a job longer: at
    # most one job in a hundred.
    "$MUSE" marks out | awk -F, -v away="$(jq .threads.w.preempted out/run.json)" '$1 == 1 { us = sprintf("%.3f", $2 - time); time = $2; jobs++; whole += us == "100.000"; early += us + 0 < 100 && jobs > 1 }
        END { if (jobs < 300 || early > 0 || jobs - whole > away + jobs / 100) { print jobs, whole, early, away; exit 1 } }' >&2
    [ "$(jq '.threads | .c.jobs > 65536 and .c.faults < 64 and .w.faults < 64' out/run.json)" = true ]
    [ "$(jq '.threads | [.[].preempted] | add > 0' out/run.json)" = true ]
}

# measured LINE Q:P...: makes these reservations under this plugin, all at once and beside hogs. Writes a line for each into the file `each`: its share,
# alpha, period, runtime, delta and longest blackout.
measured() {
    has_reservations "$@"
    measure $(($# - 1))
}
has_reservations() {
    local line=$1 pair
    shift
    configure_plugins "$line"
    broker_start
    mkdir -m 777 user
    cd user
    for pair; do
        command jq -n --arg q "${pair%:*}ms" --arg p "${pair#*:}ms" '{key: "t\($p)-\($q)", value:
            {reservation: {runtime: $q, period: $p}, phases: {w0: {duration: "100us"}}, analysis: {supply: true}}}'
    done | jq -s '{global: {duration: "6s", horizon: "3s"}, threads: (from_entries + ({phases: {c0: {loops: 100000}}} | {hog1: ., hog2: ., hog3: ., hog4: .}))}' >e.json
}

measure() { # HOW-MANY
    rm -rf out
    as $ALICE env USER=$ALICE "$MUSE" run --spool "$SPOOL" e.json -o out >said
    jq -r '.threads | to_entries[] | select(.value.analysed) | .key as $name | .value | [$name, .granted.share, .supply.lower.alpha, .granted.period, .granted.runtime,
        .supply.lower.delta, .longest_blackout] | @tsv' out/result.json >each
    [ "$(wc -l <each)" -eq "$1" ]
}

# The supply is within 1 % of the grant and the cost of a switch in each period, and the delay is at most 2 (P - Q) and a tick. A thread that lacks more than 1 % has a sentence
# about this, and no other sentence. The kernel counts a switch and its timer as the thread's time: 50 us a period on one virtual machine, next to nothing on another (`make
# bench-muse` says how much).
kept() {
    has_reservations "$@"
    once_of 3 is_kept $(($# - 1))
}
is_kept() { # HOW-MANY
    measure "$1" &&
        awk -v tick="$(jq .tick out/run.json)" '$3 < 0.99 * $2 - 0.0001 / $4 || $3 > 1.01 * $2 || $6 > 2 * ($4 - $5) + tick { print; bad = 1 } END { exit bad }' each >&2 &&
        no grep ': that is' said >&2 &&
        [ "$(grep -c ': the kernel gave' said)" = "$(awk '$3 < 0.99 * $2 { less++ } END { print less + 0 }' each)" ]
}

# bats test_tags=machine
@test "muse run: five reservations beside hogs: each has its share, but for what switches cost, and no longer delay than 2 (P - Q) and a tick" {
    kept 'EDF edf - all partition=global threshold=0.85' 5:20 10:40 10:100 20:80 30:100
}

# bats test_tags=machine,turn:0
@test "muse run: so it is with reservations in a domain of one CPU" {
    kept "EDF edf - $(($(nproc) - 1)) partition=cpuset threshold=0.85" 5:20 20:80
}

# bats test_tags=machine,turn:1
@test "muse run: reservations under RM have their share beside hogs, or more, and are never silent for two periods" {
    measured 'RM rm 21-40 all enforce=runtime' 5:20 10:40 20:100
    awk '$3 < 0.99 * $2 || $7 > 2 * $4 { print; bad = 1 } END { exit bad }' each >&2
}

# bats test_tags=turn:2
@test "muse run measures by CPU time, and says so, for a user who may not read the scheduler's events" {
    configure_plugins 'EDF edf - all partition=global threshold=0.3'
    broker_start
    mkdir -m 777 user
    cd user
    command jq -n '{global: {duration: "4s", horizon: "2s"}, threads: {
        c: {reservation: {runtime: "20ms", period: "100ms"}, command: ["sh", "-c", "while :; do :; done"], analysis: {supply: true, runmap: true}},
        s: {command: ["sh", "-c", "while :; do sleep 0.1; done"], analysis: {supply: true}},
        h1: {phases: {c0: {loops: 20000}}}, h2: {phases: {c0: {loops: 20000}}}}}' >e.json
    as $ALICE env USER=$ALICE "$MUSE" run --spool "$SPOOL" e.json -o out >said
    grep -q '^c: granted 20ms/100ms; got 0\.\(19\|20\)[0-9]* of a CPU, never without CPU time for more than [0-9.]*ms$' said
    grep -q "^c: its CPU time was sampled, at worst every [0-9.]*ms, which limits the accuracy; root can use the scheduler's events$" said
    grep -q '^s: slept for [34]' said
    [ "$(of '.threads.c | .supply.lower.alpha >= 0.19 and .supply.upper.alpha <= 0.21')" = true ]
    run grep '^c: that is' said
    [ "$status" -eq 1 ]
    [ "$(of '.threads.c.runmap | length > 0 and add == 1')" = true ]
    [ "$(jq '.threads.c.cpu_time | . > 0.75 and . < 0.85' out/run.json)" = true ]
    [ "$(jq '.threads.c.looked_every > 0 and .threads.h1.looked_every == 0' out/run.json)" = true ]
}

# bats test_tags=turn:2
@test "muse run: jobs that are not as long as they were, or not of one length, are told" {
    experiment 0.3 a b='"nominal": "cpu-time"' >e.json
    "$MUSE" run e.json -o out --quiet
    jq '.threads.a.calibrated_job *= 2 | .threads.a.cpu_time *= 3 | .threads.b.cpu_time *= 3' out/run.json >run.json
    mv run.json out/run.json
    "$MUSE" analyse out >said
    grep -Eq '^a: one job alone, before the run, took [0-9.]*us; the shortest job in the run took [0-9.]*us$' said
    grep -Eq '^a: jobs differ in length: the shortest took [0-9.]*us, their mean CPU time is [0-9.]*us; this lowers alpha$' said
    run grep -E '^b: jobs differ in length' said
    [ "$status" -eq 1 ]
}

# bats test_tags=turn:0
@test "muse run: a busy phase is so much CPU time, and the nominal job is measured in it" {
    experiment 1 a='"nominal": "cpu-time"' | sed 's/"c0": {"loops": 20000}/"b0": {"duration": "1ms"}/' >e.json
    "$MUSE" run e.json -o out >/dev/null
    awk -v n="$(of .threads.a.nominal)" 'BEGIN { exit !(n >= 0.001 && n < 0.00105) }'
}

# bats test_tags=turn:1
@test "muse: every option of --help is on the page, and every option on the page is in some --help" {
    page=$(sed -n '/^# OPTIONS/,/^# OUTPUT/p' "$RTF_SOURCE/man/rtf-muse.1.scd" | sed 's/\\//g' | grep -E '^\*-' | grep -oE '\*--?[a-zA-Z?][a-z-]*' | tr -d '*' | sort -u)
    help=$(for command in run analyse import marks report supply sweep; do "$MUSE" "$command" --help; done |
        grep -E '^ {1,8}-' | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u)
    diff <(echo "$page") <(echo "$help") >&2
}

# bats test_tags=turn:2
@test "muse: every key of an experiment, of a result and of run.json is in muse(5)" {
    page=$(sed 's/\\//g' "$RTF_SOURCE/man/muse.5.scd")
    keys() { printf '%s\n' "$1" >e.json; "$MUSE" run e.json 2>&1 | sed -n 's/.*known here: //p' | tr -d ' ' | tr , '\n'; }
    {
        keys '{"x": 1}'
        keys '{"global": {"x": 1}}'
        keys '{"threads": {"t": {"x": 1}}}'
        keys '{"threads": {"t": {"phases": {"l": {"x": 1}}}}}'
        keys '{"threads": {"t": {"phases": {"m": {"x": 1}}}}}'
    } | sort -u >known
    [ "$(wc -l <known)" -ge 20 ]
    while read -r key; do grep -qE "^[|:] +$key(,|\$)|\b$key\b" <<<"$page" || { echo "$key" >&2; false; }; done <known
    experiment 0.3 a='"policy": "SCHED_DEADLINE", "budget": "20ms", "period": "100ms"' >e.json
    "$MUSE" run e.json -o out >/dev/null
    jq -r '(keys[], (.threads.a | del(.runmap) | .. | objects | keys[]), (.global | .. | objects | keys[]))' out/result.json | sort -u >known
    jq -r '(keys[], (.threads.a | del(.grant) | keys[]))' out/run.json | sort -u >>known
    [ "$(wc -l <known)" -ge 35 ]
    while read -r key; do grep -qE "\b$key\b" <<<"$page" || { echo "$key" >&2; false; }; done <known
}

# bats test_tags=turn:0
@test "muse: what rtf-muse(1) shows works as it is typed, and the experiment in muse(5) is one" {
    mkdir bin
    printf '#!/bin/sh\n[ "$1" = muse ] && shift\nexec %s "$@"\n' "$MUSE" >bin/rtf
    chmod 755 bin/rtf
    command -v gnuplot >/dev/null || sed -i '2a [ "$1" != report ] || exit 0' bin/rtf
    sed -n '/^# EXAMPLES/,/^# SECURITY/p' "$RTF_SOURCE/man/rtf-muse.1.scd" |
        awk '/^```/ { literal = !literal; next } literal { gsub(/\\\\/, "\\"); print }' >session
    [ "$(grep -c 'rtf muse' session)" -eq 5 ]
    PATH=$PWD/bin:$PATH sh -eu session >said 2>err || { cat err >&2; false; }
    [ ! -s err ]
    grep -q '^first supply after' said
    grep -qE '^supply=0\.[0-9]+,[0-9]+us$' said
    for block in 1 2; do
        awk -v wanted="$block" '/^```/ { literal = !literal; count += literal; next } literal && count == (wanted == 1 ? 1 : 3)' \
            "$RTF_SOURCE/man/muse.5.scd" >e.json
        fails 69 'rtf-muse: thread cam: the reservation cannot be made: *' "$MUSE" run --spool "$SPOOL" e.json -o out
    done
}

# Alone: while a broker of another lane lifts the limit (sched_rt_runtime_us is -1), the kernel refuses no thread.
# bats test_tags=machine
@test "muse run: a phase of the user's own is called, and what cannot be set up is said" {
    experiment 0.3 a | sed 's,"c0": {"loops": 20000},"u0": {"library": "./phase.so"\, "loops": 7},' >e.json
    fails 78 'rtf-muse: thread a: phase u0: ./phase.so: *' "$MUSE" run e.json -o out
    command -v cc >/dev/null || skip 'needs a compiler'
    echo 'void other(void) { }' | cc -shared -fPIC -x c - -o phase.so
    fails 78 'rtf-muse: thread a: phase u0: *muse_phase' "$MUSE" run e.json -o out
    printf '%s\n' '#include <stdio.h>' '#include <unistd.h>' 'void muse_phase(int thread, long loops) {' \
        'static FILE *file; if (file == NULL) { file = fopen("called", "w"); fprintf(file, "%d %ld\n", thread, loops); fflush(file); } usleep(1000); }' |
        cc -shared -fPIC -x c - -o phase.so
    "$MUSE" run e.json -o out >/dev/null
    [ "$(cat called)" = '1 7' ]
    [ "$(of .threads.a.jobs)" -gt 10 ]
    experiment 1 a='"cpus": [1023]' >e.json
    fails 78 'rtf-muse: thread a: its CPUs: none of them can be used here' "$MUSE" run e.json -o out
    experiment 1 a='"cpus": [0], "policy": "SCHED_DEADLINE", "budget": "1ms", "period": "20ms"' >e.json
    fails 77 'rtf-muse: thread a: SCHED_DEADLINE: the kernel requires all CPUs of the scheduling domain *' "$MUSE" run e.json -o out
    experiment 1 a='"policy": "SCHED_DEADLINE", "budget": "99ms", "period": "100ms"' b='"policy": "SCHED_DEADLINE", "budget": "99ms", "period": "100ms"' \
        c='"policy": "SCHED_DEADLINE", "budget": "99ms", "period": "100ms"' >e.json
    [ "$(nproc)" -gt 2 ] || fails 75 'rtf-muse: thread [abc]: SCHED_DEADLINE: the kernel has not enough bandwidth left for SCHED_DEADLINE' "$MUSE" run e.json -o out
    fails 73 'rtf-muse: /dev/null/out: Not a directory' "$MUSE" run e.json -o /dev/null/out
    fails 64 'rtf-muse: --duration 5: a time must be a whole number with a unit, such as 500ms or 2s' "$MUSE" run --duration 5 e.json
    fails 64 'rtf-muse: --remote -x: not a valid host name' "$MUSE" run --remote=-x e.json
    for command in run analyse import marks; do
        fails 64 "rtf-muse: there is no option --nope ('rtf muse --help' tells more)" "$MUSE" $command --nope
        fails 64 "rtf-muse: * ('rtf muse --help' tells more)" "$MUSE" $command
        "$MUSE" $command --help >help
        no grep -q 'Mandatory or optional' help
    done
}
