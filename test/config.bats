# Configuration, start and reload of the broker: an error is named with file and line, nothing is left behind, and the rules in force stay.
load helper

EX_USAGE=64 EX_UNAVAILABLE=69 EX_NOPERM=77 EX_CONFIG=78

# ends_with STATUS SENTENCE COMMAND...: the command exits with the status and prints the sentence, or prints nothing if SENTENCE is empty.
ends_with() {
    local expected=$1 sentence=$2 status=0
    shift 2
    timeout -k 1 20 "$@" >"$WORK/out" 2>&1 3>&- || status=$?
    echo "$status: $(<"$WORK/out")"
    [ "$status" -eq "$expected" ]
    if [ -n "$sentence" ]; then
        grep -qF -- "$sentence" "$WORK/out"
    else
        [ ! -s "$WORK/out" ]
    fi
}

# check STATUS SENTENCE: checks the configuration with --check, and expects this end.
check() {
    # Likely mistakes that are no faults are in lint.bats.
    ends_with "$1" "$2" sh -c 'status=0; said=$("$@" 2>&1) || status=$?; printf "%s\n" "$said" | sed "/^\$/d; /: this \(bounds\|opens\), /d; /: the account database knows no such /d"; exit "$status"' sh \
        "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
}

# does_not_start STATUS SENTENCE [OPTION...]: the broker does not start, and leaves no process behind.
does_not_start() {
    local expected=$1 sentence=$2
    shift 2
    ends_with "$expected" "$sentence" "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" "$@"
    eventually none_of_ours
}

# is_wrong FILE LINE SENTENCE TEXT...: writes these lines to the file; the broker refuses the file with this place and SENTENCE.
is_wrong() {
    local file=$1 line=$2 sentence=$3
    shift 3
    printf '%b\n' "$@" >"$CONFIG/$file"
    echo "--- $*"
    check $EX_CONFIG "rtf-brokerd: $file:$line: $sentence"
    ! LC_ALL=C grep -q '[^ -~]' "$WORK/out" || { echo "raw bytes"; return 1; }
}

# program NAME: makes a program for plugins.conf from standard input. The plugins' own user can run it.
program() {
    cat >"$WORK/$1"
    chmod 755 "$WORK/$1"
}

last_event() { jq -r "select(.stage == \"broker\" and .decision == \"$1\") | .reason" "$EVENTS" | tail -n 1; }
has_event() { [ -n "$(last_event "$1")" ]; }

# reload: sends SIGHUP, and waits for the broker's message about it.
reload() {
    local before
    before=$(reloads)
    kill -HUP "$BROKER"
    eventually is_reloaded "$before"
}

reloads() { jq -r 'select(.stage == "broker" and (.decision == "reloaded" or .decision == "error")) | .decision' "$EVENTS" | wc -l; }
is_reloaded() { [ "$(reloads)" -gt "$1" ]; }

# ---- plugins.conf ----

# bats test_tags=turn:0
@test "a good configuration passes --check, which says and makes nothing" {
    check 0 ''
    [ ! -e "$SPOOL" ]
    # A user who may read the files may check them.
    run stranger $ALICE "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 0 ]
}

# bats test_tags=turn:1
@test "comments, blank lines, tabs, carriage returns and every form of a column are read" {
    printf '%b\n' '# all' '' '\t ' 'EDF\tedf\t-\tall partition=global threshold=0.9 # one\r' "F.p-1_ $RTF_LIBEXEC/plugins/fp 1-97 0 timeout=70ms" \
        'RR rr 7 0-0,1-1' 'D edf 100-100 all' >"$CONFIG/plugins.conf"
    printf '%b\n' '# all' '' "$ALICE\tEDF  max_utilization\t0.5 # one\r" "@$GROUP F.p-1_ max_period 9000" '- - max_priority 100' \
        '@nogroup RR min_period 5ms' 'root - ignore_adm_test false' >"$CONFIG/acl.conf"
    check 0 ''
}

# bats test_tags=turn:2
@test "a name in plugins.conf that is wrong or taken" {
    sentence='a name must have 1 to 32 characters [A-Za-z0-9_.@:-]'
    for name in .x - @x a/b 'a=b' "$(printf 'p%.0s' $(seq 33))"; do
        is_wrong plugins.conf 2 "$sentence" '# one' "$name fp 1-5 all"
    done
    is_wrong plugins.conf 3 'the name FP is already that of line 1' 'FP fp 1-5 all' '' 'FP rr 6-9 all'
    is_wrong plugins.conf 1 'only printable ASCII is allowed' 'F\xc3\xa9 fp 1-5 all'
    is_wrong plugins.conf 1 'only printable ASCII is allowed' 'FP fp 1-5 all x=\x1b[31m'
}

# bats test_tags=turn:0
@test "a program that is not there, is no program, or is a relative path" {
    is_wrong plugins.conf 1 "$RTF_LIBEXEC/plugins/nope: No such file or directory" 'FP nope 1-5 all'
    is_wrong plugins.conf 1 '/nonexistent/fp: No such file or directory' 'FP /nonexistent/fp 1-5 all'
    is_wrong plugins.conf 1 '/etc/passwd: Permission denied' 'FP /etc/passwd 1-5 all'
    is_wrong plugins.conf 1 'a program must be a bare name or an absolute path' 'FP ./fp 1-5 all'
    is_wrong plugins.conf 1 'a program must be a bare name or an absolute path' 'FP plugins/fp 1-5 all'
}

# bats test_tags=turn:1
@test "a program that is a directory" {
    is_wrong plugins.conf 1 '/usr' 'FP /usr 1-5 all'
}

# bats test_tags=turn:2
@test "a wrong priority range, or one with priorities of the broker itself, is refused" {
    for range in 0-5 5-1 x 1-x x-5 1- -5 1--5 +1-5 1-5-7 1,5 1-100 100-101 101 99999999999999999999 0; do
        is_wrong plugins.conf 1 'the priorities must be LOW-HIGH within 1-97, or - for SCHED_DEADLINE' "FP fp $range all"
    done
    for range in 98 99 90-98 1-99; do
        is_wrong plugins.conf 1 'priorities above 97 are for the broker, which runs above every grant' "FP fp $range all"
    done
    is_wrong plugins.conf 1 'the priorities must be LOW-HIGH within 1-97' 'FP fp 0000012rubbish all'
    configure_plugins 'FP fp 97 all' 'RR rr 1-96 all'
    check 0 ''
}

# bats test_tags=turn:0
@test "a CPU list that is wrong" {
    for cpus in x 0- 3-1 -1 0,,1 ',' 1024 0-1024 0-x 0x1 ALL; do
        is_wrong plugins.conf 1 'the CPUs must be "all" or a list such as 0-3,6 of numbers below 1024' "FP fp 1-5 $cpus"
    done
}

# bats test_tags=turn:1
@test "a line of plugins.conf with too few columns, and a file without any line" {
    for line in FP 'FP fp' 'FP fp 1-5'; do
        is_wrong plugins.conf 2 'a plugin line must be NAME PROGRAM PRIORITY CPUS [KEY=VALUE...]' '# one' "$line"
    done
    for text in '' '# nothing'; do
        configure_plugins "$text"
        check $EX_CONFIG "$CONFIG/plugins.conf: names no plugin"
    done
}

# bats test_tags=turn:2
@test "words that the broker reads and does not understand" {
    for word in threshold =5 Threshold=1 thres-hold=1 5; do
        is_wrong plugins.conf 1 'a word after the CPUs must be KEY=VALUE' "FP fp 1-5 all $word"
    done
    for time in '' 50 0ms 50m -5ms 1.5ms 3601s; do
        is_wrong plugins.conf 1 'timeout= takes a time such as 50ms' "FP fp 1-5 all timeout=$time"
    done
    for share in '' 1.1 2 -1 .5 0,5 50% 1e-1 0.1234567890 0.5.5; do
        is_wrong plugins.conf 1 'threshold= takes a share of a CPU from 0 to 1' "EDF edf - all threshold=$share"
    done
    is_wrong plugins.conf 1 'partition= takes global, unthrottled or cpuset' 'EDF edf - all partition=cgroup' 'EDF edf - all partition='
    is_wrong plugins.conf 1 'partition= is for SCHED_DEADLINE' 'FP fp 1-5 all partition=global'
}

# bats test_tags=turn:0
@test "no word of a long line is passed over" {
    words=$(printf 'x=%d ' $(seq 40))
    printf 'FP fp 1-5 all %s threshold=2\n' "$words" >"$CONFIG/plugins.conf"
    check $EX_CONFIG 'rtf-brokerd: plugins.conf:1: '
}

# bats test_tags=turn:1
@test "the 65th plugin is one too many" {
    for n in $(seq 64); do echo "P$n fp 1-5 all"; done >"$CONFIG/plugins.conf"
    check 0 ''
    echo 'P65 fp 1-5 all' >>"$CONFIG/plugins.conf"
    check $EX_CONFIG 'rtf-brokerd: plugins.conf:65: more than 64 plugins'
}

# bats test_tags=turn:2
@test "plugins.conf that others can write or own is refused, as plugins.conf(5) says" {
    for mode in 0664 0646 0666; do
        chmod $mode "$CONFIG/plugins.conf"
        check $EX_CONFIG plugins.conf
    done
    chmod 0644 "$CONFIG/plugins.conf"
    chown $ALICE "$CONFIG/plugins.conf"
    check $EX_CONFIG plugins.conf
}

# ---- acl.conf ----

# bats test_tags=turn:0
@test "a rule with too few or too many words" {
    is_wrong acl.conf 2 'a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has 1' '- - max_utilization 1' 'x'
    is_wrong acl.conf 1 'a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has 3' '- - max_utilization # 1'
    is_wrong acl.conf 1 'a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has 5' '- - max_utilization 1 2'
    is_wrong acl.conf 1 'a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has 7' '- - max_utilization 0.5 and so on'
}

# bats test_tags=turn:1
@test "a domain that is none" {
    for domain in @ "$(printf 'u%.0s' $(seq 64))" "@$(printf 'g%.0s' $(seq 64))"; do
        is_wrong acl.conf 1 'the first word must be a user name, a uid, @group or -' "$domain - max_utilization 1"
    done
}

# bats test_tags=turn:2
@test "a plugin in acl.conf that plugins.conf does not have" {
    for plugin in RM '*' all; do
        is_wrong acl.conf 3 "plugins.conf has no plugin \"$plugin\"; - means any" '' '' "- $plugin max_utilization 1"
    done
    for plugin in edf EDF1; do
        is_wrong acl.conf 3 "plugins.conf has no plugin \"$plugin\"; did you mean EDF? - means any" '' '' "- $plugin max_utilization 1"
    done
}

# bats test_tags=turn:0
@test "an unknown property, and the property that is meant" {
    for property in MAX_RUNTIME=max_runtime max-runtime=max_runtime min_utilization=max_utilization max_perid=max_period; do
        is_wrong acl.conf 1 "unknown property \"${property%=*}\"; did you mean ${property#*=}?" "- - ${property%=*} 1"
    done
    for property in utilization '*' -; do
        is_wrong acl.conf 1 "unknown property \"$property\": acl.conf(5) lists them" "- - $property 1"
    done
}

# bats test_tags=turn:1
@test "a wrong value in a rule is refused with the property and the values that the property takes" {
    for property in max_utilization max_user_utilization; do
        for value in x -1 .5 1. 0,5 50% 1e3 0.1234567890 1000001 0.5.5; do
            is_wrong acl.conf 1 "$property takes CPUs in decimals, such as 0.5 or 2, not \"$value\"" "- - $property $value"
        done
    done
    for property in max_runtime min_period max_period min_deadline max_deadline; do
        for value in x 0 0ms -5 1.5ms 5m 3600000001 3601s 1e30; do
            is_wrong acl.conf 1 "$property takes a time from 1us to 3600s such as 500us, not \"$value\"" \
                "- - $property $value"
        done
    done
    for property in min_priority max_priority; do
        for value in x 0 101 -1 1-5 50.0; do
            is_wrong acl.conf 1 "$property takes a priority from 1 to 100, not \"$value\"" "- - $property $value"
        done
    done
    for value in yes 1 True TRUE; do
        is_wrong acl.conf 1 "ignore_adm_test takes true or false, not \"$value\"" "- - ignore_adm_test $value"
    done
}

# bats test_tags=turn:2
@test "bytes in acl.conf that are not printable ASCII are refused with their line, and not repeated" {
    is_wrong acl.conf 2 '' '- - max_utilization 1' '- \x1b[31m max_utilization 1'
    is_wrong acl.conf 2 '' '- - max_utilization 1' '- - \xff 1'
    is_wrong acl.conf 2 '' '- - max_utilization 1' 'j\xf6rg - max_utilization 1'
    # A NUL byte must not hide a rule.
    is_wrong acl.conf 2 '' '- - max_utilization 1' '\0- - max_utilization 0'
    is_wrong acl.conf 2 '' '- - max_utilization 1' '- - max_utilization 0\0.5'
}

# bats test_tags=turn:0
@test "acl.conf is refused if others can write it, if it belongs to another user, or if it is no regular file" {
    sentence='acl.conf: must be a regular file of root'
    for mode in 0664 0646 0622 0666; do
        chmod $mode "$CONFIG/acl.conf"
        check $EX_CONFIG "$CONFIG/$sentence"
        grep -q 0644 "$WORK/out"
    done
    for mode in 0644 0600 0400; do
        chmod $mode "$CONFIG/acl.conf"
        check 0 ''
    done
    chown $ALICE "$CONFIG/acl.conf"
    check $EX_CONFIG "$CONFIG/$sentence"
    rm "$CONFIG/acl.conf"
    mkdir "$CONFIG/acl.conf"
    check $EX_CONFIG "$CONFIG/acl.conf: "
}

# bats test_tags=turn:1
@test "files that are missing are named with their path" {
    rm "$CONFIG/acl.conf"
    does_not_start $EX_CONFIG "rtf-brokerd: $CONFIG/acl.conf: No such file or directory"
    rm "$CONFIG/plugins.conf"
    does_not_start $EX_CONFIG "rtf-brokerd: $CONFIG/plugins.conf: No such file or directory"
    check $EX_CONFIG "rtf-brokerd: $CONFIG/plugins.conf: No such file or directory"
    [ ! -e "$SPOOL" ]
}

# bats test_tags=turn:2
@test "users and groups that do not exist are a warning, and a CPU that is not online is no fault" {
    configure_plugins 'EDF edf - all' 'FP fp 11-20 0,1000'
    configure_rules "$ALICE - max_utilization 1" 'nosuchuser - max_utilization 1' '@nosuchgroup - max_utilization 1'
    broker_start
    eventually grep -q nosuchuser "$EVENTS"
    eventually grep -q nosuchgroup "$EVENTS"
    [ "$(field .result "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms"}')")" = OK ]
}

# ---- starting ----

# bats test_tags=turn:0
@test "wrong options end with 64 and say which" {
    while read -r sentence options; do
        # shellcheck disable=SC2086 # split on purpose
        does_not_start $EX_USAGE "$sentence" $options
    done <<'CASES'
--nonsense --nonsense
Usage somewhere
--max-specs --max-specs 0
--max-specs --max-specs many
--max-specs --max-specs 10000001
--spool --spool
CASES
    [ ! -e "$SPOOL" ]
}

# bats test_tags=turn:1
@test "rtf-brokerd exits with 77 if it is not started by root" {
    chmod 755 "$CONFIG"
    mkdir -m 777 "$WORK/open"
    for option in --foreground --put-back; do
        ends_with $EX_NOPERM 'must be started by root' setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- \
            "$RTF_LIBEXEC/rtf-brokerd" $option --spool "$WORK/open/spool" --config "$CONFIG" --group $GROUP
    done
    [ ! -e "$WORK/open/spool" ]
}

files_of() { awk '/^Max open files/ { print $4, $5 }' "/proc/$1/limits"; }

find_broker() { BROKER=$("$RTF_LIBEXEC/rtf-brokers" --spool "$SPOOL" | cut -f 1); }

@test "where the limit of open files cannot be raised, it suffices for --max-specs, or a warning says so, or the broker does not start" {
    local sentence='the limit of open files (RLIMIT_NOFILE) is' broker
    # Root may not raise a limit, as in a container.
    broker=(setpriv --bounding-set -sys_resource -- "$RTF_LIBEXEC/rtf-brokerd" --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"})
    for limit in '1024:3023 1000 3024' '3023 1001 3026' '1223 100 1224'; do
        read -r limit specs needed <<<"$limit"
        ends_with $EX_CONFIG "$sentence ${limit#*:}, and the broker cannot raise it; --max-specs $specs needs $needed: set this limit" \
            prlimit --nofile="$limit" "${broker[@]}" --max-specs "$specs"
        eventually none_of_ours
    done
    prlimit --nofile=1024:3024 "${broker[@]}" --max-specs 1000 3>&-
    find_broker
    [ "$(files_of "$BROKER")" = '3024 3024' ]
    broker_stop TERM
    eventually none_of_ours
    no grep -qF "\"warning\",\"result\":null,\"code\":null,\"reason\":\"$sentence" "$EVENTS"
    prlimit --nofile=1024:3024 "${broker[@]}" --max-specs 1001 3>&-
    find_broker
    grep -qF "\"warning\",\"result\":null,\"code\":null,\"reason\":\"$sentence 3024, and the broker cannot raise it; --max-specs 1001 needs 3026: " "$EVENTS"
}

@test "the limit of open files is raised" {
    prlimit --nofile=30000 true 2>/dev/null || skip 'root may not raise a limit here'
    prlimit --nofile=1024 "$RTF_LIBEXEC/rtf-brokerd" --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} 3>&-
    find_broker
    for process in "$BROKER" "$(helpers rtf-attach)" "$(helpers rtf-guard)"; do [ "$(files_of "$process")" = '524288 524288' ]; done
}

# bats test_tags=turn:2
@test "a group that does not exist, and a plugin user that is root or unknown" {
    does_not_start $EX_CONFIG 'there is no group "nosuchgroup"; make it, or name another with --group' --group nosuchgroup
    [ ! -e "$SPOOL" ]
    ends_with $EX_CONFIG 'there is no group "nosuchgroup"; make it, or name another with --group' \
        "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG" --group nosuchgroup
    for user in root 0 nosuchuser; do
        does_not_start $EX_CONFIG '--plugin-user must name an unprivileged account or uid' --plugin-user $user
    done
}

# bats test_tags=turn:0
@test "a spool that cannot be made or is no directory" {
    does_not_start $EX_UNAVAILABLE "$WORK/absent/spool: No such file or directory" --spool "$WORK/absent/spool"
    : >"$WORK/file"
    does_not_start $EX_UNAVAILABLE "$WORK/file: Not a directory" --spool "$WORK/file"
}

# bats test_tags=turn:1
@test "a plugin that refuses to start gives its reason" {
    while IFS='|' read -r sentence line; do
        configure_plugins 'OK fp 1-5 all' "$line"
        does_not_start $EX_CONFIG "rtf-brokerd: plugins.conf:2: the plugin ${line%% *} refuses to start: $sentence"
        check $EX_CONFIG "rtf-brokerd: plugins.conf:2: the plugin ${line%% *} refuses to start: $sentence"
    done <<'CASES'
admission=exact: must be density|EDF edf - all admission=exact
admission=exact: must be hyperbolic or liu-layland or necessary or rta|RM rm 21-40 all admission=exact
exhausted=maybe: must be share or reject|FP fp 11-20 all exhausted=maybe
treshold=0.5: no such word; did you mean threshold=?|EDF edf - all treshold=0.5
a deadline plugin has no POSIX priorities|EDF edf 11-20 all
needs a range of POSIX priorities|RM rm - all
needs a range of POSIX priorities|RR rr - all
CASES
}

# bats test_tags=turn:2
@test "a plugin that does not greet properly is named" {
    program quits <<<$'#!/bin/sh\nexit 3'
    program babbles <<<$'#!/bin/sh\necho hello world\necho\nexec cat'
    program newer <<<$'#!/bin/sh\nprintf "protocol=2\\nanswer=ok\\n\\n"\nexec cat'
    program nameless <<<$'#!/bin/sh\nprintf "answer=ok\\n\\n"\nexec cat'
    program curt <<<$'#!/bin/sh\nprintf "protocol=1\\nanswer=no\\n\\n"\nexec cat'
    program interpreter <<<$'#!/nonexistent/sh\n'
    while IFS='|' read -r name sentence; do
        configure_plugins "P $WORK/$name 1-5 all"
        does_not_start $EX_CONFIG "rtf-brokerd: plugins.conf:1: the plugin P"
        grep -qF "$sentence" "$WORK/out"
    done <<'CASES'
quits|did not greet: it ended
babbles|did not greet: it sends a line without '='
newer|it speaks another protocol than 1
nameless|its greeting lacks protocol= or answer=
curt|it gave no reason
interpreter|did not greet: it ended
CASES
}

# bats test_tags=turn:0
@test "a plugin that hangs at start is named after five seconds, and not left behind" {
    : >"$WORK/pid"
    chmod 666 "$WORK/pid"
    program hangs <<<$'#!/bin/sh\necho $$ >'"$WORK/pid"$'\nexec sleep 60'
    configure_plugins 'OK fp 11-20 all' "P $WORK/hangs 1-5 all"
    does_not_start $EX_CONFIG 'rtf-brokerd: plugins.conf:2: the plugin P did not greet within 5 s'
    cat "$WORK/pid" >>"$WORK/pids"
    eventually has_ended "$(cat "$WORK/pid")"
}

# last_line EXPRESSION: the expression is true for the last line of the log.
last_line() { tail -n 1 "$EVENTS" | jq -e "$1" >/dev/null || { cat "$EVENTS" >&2; return 1; }; }

@test "a start that fails leaves its reason in the log, once there is one; --check does not" {
    does_not_start $EX_CONFIG 'there is no group' --group nosuchgroup
    [ ! -e "$SPOOL" ]
    broker_start
    broker_stop TERM
    last_line '.decision == "stopped"'
    does_not_start $EX_CONFIG 'there is no group' --group nosuchgroup
    last_line '.stage == "broker" and .decision == "error" and .reason == "it cannot start: there is no group \"nosuchgroup\"; make it, or name another with --group"'
    configure_plugins 'EDF edf - all treshold=0.5'
    does_not_start $EX_CONFIG 'no such word'
    last_line '.decision == "error" and (.reason | test("^it cannot start: plugins.conf:1: the plugin EDF refuses to start: treshold=0.5"))'
    lines=$(wc -l <"$EVENTS")
    check $EX_CONFIG 'no such word'
    [ "$(wc -l <"$EVENTS")" = "$lines" ]
    configure_plugins 'EDF edf - all'
    broker_start
    ends_with $EX_UNAVAILABLE 'another broker' "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group $GROUP
    last_line '.reason | test("^it cannot start: .*another broker")'
    # The log is a link that leads nowhere.
    broker_stop TERM
    mv "$EVENTS" "$WORK/log" && ln -s "$WORK/victim" "$EVENTS"
    does_not_start $EX_CONFIG 'there is no group' --group nosuchgroup
    [ ! -e "$WORK/victim" ]
    rm "$EVENTS"
}

# bats test_tags=turn:1,machine
@test "--check by root names what the kernel would refuse at the start: a part of a domain, and no CPU left" {
    configure_plugins 'EDF edf - 0 partition=global'
    check $EX_CONFIG 'rtf-attach: the CPUs 0 are not one whole scheduling domain'
    grep -qx 'rtf-brokerd: plugins.conf:1: EDF cannot have partition=global with these CPUs' "$WORK/out"
    does_not_start 71 'EDF cannot have partition=global'
    configure_plugins 'EDF edf - all partition=cpuset'
    check $EX_CONFIG 'take all CPUs: leave at least one CPU for ordinary threads'
    configure_plugins 'EDF edf - all partition=global'
    check 0 ''
    [ "$(chrt -p $$ | head -n 1 | sed 's/.*: //')" = SCHED_OTHER ]
}

# bats test_tags=turn:1
@test "plugins that must not share a CPU are refused with the reason" {
    while IFS='|' read -r place sentence lines; do
        # shellcheck disable=SC2086 # the lines are separated by /
        IFS=/ read -r -a lines <<<"$lines"
        configure_plugins "${lines[@]}"
        echo "--- ${lines[*]}"
        does_not_start $EX_CONFIG "rtf-brokerd: plugins.conf:$place: $sentence"
    done <<'CASES'
2|RM tests its tasks, but global EDF (EDF) on the same CPU makes this test unsound|EDF edf - all partition=global/RM rm 21-40 0
1|RM tests its tasks, but global EDF (EDF) on the same CPU makes this test unsound|RM rm 21-40 0/EDF edf - all
1|RM tests its tasks (tests=sufficient), but FP on the same CPU proves less (tests=none): its priorities reach 30, and must stay below 21|RM rm 21-40 0/FP fp 30 0
2|RM tests its tasks (tests=sufficient), but RR on the same CPU proves less (tests=none): its priorities reach 21, and must stay below 21|RR rr 1-21 0/RM rm 21-40 0
CASES
    configure_plugins 'RM rm 21-40 0' 'FP fp 41-50 1' 'RR rr 1-20 all'
    broker_start
    broker_stop TERM
}

# Other tests set sched_rt_runtime_us.
# bats test_tags=machine
@test "a spool has one broker; another one, and --put-back, leave it alone" {
    broker_start
    before=$({ launcher; helpers; } | sort; cat /proc/sys/kernel/sched_rt_runtime_us)
    timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --group $GROUP >"$WORK/put-back" 2>&1 3>&- &
    second=$!
    ends_with $EX_UNAVAILABLE 'rtf-brokerd: another broker serves this spool' \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group $GROUP
    wait $second || [ $? -eq $EX_UNAVAILABLE ]
    cat "$WORK/put-back"
    [ "$({ launcher; helpers; } | sort; cat /proc/sys/kernel/sched_rt_runtime_us)" = "$before" ]
    [ "$(field .result "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms"}')")" = OK ]
}

# bats test_tags=turn:0
@test "brokers on two spools do not disturb one another" {
    broker_start
    first=$BROKER
    SPOOL=$WORK/other SPECS=$WORK/other/specs broker_start
    [ "$(SPOOL=$WORK/other SPECS=$WORK/other/specs spec $BOB cam '{"priority": 5}' | jq -r .result)" = OK ]
    broker_stop TERM
    BROKER=$first
    [ "$(field .result "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms"}')")" = OK ]
    [ ! -e "$SPECS/$BOB" ]
}

# bats test_tags=turn:1
@test "without --foreground, rtf-brokerd returns when clients can be served, and detaches from the caller" {
    # The reader of the pipe sees its end when no process holds the writing end any more, neither the broker nor a child.
    { timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --spool "$SPOOL" --config "$CONFIG" --group $GROUP 2>&1 3>&-
        echo "status $?"
        as $ALICE dd if=/dev/null of="$SPOOL/alive" oflag=nonblock conv=notrunc status=none 2>&1 && echo served
        date +%s%N >"$WORK/returned"
    } | cat >"$WORK/out" &
    reader=$!
    echo "$reader" >>"$WORK/pids"
    eventually test -s "$WORK/returned"
    BROKER=$(pgrep -o -f -- "rtf-brokerd --spool $SPOOL ")
    echo "$BROKER" >>"$WORK/pids"
    echo "found: $BROKER, said: $(<"$WORK/out")"
    [[ $BROKER =~ ^[0-9]+$ ]]
    [ "$(field .result "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms"}')")" = OK ]
    [ "$(ps -o sid= -p "$BROKER" | tr -d ' ')" = "$BROKER" ]
    kept=no
    eventually has_ended "$reader" || kept=yes
    kill -TERM "$BROKER"
    eventually has_ended "$BROKER"
    BROKER=
    cat "$WORK/out"
    [ "$(<"$WORK/out")" = $'status 0\nserved' ]
    [ $kept = no ]
}

# bats test_tags=turn:2
@test "without --foreground a start that fails says why, with its status" {
    configure_plugins 'EDF edf - all admission=exact'
    ends_with $EX_CONFIG 'plugins.conf:1: the plugin EDF refuses to start: admission=exact: must be density' \
        "$RTF_LIBEXEC/rtf-brokerd" --spool "$SPOOL" --config "$CONFIG" --group $GROUP
    eventually none_of_ours
    # No FIFO of a broker is open.
    [ ! -p "$SPOOL/alive" ] || ! dd if=/dev/null of="$SPOOL/alive" oflag=nonblock conv=notrunc status=none
}

# ---- the spool it makes ----

# layout: prints the files of the spool, in the form of spool/manifest.
layout() {
    local path group
    while read -r path _; do
        group=$(stat -c %g "$SPOOL/$path")
        [ "$group" != $GROUP ] || group=rtf
        [ "$group" != "$(getent group adm | cut -d: -f3)" ] || group=adm
        [ "$group" != 0 ] || group=root
        echo "$path $(find "$SPOOL/$path" -maxdepth 0 -printf '%y %u') $group $(stat -c %04a "$SPOOL/$path")"
    done < <(manifest)
}

manifest() {
    local adm=adm
    getent group adm >/dev/null || adm=root
    awk -v adm=$adm '!/^#/ && NF { sub("adm", adm, $4); print $1, $2, $3, $4, $5 }' "$RTF_SOURCE/spool/manifest"
}

# bats test_tags=turn:0
@test "the spool is as spool/manifest says, and nothing else is in it" {
    broker_start
    diff <(manifest) <(layout)
    # spool/manifest does not list the files below state/.
    diff <(manifest | cut -d' ' -f1 | sort) \
        <(cd "$SPOOL" && find . -path ./state/\* -prune -o -print | sed 's,^\./,,' | sort)
}

# bats test_tags=turn:1
@test "a spool with other modes and owners is put right at the start" {
    broker_start
    broker_stop TERM
    chmod 777 "$SPOOL" "$SPOOL/specs" "$SPOOL/log" "$SPOOL/state" "$SPOOL/alive"
    chgrp 0 "$SPOOL/specs" "$SPOOL/log" "$SPOOL/alive"
    broker_start
    diff <(manifest) <(layout)
}

# bats test_tags=turn:2
@test "the broker refuses a spool with parts that belong to another user or are links" {
    for part in state specs log; do
        rm -rf "$SPOOL"
        mkdir "$SPOOL"
        ln -s /tmp "$SPOOL/$part"
        does_not_start $EX_UNAVAILABLE "$part must be a directory of root's"
        rm "$SPOOL/$part"
        mkdir "$SPOOL/$part"
        chown $ALICE "$SPOOL/$part"
        does_not_start $EX_UNAVAILABLE "$part must be a directory of root's"
    done
    rm -rf "$SPOOL"
    mkdir "$SPOOL"
    : >"$SPOOL/alive"
    does_not_start 71 'alive must be a FIFO'
}

# ---- reloading ----

# bats test_tags=turn:0
@test "SIGHUP takes new rules, and grants stay" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    thread=$(kernel "$SLEEPER")
    configure_rules "$ALICE - max_utilization 0.1"
    reload
    [ "$(last_event reloaded)" = "acl.conf is read again, and the log is opened again" ]
    [[ $(last_event warning) == "acl.conf:1: $ALICE - max_utilization 0.1: 0.2 is in use"* ]]
    [ "$(kernel "$SLEEPER")" = "$thread" ]
    answer=$(spec $ALICE more '{"runtime": "100us", "period": "10ms"}')
    [[ $(field .reason "$answer") == "acl.conf:1: $ALICE - max_utilization 0.1: 0.2 used, 0.01 asked" ]]
}

# bats test_tags=turn:1
@test "SIGHUP with a wrong acl.conf keeps the rules in force and logs the place" {
    broker_start
    reasons=(
        'acl.conf:2: plugins.conf has no plugin "NOPE"'
        'acl.conf:2: max_utilization takes CPUs in decimals'
        'acl.conf:2: '
        'acl.conf:2: '
        "$CONFIG/acl.conf: must be a regular file of root"
        "$CONFIG/acl.conf: No such file or directory"
    )
    n=0
    for line in '- NOPE max_utilization 1' '- - max_utilization 50%' '- - \xff 1' '- \x1b[31m max_utilization 1' writable absent; do
        printf '%s - max_utilization 0\n%b\n' $ALICE "$line" >"$CONFIG/acl.conf"
        case $line in
        writable) configure_rules "$ALICE - max_utilization 0" && chmod 666 "$CONFIG/acl.conf" ;;
        absent) rm "$CONFIG/acl.conf" ;;
        esac
        reload
        reason=$(last_event error)
        echo "$line: $reason"
        [[ $reason == "${reasons[n]}"*"; the rules in force stay" ]]
        n=$((n + 1))
        [ "$(field .result "$(spec $ALICE "w$n" '{"runtime": "1ms", "period": "10ms"}')")" = OK ]
    done
    configure_rules "$ALICE - max_utilization 0"
    chmod 644 "$CONFIG/acl.conf"
    reload
    [ "$(field .result "$(spec $ALICE last '{"runtime": "1ms", "period": "10ms"}')")" = ACL_FAIL ]
    ! LC_ALL=C grep -q '[^ -~]' "$WORK/broker.out" "$EVENTS" || false
}

# bats test_tags=turn:2
@test "SIGHUP admits a uid that the rules name now, and takes back the grants of a uid that they no longer name" {
    configure_rules "$ALICE - max_utilization 1"
    broker_start
    json='{"runtime": "1ms", "period": "10ms"}'
    answer=$(spec $BOB cam "$json")
    [ "$(jq -c '[.result, .refusal.by, .grant]' <<<"$answer")" = '["ACL_FAIL","access",null]' ]
    [[ $(field .reason "$answer") == *"uid $BOB"*"acl.conf"* ]]
    [ "$(field .result "$(spec $ALICE cam "$json")")" = OK ]
    configure_rules "$BOB - max_utilization 1"
    reload
    as $BOB touch "$SPECS/$BOB/cam.json"
    [ "$(field .result "$(verdict $BOB cam)")" = OK ]
    [ "$(field .result "$(spec $ALICE more "$json")")" = ACL_FAIL ]
    eventually jq -e '.grant == null' "$SPECS/$ALICE/cam.verdict"
}

# bats test_tags=turn:0
@test "plugins.conf is read at the start only" {
    broker_start
    configure_plugins 'broken'
    reload
    [ "$(last_event reloaded)" != "" ]
    [ "$(field .result "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms"}')")" = OK ]
}

# ---- tests that set sched_rt_runtime_us, a setting of the whole machine, for a short time ----

# bats test_tags=machine
@test "--put-back writes back what a killed broker left changed, and nothing when there is nothing" {
    configure_plugins 'EDF edf - 0-1 partition=unthrottled'
    before=$(</proc/sys/kernel/sched_rt_runtime_us)
    broker_start
    [ "$(</proc/sys/kernel/sched_rt_runtime_us)" = -1 ]
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    BROKER=
    [ "$(</proc/sys/kernel/sched_rt_runtime_us)" = -1 ]
    ends_with 0 '' "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --group $GROUP
    [ "$(</proc/sys/kernel/sched_rt_runtime_us)" = "$before" ]
    ends_with 0 '' "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --group $GROUP
    [ "$(</proc/sys/kernel/sched_rt_runtime_us)" = "$before" ]
}

# bats test_tags=turn:1
@test "--put-back needs no configuration" {
    rm -r "$CONFIG"
    ends_with 0 '' "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --config "$CONFIG" --group $GROUP
}

# bats test_tags=turn:2
@test "a service manager that asks is told that the broker serves, and goes on serving; a hanging broker tells nothing" {
    cat >"$WORK/manager" <<'END'
import os, socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    with open(sys.argv[2], "a") as told:
        told.write(manager.recv(100).decode() + "\n")
END
    /usr/bin/python3 -S "$WORK/manager" "$WORK/socket" "$WORK/told" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -S "$WORK/socket"
    export NOTIFY_SOCKET=$WORK/socket WATCHDOG_USEC=400000
    broker_start
    unset NOTIFY_SOCKET WATCHDOG_USEC
    told() { [ "$(grep -c . "$WORK/told")" -ge "$1" ]; }
    eventually told 3
    [ "$(sort "$WORK/told" | uniq | paste -sd ' ')" = 'READY=1 WATCHDOG=1' ]
    [ "$(head -n 1 "$WORK/told")" = READY=1 ]
    kill -STOP "$BROKER"
    eventually is_stopped "$BROKER"
    before=$(grep -c . "$WORK/told")
    sleep 1
    [ "$(grep -c . "$WORK/told")" = "$before" ]
    kill -CONT "$BROKER"
    eventually told $((before + 2))
}
