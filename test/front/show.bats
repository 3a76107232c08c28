# rtf-show(1) and rtf-plugins(1): one reservation, and the plugins.
load ../helper
load ../command
load front

prepare() { front_prepare; }
tidy() { [ -z "$BROKER" ] || kill -CONT "$BROKER" 2>/dev/null || true; }

@test "rtf show of an attached spec: spec, grant, thread, kernel and answer agree" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --comment 'the left' --attach "$SLEEPER"
    prints 0 rtf show cam
    diff <(sed -e 's/20[0-9-]*T[0-9:.]*Z/TIME/' -e 's/[0-9]*\.[0-9]\{3\}s/SECONDS/g' "$WORK/out") - <<TEXT
cam
asked       runtime=2ms period=20ms comment=the left attach=$SLEEPER
granted     EDF grants 2ms of each 20ms on CPUs $ALL_CPUS, 0.1 of a CPU
thread      $SLEEPER (sleep), attached
kernel      deadline, 2ms of each 20ms, CPUs $ALL_CPUS
used        SECONDS of CPU time; SECONDS ready or throttled
answer      OK to create, TIME
TEXT
    eventually has_watches 1
    chrt --other -p 0 "$SLEEPER"
    prints 0 rtf show cam
    grep -qx "kernel      other, CPUs $ALL_CPUS" "$WORK/out"
    prints 0 rtf show cam --json
    says ".name == \"cam\" and .current and .spec.runtime == \"2ms\" and .verdict.grant.runtime == 2000 and .kernel.tid == $SLEEPER and .kernel.policy == \"other\""
}

@test "rtf show tells how much CPU time the thread has used, and that the thread is throttled" {
    broker_start
    hog $ALICE
    silent rtf declare cam -T 20ms -P 100ms --attach "$HOG"
    is_throttled() { prints 0 rtf show cam --json && says '.kernel.throttled'; }
    eventually is_throttled
    before=$(jq -c '[.kernel.used, .kernel.waited]' "$WORK/out")
    prints 0 rtf show cam
    grep -Eqx 'used +[0-9]+\.[0-9]{3}s of CPU time; [0-9]+\.[0-9]{3}s ready or throttled(; now throttled)?' "$WORK/out"
    # The kernel adds the wait when the thread runs again.
    waits() { prints 0 rtf show cam --json && jq -e --argjson before "$before" '.kernel.used > $before[0] and .kernel.waited > $before[1] + 50000' "$WORK/out" >/dev/null; }
    eventually waits
}

# bats test_tags=turn:2
@test "rtf show shows a spec that is refused, has no answer, or was rewritten since its answer" {
    broker_start
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare two -T 17ms -P 20ms
    rtf declare cam -T 9ms -P 20ms --keep 2>"$WORK/err" || true
    prints 0 rtf show cam
    grep -qx 'granted     nothing' "$WORK/out"
    grep -q '^answer      SCHEDULE_FAIL to create' "$WORK/out"
    grep -q '^            EDF refused: .*; a runtime of at most 2000us would fit' "$WORK/out"
    grep -q '^            FP: no, ' "$WORK/out"
    kill -STOP "$BROKER"
    put $ALICE cam '{"runtime": "3ms", "period": "20ms"}'
    put $ALICE new '[]'
    prints 0 rtf show cam
    grep -q '^answer .*, before the last change, ' "$WORK/out"
    as $ALICE sh -c 'jq -c ".sentence = \"he says \u202eno\"" "$1" >"$1.new" && mv "$1.new" "$1"' sh "$OWN/cam.verdict"
    prints 0 rtf show cam
    grep -q '^            he says \\u202eno$' "$WORK/out"
    prints 0 rtf show new
    grep -q '^asked       (the file is not one JSON object)' "$WORK/out"
    grep -q '^answer      none yet' "$WORK/out"
    as $ALICE sh -c "printf '\\377x' >\"\$1\"" sh "$OWN/new.json"
    prints 0 rtf show new --json
    says '.spec == "?x"'
    kill -CONT "$BROKER"
}

# bats test_tags=turn:0
@test "66: no spec has that name; root sees other users' specs with those users' rights, and no other user does" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    fails 66 "rtf show: there is no spec dog in $OWN" rtf show dog
    fails 66 'rtf show: there is no spec cam' rtf_of $BOB show cam
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" show --user $ALICE cam
    out 'cam'$'\n''asked*'
    fails 77 'rtf show: only root may act for somebody else' rtf_of $BOB show --user $ALICE cam
    fails 64 'rtf show: the name of the reservation is missing *' rtf show
    fails 64 'rtf show: only one NAME is allowed *' rtf show a b
    fails 64 'rtf show: /cam: a name must be *' rtf show /cam
}

# bats test_tags=turn:1
@test "text of other users cannot control the terminal" {
    broker_start
    as $ALICE mkdir "$OWN"
    as $ALICE sh -c 'printf "{\"comment\": \"\\\\u001b[31m\\\\u009b\\\\u202e\\\\ud83d\\\\ude00 ok\"}" >"$1/cam.json"' sh "$OWN"
    verdict $ALICE cam >"$WORK/verdict"
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" show --user $ALICE cam
    [ "$(tr -d '\n -~' <"$WORK/out" | wc -c)" -eq 0 ]
    grep -qF 'comment=\u001b[31m\u009b\u202e\ud83d\ude00 ok' "$WORK/out"
}

# bats test_tags=turn:2
@test "rtf plugins prints a line for each plugin, with the remaining capacity" {
    fails 69 "rtf plugins: no broker has made a spool at $SPOOL ('rtf-brokerd --spool $SPOOL', as root, makes it)" rtf plugins
    broker_start
    prints 0 rtf plugins
    diff <(tr -s ' ' <"$WORK/out") - <<TEXT
NAME POLICY PRIORITIES CPUS TESTS STATE FREE
EDF deadline - $ALL_CPUS necessary serving $(jq -r '.pools[0] | "\(.free) of \(.capacity)"' "$SPOOL/status.json")
FP fixed-priority 11-20 $ALL_CPUS none serving -
RR fixed-priority 1-10 $ALL_CPUS none serving -
TEXT
    prints 0 rtf plugins --noheadings
    lacks NAME "$WORK/out"
    prints 0 rtf plugins --json
    says '(.plugins | length) == 3 and .pools[0].plugin == "EDF"'
    put $ALICE cam '{"runtime": 2000, "period": 20000, "priority": 7}'
    less() { rtf plugins --json | jq -e '.pools[0].used == "0.1"'; }
    eventually less
    fails 77 "rtf plugins: you are not in group *" stranger $CAROL "$RTF_BIN/rtf" --spool "$SPOOL" plugins
    fails 64 'rtf plugins: the command takes no operand, but got x *' rtf plugins x
    prints 0 rtf show cam
    broker_stop TERM
    rtf show cam >"$WORK/out" 2>"$WORK/err"
    grep -q '^granted' "$WORK/out"
    grep -qx 'asked       runtime=2ms period=20ms priority=7' "$WORK/out"
    [ "$(<"$WORK/err")" = "rtf show: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one); this was in force when the last broker ended" ]
    run -69 rtf plugins
    [[ $output == *"was in force when the last broker ended"* && $output == *EDF* ]]
}

# bats test_tags=turn:0
@test "rtf plugins shows the remaining capacity of each CPU for a plugin with a sum for each" {
    configure_plugins 'RM rm 11-20 all admission=hyperbolic'
    broker_start
    prints 0 rtf plugins --noheadings
    out '*  '"$(jq -r '[.pools[] | select(.plugin == "RM")] | if length > 1 then map("\(.cpus):\(.free)") | join(" ") else "-" end' "$SPOOL/status.json")"
}

# bats test_tags=turn:1
@test "pages, --help and --version agree" {
    explains show
    explains plugins
}
