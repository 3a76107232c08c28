# rtf-ls(1): no spec, one spec and thousands, in columns or as JSON.
load ../helper
load ../command
load ../many
load front

prepare() { front_prepare; }

@test "rtf ls without specs prints no line, and as JSON an empty list" {
    broker_start
    silent rtf ls
    prints 0 rtf ls --json
    says '. == {reservations: []}'
    silent rtf ls 'c*'
}

# bats test_tags=turn:2
@test "rtf ls shows a spec of each state" {
    broker_start
    sleeper $ALICE
    put_all $ALICE granted '{"runtime": "2ms", "period": "20ms"}' attached "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}" \
        refused '{"runtime": "30ms", "period": "20ms"}' dry '{"runtime": "2ms", "period": "20ms", "dry_run": true}' \
        prio '{"priority": 7, "plugin": "FP"}'
    verdicts $ALICE granted attached refused dry prio >"$WORK/verdicts"
    prints 0 rtf ls
    diff <(tr -s ' ' <"$WORK/out") - <<TEXT
NAME STATE PLUGIN RUNTIME PERIOD PRIORITY SHARE TID COMMAND
attached attached EDF 1ms 20ms - 0.05 $SLEEPER sleep
dry dry-run - - - - - - -
granted granted EDF 2ms 20ms - 0.1 - -
prio granted FP - - 11 - - -
refused refused - - - - - - -
TEXT
    prints 0 rtf ls --json
    says ".reservations[] | select(.name == \"attached\") | .tid == $SLEEPER and .command == \"sleep\" and .runtime == 1000"
    says '.reservations[] | select(.name == "refused") | .refusal.code == "bad-spec"'
    [ "$(jq '.reservations | length' "$WORK/out")" -eq 5 ]
}

# bats test_tags=turn:0
@test "a thread that runs otherwise than granted has drifted, whatever changed it" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    prints 0 rtf ls --noheadings -o state
    out attached
    eventually has_watches 1
    chrt --other -p 0 "$SLEEPER"
    prints 0 rtf ls --noheadings -o state
    out drifted
    prints 0 rtf ls --json
    says '.reservations[0].state == "drifted"'
    # The kernel lets an owner change the CPUs of a thread with a fixed priority.
    sleeper $ALICE
    silent rtf declare arm --priority 7 --plugin FP --attach "$SLEEPER"
    prints 0 rtf ls --noheadings -o state arm
    out attached
    kill -STOP "$BROKER"
    as $ALICE taskset -pc "$ALL_CPUS" "$SLEEPER" >/dev/null
    prints 0 rtf ls --noheadings -o state arm
    kill -CONT "$BROKER"
    out drifted
}

@test "rtf ls is an error for a user who is not in the spool's group" {
    broker_start
    for word in '' --json; do
        # shellcheck disable=SC2086 # words
        fails 77 "rtf ls: you are not in group $GROUP, which may use $SPOOL (a new member must log in again)" stranger $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" ls $word
    done
}

# bats test_tags=turn:1
@test "rtf ls shows a spec without an answer, and a spec that was rewritten since its answer" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    kill -STOP "$BROKER"
    put $ALICE cam '{"runtime": "3ms", "period": "20ms"}'
    put $ALICE dog '{"runtime": "3ms", "period": "20ms"}'
    prints 0 rtf ls --noheadings -o name,state,runtime
    kill -CONT "$BROKER"
    out $'cam  granted  2ms\ndog  asked    -'
}

# bats test_tags=turn:2
@test "rtf ls shows a spec that waits for room" {
    broker_start
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare two -T 17ms -P 20ms
    put $ALICE cam '{"runtime": "10ms", "period": "20ms", "on_refusal": "wait"}'
    waits() { [ "$(rtf ls --noheadings -o state cam)" = waiting ]; }
    eventually waits
    silent rtf release big
    has_it() { [ "$(rtf ls --noheadings -o state cam)" = granted ]; }
    eventually has_it
}

# bats test_tags=turn:0
@test "a spec with on_refusal=wait is granted as soon as there is room" {
    broker_start
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare two -T 17ms -P 20ms
    fails 75 'rtf declare: cam: no answer to cam within the time allowed; the spec waits: *' rtf declare cam -T 10ms -P 20ms --set on_refusal=wait --timeout 300ms
    rtf declare cam -T 10ms -P 20ms --set on_refusal=wait 2>"$WORK/told" 3>&- &
    pid=$!
    waits() { [ "$(rtf ls --noheadings -o state cam)" = waiting ]; }
    eventually waits
    silent rtf release big
    wait "$pid"
    holds cam '.grant.runtime == 10000'
}

# bats test_tags=turn:1
@test "rtf ls takes any columns in any order and case, and names an unknown one" {
    broker_start
    silent rtf declare cam --priority 5 --plugin FP -T 1ms -P 50ms
    prints 0 rtf ls -o Name,POLICY,priority,deadline,cpus,result,user,reason,answered
    [[ $(tail -n 1 "$WORK/out") =~ ^cam\ +fifo\ +11\ +50ms\ +0\ +OK\ +$ALICE\ +FP\ grants\ it.*\ 20[0-9-]+T[0-9:.]+Z$ ]] || { cat "$WORK/out" >&2; false; }
    fails 64 'rtf ls: -o name,size: columns are USER, NAME, *' rtf ls -o name,size
    fails 64 'rtf ls: --color sometimes: this must be auto, always or never' rtf ls --color sometimes
}

# bats test_tags=turn:1
@test "rtf ls shows EXPIRES, the time left, if any reservation expires; root gets it from the journal" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    prints 0 rtf ls
    lacks EXPIRES "$WORK/out"
    silent rtf declare dog -T 2ms -P 20ms --set expires=1h
    prints 0 rtf ls
    diff <(tr -s ' ' <"$WORK/out" | cut -d ' ' -f 1,8 | sed 's/59min/60min/') - <<TEXT
NAME EXPIRES
cam -
dog 60min
TEXT
    "$RTF_BIN/rtf" --spool "$SPOOL" ls --all --json >"$WORK/out"
    says '.reservations | map({(.name): .expires_in}) | add | .cam == null and .dog > 3500000000 and .dog <= 3600000000'
    says '.reservations[] | select(.name == "dog") | .expires == 3600000000'
}

# bats test_tags=turn:0
@test "--sort sorts by numbers and by words, in either direction; reservations without a number come last" {
    broker_start
    silent rtf declare a-1 -T 2ms -P 100ms
    silent rtf declare a-2 -T 10ms -P 200ms
    silent rtf declare a-3 -T 1ms -P 20ms
    silent rtf declare a-4 --priority 5 --plugin FP
    sorted() { [ "$(rtf ls --noheadings -o name --sort "$1" | paste -sd ' ')" = "$2" ] || { rtf ls --sort "$1" >&2; false; }; }
    sorted runtime 'a-3 a-1 a-2 a-4'
    sorted -runtime 'a-2 a-1 a-3 a-4'
    sorted share 'a-1 a-2 a-3 a-4'
    sorted -SHARE 'a-2 a-3 a-1 a-4'
    sorted -name 'a-4 a-3 a-2 a-1'
    sorted plugin 'a-1 a-2 a-3 a-4'
    fails 64 'rtf ls: --sort size: columns are USER, NAME, *' rtf ls --sort size
}

# bats test_tags=turn:2
@test "rtf ls lists the names that match, in the order of their numbers" {
    broker_start
    put_all $ALICE run-10 '{}' run-9 '{}' cam '{}'
    verdicts $ALICE run-10 run-9 cam >"$WORK/verdicts"
    prints 0 rtf ls --noheadings -o name 'run-*'
    out $'run-9\nrun-10'
    prints 0 rtf ls --noheadings -o name cam run-9
    out $'cam\nrun-9'
}

# bats test_tags=turn:0
@test "rtf ls prints colours only on a terminal, and none with NO_COLOR unless an option asks for them" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    prints 0 rtf ls
    lacks $'\e' "$WORK/out"
    prints 0 rtf ls --color=always
    grep -q $'\e' "$WORK/out"
    terminal() { script -qec "env TERM=xterm $1 setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE $RTF_BIN/rtf --spool $SPOOL ls" /dev/null </dev/null; }
    terminal '' | grep -q $'\e\[1m'
    terminal NO_COLOR=1 >"$WORK/out"
    lacks $'\e' "$WORK/out"
    terminal TERM=dumb >"$WORK/out"
    lacks $'\e' "$WORK/out"
}

# bats test_tags=turn:1
@test "text of other users cannot control the terminal in any locale, and columns stay in line" {
    broker_start
    as $ALICE mkdir "$OWN"
    as $ALICE sh -c 'echo "{}" >"$1/cam.json"; echo "{}" >"$1/dog.json"' sh "$OWN"
    verdicts $ALICE cam dog >"$WORK/verdicts"
    as $ALICE sh -c 'for n in cam dog; do rm "$1/$n.verdict"; done
        printf "{\"result\":\"O\\\\u001b[31mK\",\"reason\":\"\\\\u009b1m grün\",\"grant\":{\"plugin\":\"ü\"}}" >"$1/cam.verdict"
        printf "{\"result\":\"OK\",\"reason\":\"x\",\"grant\":{\"plugin\":\"abc\"}}" >"$1/dog.verdict"' sh "$OWN"
    prints 0 as $ALICE env USER=$ALICE LC_ALL=C "$RTF_BIN/rtf" --spool "$SPOOL" ls --noheadings -o plugin,result,reason
    [ "$(tr -d '\n -~' <"$WORK/out" | wc -c)" -eq 0 ]
    prints 0 as $ALICE env USER=$ALICE LC_ALL=C.UTF-8 "$RTF_BIN/rtf" --spool "$SPOOL" ls --noheadings -o plugin,result,reason
    out $'\\\\u00fc  O\\\\u001b[31mK  \\\\u009b1m gr\\\\u00fcn\nabc     OK            x'
}

# bats test_tags=turn:2
@test "root sees the specs of all users, whatever files they leave; other users see their own" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf_of $BOB declare dog -T 2ms -P 20ms
    as $BOB mkfifo "$SPECS/$BOB/fifo.verdict"
    as $BOB ln -s /etc/passwd "$SPECS/$BOB/link.json"
    as $BOB sh -c 'echo "{}" >"$1/fifo.json"' sh "$SPECS/$BOB"
    prints 0 timeout 5 "$RTF_BIN/rtf" --spool "$SPOOL" ls --all --noheadings -o user,name
    [[ $(tr -s ' ' <"$WORK/out") == "$ALICE cam"$'\n'"$BOB dog"* ]] || { cat "$WORK/out" >&2; false; }
    # The state and the grants come from the broker's journal, which knows refused specs, but not their reasons.
    spec $ALICE big '{"runtime": "30ms", "period": "20ms"}' >/dev/null
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" ls --user $ALICE --noheadings -o name,state,plugin,runtime,period,share,result,reason
    [[ $(tr -s ' ' <"$WORK/out") == "big refused - - - - - -"$'\n'"cam granted EDF 2ms 20ms 0.1 OK -" ]] || { cat "$WORK/out" >&2; false; }
    sleeper $ALICE
    as $ALICE sh -c 'echo "$2" >"$1/cam.tid"' sh "$OWN" "$SLEEPER"
    reaches() { [ "$("$RTF_BIN/rtf" --spool "$SPOOL" ls --all --noheadings -o state,tid cam | tr -s ' ')" = "$1" ]; }
    eventually reaches "attached $SLEEPER"
    rm "$OWN/big.json"
    gone() { [ -z "$("$RTF_BIN/rtf" --spool "$SPOOL" ls --all big)" ]; }
    eventually gone
    fails 67 'rtf ls: there is no user nobody-here' "$RTF_BIN/rtf" --spool "$SPOOL" ls --user nobody-here
    fails 77 "rtf ls: $SPOOL/specs: only root sees the reservations of all users" rtf ls --all
    fails 77 "rtf ls: $SPOOL/specs/$BOB: only root sees the reservations of another user" rtf ls --user $BOB
    fails 77 "rtf ls: $SPOOL/specs/nobody-here: only root sees the reservations of another user" rtf ls --user nobody-here
    fails 64 'rtf ls: --user ../specs: this is not the name of a user' rtf ls --user ../specs
    prints 0 rtf ls --noheadings -o name
    out cam
}

# bats test_tags=turn:0
@test "rtf ls exits with 69 without a spool, lists without a broker, and exits with 74 if it cannot write the list" {
    fails 69 "rtf ls: no broker has made a spool at $SPOOL ('rtf-brokerd --spool $SPOOL', as root, makes it)" rtf ls
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    broker_stop INT
    rtf ls --noheadings -o name,state >"$WORK/out" 2>"$WORK/err"
    out 'cam  granted'
    [ "$(<"$WORK/err")" = "rtf ls: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one); the list shows what was in force when the last broker ended" ]
    status=0
    rtf ls --json >/dev/full 2>"$WORK/err" || status=$?
    [ "$status" -eq 74 ]
    [ "$(<"$WORK/err")" = 'rtf ls: standard output cannot be written' ]
}

# ls_cost [PATTERN]: prints the CPU time of rtf ls, in us.
ls_cost() {
    local TIMEFORMAT='%6U %6S'
    { time setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE "$RTF_LIBEXEC/front/rtf-ls" --spool "$SPOOL" "$@" >/dev/null; } 2>&1 | awk '{ printf "%d\n", ($1 + $2) * 1000000 }'
}

# bats test_tags=turn:1
@test "rtf ls lists 5,000 reservations with a few calls for each; five times as many cost five times as much" {
    configure_plugins 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 10000"
    broker_start --max-specs 6000
    as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && i=0; while [ $i -lt 5000 ]; do echo "{\"priority\": 5}" >"n$i-0123456789012345678901234567890123456789012345678901.json"; i=$((i + 1)); done' sh "$OWN"
    all_answered() { [ "$(find "$OWN" -name '*.verdict' | wc -l)" -eq 5000 ]; }
    eventually all_answered
    prints 0 rtf ls
    [ "$(wc -l <"$WORK/out")" -eq 5001 ]
    [ "$(grep -c ' granted ' "$WORK/out")" -eq 5000 ]
    # The number of calls and the ratio of two minima depend neither on the speed nor on the load of this machine.
    strace -f -qq -o "$WORK/trace" setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE "$RTF_LIBEXEC/front/rtf-ls" --spool "$SPOOL" >/dev/null
    calls=$(($(wc -l <"$WORK/trace") / 5000))
    for _ in 1 2 3 4 5; do
        ls_cost 'n4[0-9][0-9][0-9]-*' >>"$WORK/cost.1000"
        ls_cost >>"$WORK/cost.5000"
    done
    some=$(sort -n "$WORK/cost.1000" | head -n 1) all=$(sort -n "$WORK/cost.5000" | head -n 1)
    echo "# rtf ls: $calls calls for each; 1,000: $some us, 5,000: $all us" >&3
    [ "$calls" -le 7 ]
    [ "$all" -le $((some * 6)) ]
    prints 0 rtf ls --json
    [ "$(jq '.reservations | length' "$WORK/out")" -eq 5000 ]
}

# bats test_tags=turn:2
@test "page, --help and --version agree" { explains ls; }
