# rtf-metrics(1): both formats are as Prometheus and OpenMetrics say, the numbers are those of status.json and the log, and counters never become smaller.
load ../helper
load ../command
load ../many
load front

prepare() {
    front_prepare
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.9' 'FP fp 11-20 1 enforce=runtime'
    METRICS=$WORK/metrics
    mkdir "$METRICS"
}

# metrics [OPTION...]: runs rtf metrics as root. The samples go to $WORK/samples. An error in the format is fatal.
metrics() {
    "$RTF_BIN/rtf" --spool "$SPOOL" metrics "$@" >"$WORK/out" 2>"$WORK/err" || { cat "$WORK/err" >&2; return 1; }
    well_formed "$@" <"$WORK/out"
}
well_formed() {
    local format=
    [[ " $* " != *' --openmetrics '* ]] || format=--openmetrics
    tee "$WORK/text" | /usr/bin/python3 -S "$BATS_TEST_DIRNAME/exposition.py" $format >"$WORK/samples" || return 1
    [ -n "$format" ] || ! command -v promtool >/dev/null || promtool check metrics <"$WORK/text"
}

# has SAMPLE VALUE: the sample has this value. value SAMPLE: prints its value. total REGEX: prints the sum of the samples that match.
value() { sample=$1 awk 'BEGIN { sample = ENVIRON["sample"] } substr($0, 1, length(sample) + 1) == sample " " { print substr($0, length(sample) + 2) }' "$WORK/samples"; }
has() { [ "$(value "$1")" = "$2" ] || { echo "$1 is '$(value "$1")', not $2" >&2; return 1; }; }
total() { grep -E -e "$1" "$WORK/samples" | awk '{ sum += $NF } END { printf "%.9g\n", sum }'; }
lacks_samples() { if grep -E -e "$1" "$WORK/samples" >&2; then return 1; fi; }
of() { echo "rtf_reservation_$1{\"user\": \"$2\", \"reservation\": \"$3\"}"; }

status_is() { jq -e "$1" "$SPOOL/status.json" >/dev/null; }

# counts_as_log LOG...: the counters are the numbers of lines in these files.
counts_as_log() {
    cat "$@" | command jq -s '
        [.[] | select(.stage == "verdict" and .decision != "error")] as $verdicts | def counts(f): group_by(f) | map({(.[0] | f): length}) | add // {};
        {results: ($verdicts | counts(.result)), codes: ($verdicts | map(select(.decision == "refused")) | counts(.code)),
        ended: (map(select(.stage == "release")) | counts(.ended)), events: counts("\(.stage) \(.decision)"),
        us: ($verdicts | map(.us // empty) | add // 0), timed: ($verdicts | map(select(.us != null)) | length)}' >"$WORK/counted"
    jq -r '(.results | to_entries[] | "rtf_requests_total{\"result\": \"\(.key)\"} \(.value)"), (.codes | to_entries[] | "rtf_refusals_total{\"code\": \"\(.key)\"} \(.value)"),
        (.ended | to_entries[] | "rtf_releases_total{\"reason\": \"\(.key)\"} \(.value)"),
        (.events | to_entries[] | (.key / " ") as $words | "rtf_events_total{\"stage\": \"\($words[0])\", \"decision\": \"\($words[1])\"} \(.value)")' "$WORK/counted" | sort >"$WORK/expected"
    grep -E '^rtf_(requests|refusals|releases|events)_total' "$WORK/samples" | grep -v ' 0$' | sort | diff "$WORK/expected" - >&2
    has 'rtf_request_duration_seconds_count{}' "$(jq .timed "$WORK/counted")"
    has 'rtf_request_duration_seconds_sum{}' "$(awk -v us="$(jq .us "$WORK/counted")" 'BEGIN { printf "%d.%06d\n", us / 1000000, us % 1000000 }')"
}

# settled: the counters include all lines of the log.
answers() { logged_lines=$(grep -c '"stage":"verdict"' "$EVENTS") && [ "$logged_lines" -ge "$1" ]; }

@test "a broker without reservations has well-formed metrics in both formats" {
    broker_start
    eventually status_is '.plugins | all(.state == "serving")'
    for format in '' --openmetrics; do
        # shellcheck disable=SC2086 # no word, or one
        metrics $format
        has 'rtf_up{}' 1
        has 'rtf_reservations{}' 0
        has 'rtf_plugin_up{"plugin": "EDF", "resource": "cpu"}' 1
        has 'rtf_broker_info{"version": "1.0"}' 1
        has 'rtf_requests_total{"result": "OK"}' 0
        has 'rtf_specs{"state": "granted"}' 0
        lacks_samples '^rtf_reservation_'
        [ ! -s "$WORK/err" ]
    done
    [ "$(value 'rtf_broker_start_time_seconds{}')" = "$(jq -r .since "$SPOOL/status.json" | date -u -f - +%s.%6N)" ]
}

@test "sums are those of status.json and of the log, and each reservation has what is granted" {
    broker_start
    sleeper $ALICE
    put_all $ALICE cam '{"runtime": "2ms", "period": "20ms", "deadline": "10ms", "plugin": "EDF"}' arm "{\"priority\": 5, \"runtime\": \"1ms\", \"period\": \"10ms\", \"plugin\": \"FP\", \"attach\": $SLEEPER}" \
        big '{"runtime": "19999us", "period": "20ms", "plugin": "EDF"}' bad '{"runtime": 0}' gone '{"priority": 7, "runtime": "1ms", "period": "20ms", "plugin": "FP"}'
    verdicts $ALICE cam arm big bad gone >"$WORK/verdicts"
    put_all $BOB other '{"runtime": "1ms", "period": "30ms", "plugin": "EDF"}'
    verdicts $BOB other >"$WORK/verdicts"
    take_back $ALICE gone
    eventually status_is '.reservations == 3 and .attached == 1 and .pools[0].used == "0.233333334"'
    for format in --openmetrics ''; do
        # shellcheck disable=SC2086
        metrics $format
        counts_as_log "$EVENTS"
        has 'rtf_reservations{}' 3
        has 'rtf_attached_threads{}' 1
        [ "$(grep -c '^rtf_reservation_info' "$WORK/samples")" -eq 3 ]
        [ "$(total '^rtf_reservation_utilization_ratio')" = 0.333333334 ]
        while IFS=$'\t' read -r pool cpus capacity used; do
            has "rtf_pool_capacity{\"pool\": \"$pool\", \"resource\": \"cpu\", \"plugin\": \"EDF\", \"cpus\": \"$cpus\"}" "$capacity"
            has "rtf_pool_reserved{\"pool\": \"$pool\", \"resource\": \"cpu\", \"plugin\": \"EDF\", \"cpus\": \"$cpus\"}" "$used"
        done < <(jq -r '.pools[] | select(.plugin != null) | [.name, .cpus, .capacity, .used] | @tsv' "$SPOOL/status.json")
        has "$(of runtime_seconds $ALICE cam)" 0.002000
        has "$(of period_seconds $ALICE cam)" 0.020000
        has "$(of deadline_seconds $ALICE cam)" 0.010000
        has "$(of utilization_ratio $BOB other)" 0.033333334
        has "$(of attached $ALICE cam)" 0
        has "$(of attached $ALICE arm)" 1
        has "$(of drifted $ALICE arm)" 0
        has "$(of throttles_total $ALICE arm)" 0
        has 'rtf_specs{"state": "attached"}' 1
        has "$(of priority $ALICE arm)" "$(jq .grant.priority "$OWN/arm.verdict")"
        # The kernel does not report this value for a SCHED_DEADLINE thread, and a spec without a thread has none: the value is not known, and not 0.
        lacks_samples "$(of '(throttles_total|cpu_seconds_total|drifted|priority)' $ALICE cam | sed 's/{/[{]/')"
    done
    grep -qxF "rtf_reservation_info{\"user\": \"$ALICE\", \"reservation\": \"arm\", \"plugin\": \"FP\", \"policy\": \"fifo\", \"cpus\": \"1\"} 1" "$WORK/samples"
}

@test "the CPU time of a reservation is that of its thread" {
    broker_start
    hog $ALICE
    spec $ALICE cam "{\"runtime\": \"5ms\", \"period\": \"20ms\", \"plugin\": \"EDF\", \"attach\": $HOG}" >/dev/null
    eventually has_consumed "$HOG" 30
    kill -STOP "$HOG"
    before=$(consumed "$HOG")
    metrics
    ran=$(value "$(of cpu_seconds_total $ALICE cam)")
    [ "$(awk -v ran="$ran" 'BEGIN { printf "%d\n", ran * 1000 }')" -ge "$before" ]
    [ -n "$(value "$(of wait_seconds_total $ALICE cam)")" ]
    # An owner can change the thread's scheduling.
    kill -CONT "$HOG"
    kill -STOP "$BROKER"
    chrt --other -p 0 "$HOG"
    metrics
    kill -CONT "$BROKER"
    has "$(of drifted $ALICE cam)" 1
}

# bats test_tags=turn:1
@test "a thread that used up its runtime is counted as often as the log says" {
    broker_start
    hog $ALICE
    spec $ALICE arm "{\"priority\": 5, \"runtime\": \"2ms\", \"period\": \"10ms\", \"plugin\": \"FP\", \"attach\": $HOG}" >/dev/null
    eventually grep -q '"times":' "$EVENTS"
    metrics --no-reservations
    lacks_samples '^rtf_(reservation_|specs)'
    metrics
    has "$(of throttles_total $ALICE arm)" "$(jq -s 'map(.times // 0) | add' "$EVENTS")"
    rm "$OWN/arm.json"
    eventually test ! -e "$OWN/arm.verdict"
    metrics
    jq -e '.throttles == {}' "$SPOOL/state/metrics"
}

# rotate: rotates the log as logrotate does, with the newest rotated file not compressed.
rotate() {
    local i
    for i in 5 4 3 2; do [ ! -e "$EVENTS.$i.gz" ] || mv "$EVENTS.$i.gz" "$EVENTS.$((i + 1)).gz"; done
    if [ -e "$EVENTS.1" ]; then gzip "$EVENTS.1" && mv "$EVENTS.1.gz" "$EVENTS.2.gz"; fi
    mv "$EVENTS" "$EVENTS.1"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS" 2>/dev/null
}
request() { spec $ALICE cam "{\"runtime\": \"$1ms\", \"period\": \"20ms\", \"plugin\": \"EDF\"}" >/dev/null; }
all_logs() { find "$SPOOL/log" -type f -exec zcat -f {} + >"$WORK/log"; }
counts_all() {
    all_logs
    metrics --no-reservations
    counts_as_log "$WORK/log"
    [ ! -s "$WORK/err" ] || { cat "$WORK/err" >&2; return 1; }
}

@test "no line counts twice and none is lost over restarts and rotations, also when two rotations come between two runs" {
    broker_start
    request 1
    counts_all
    counts_all
    request 2
    rotate
    request 30
    counts_all
    request 3
    broker_stop KILL
    broker_start
    request 4
    counts_all
    request 5
    rotate
    request 6
    rotate
    counts_all
    request 7
    counts_all
    broker_stop TERM
    counts_all
    broker_start
    rotate
    : >"$EVENTS"
    counts_all
    request 8
    counts_all
}

# bats test_tags=turn:2
@test "no counter becomes smaller when a file of the log is lost, or the sums cannot be written" {
    broker_start
    request 1
    request 2
    metrics
    request 3
    mount --bind "$SPOOL/state" "$SPOOL/state"
    mount -o remount,bind,ro "$SPOOL/state"
    metrics
    umount "$SPOOL/state"
    has 'rtf_requests_total{"result": "OK"}' 3
    grep -qx 'rtf metrics: state/metrics in the spool cannot be written: Read-only file system' "$WORK/err"
    metrics
    has 'rtf_requests_total{"result": "OK"}' 3
    rotate
    rm "$EVENTS.1"
    request 4
    metrics
    has 'rtf_requests_total{"result": "OK"}' 4
    grep -qx 'rtf metrics: the file of the log that was read last is gone: the counters lack its last lines' "$WORK/err"
    # Half a line is a line that the broker still writes.
    printf '{"schema":1,"stage":"verdict","decision":"ok"' >>"$EVENTS"
    metrics
    has 'rtf_requests_total{"result": "OK"}' 4
    [ ! -s "$WORK/err" ]
    printf ',"result":"OK"}\n' >>"$EVENTS"
    metrics
    has 'rtf_requests_total{"result": "OK"}' 5
    echo '{' >"$SPOOL/state/metrics"
    metrics
}

@test "rtf_up is 0 for a broker that was killed, and for one that stopped; the numbers are those of before" {
    broker_start
    request 2
    eventually status_is '.reservations == 1'
    broker_stop KILL
    status_is '.running and .plugins[0].state == "serving"'
    metrics
    has 'rtf_up{}' 0
    has 'rtf_plugin_up{"plugin": "EDF", "resource": "cpu"}' 0
    has 'rtf_reservations{}' 1
    has "$(of runtime_seconds $ALICE cam)" 0.002000
    broker_start
    metrics
    has 'rtf_up{}' 1
    broker_stop TERM
    metrics
    has 'rtf_up{}' 0
}

@test "a user sees the sums, and only the user's own reservations; a stranger sees nothing" {
    broker_start
    request 2
    put_all $BOB secret '{"runtime": "1ms", "period": "30ms", "plugin": "EDF"}'
    verdicts $BOB secret >"$WORK/verdicts"
    metrics
    grep -q secret "$WORK/samples"
    for format in '' --openmetrics; do
        # shellcheck disable=SC2086
        prints 0 rtf metrics $format
        # shellcheck disable=SC2086
        well_formed $format <"$WORK/out"
        has 'rtf_up{}' 1
        has "$(of runtime_seconds $ALICE cam)" 0.002000
        has 'rtf_specs{"state": "granted"}' 1
        has 'rtf_specs{"state": "refused"}' 0
        lacks_samples "secret|$BOB|^rtf_(requests|refusals|releases|events)"
    done
    fails 77 "rtf metrics: you are not in group $GROUP, *" stranger $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" metrics
    # Bob forges a verdict. The forgery misleads only Bob.
    as $BOB sh -c 'cd "$1" && printf "%s\n" "{\"grant\":{\"plugin\":\"a\\\"b\\\\\\u0001\\n\",\"policy\":7,\"period\":-1,\"accepted_runtime\":\"x\"},\"thread\":{\"tid\":-5,\"state\":\"attached\"}}" >.v && mv .v secret.verdict' sh "$SPECS/$BOB"
    prints 0 rtf_of $BOB metrics
    well_formed <"$WORK/out"
    grep -qF 'reservation": "secret", "plugin": "a\"b\\\\\\x01\\x0a"} 1' "$WORK/samples"
    lacks_samples '^rtf_reservation_(period|runtime|cpu)_seconds'
    metrics
    has "$(of period_seconds $BOB secret)" 0.030000
}

@test "a spool that a user has made leads root nowhere, and breaks no line" {
    trap=$WORK/trap
    mkdir "$trap" "$trap/specs" "$WORK/treasure"
    chmod 755 "$WORK/treasure"
    mkdir -p "$WORK/roots/log"
    printf '{"stage":"verdict","decision":"ok","result":"OK","time":"2026-01-01T00:00:00.000000Z"}\n' >"$WORK/roots/log/events.ndjson"
    cat >"$trap/status.json" <<'TEXT'
{"version": "1\"\\\nrtf_up 7\u2028\u001b[2J", "running": true, "since": "2026-01-01T00:00:00.5 7Z", "reservations": -3, "attached": "many",
 "plugins": [{"name": "a\"} 5\nrtf_up 6\n#", "resource": "\\", "state": "serving"}, {"name": null, "state": "serving"}, 5],
 "pools": [{"name": "p\\", "unit": "CPU", "capacity": "1 2", "used": "1e9"}, {"name": "q", "unit": "x\r\n", "capacity": "0.5", "used": "NaN"}, {"name": "p\\\\", "unit": "CPU", "capacity": "7"}]}
TEXT
    ln -s "$WORK/treasure" "$trap/state"
    ln -s "$WORK/roots/log" "$trap/log"
    chown -Rh $ALICE "$trap"
    "$RTF_BIN/rtf" --spool "$trap" metrics --no-reservations >"$WORK/out" 2>"$WORK/err"
    well_formed <"$WORK/out"
    has 'rtf_up{}' 0
    has 'rtf_broker_start_time_seconds{}' 1767225600.5
    has 'rtf_pool_capacity{"pool": "q", "resource": "x\\x0d\\x0a"}' 0.5
    has 'rtf_pool_capacity{"pool": "p\\\\\\\\", "resource": "cpu"}' 7
    lacks_samples '^rtf_(pool_reserved|reservations|attached_threads|requests)'
    grep -q 'the counters are left out' "$WORK/err"
    nothing_in "$WORK/treasure"
    rm "$trap/state"
    mkdir "$trap/state"
    chown $ALICE "$trap/state"
    "$RTF_BIN/rtf" --spool "$trap" metrics --no-reservations >"$WORK/out" 2>"$WORK/err"
    grep -q 'state/metrics in the spool: Operation not permitted; the counters are left out' "$WORK/err"
    nothing_in "$trap/state"
}

@test "--textfile replaces DIR/rtf.prom in one step, for the group of DIR, and follows no link" {
    broker_start
    request 2
    chgrp "$GROUP" "$METRICS"
    silent "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS"
    [ "$(stat -c '%a %u %g' "$METRICS/rtf.prom")" = "640 0 $GROUP" ]
    well_formed <"$METRICS/rtf.prom"
    has "$(of runtime_seconds $ALICE cam)" 0.002000
    silent "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS" --group 12345
    [ "$(stat -c '%a %g' "$METRICS/rtf.prom")" = '640 12345' ]
    silent "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS" --no-reservations
    [ "$(stat -c %a "$METRICS/rtf.prom")" = 644 ]
    lacks cam "$METRICS/rtf.prom"
    chgrp 0 "$METRICS"
    "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS" 2>"$WORK/err"
    grep -qx 'rtf metrics: only root can read the file: --group names the group of node_exporter' "$WORK/err"
    # Alice owns the directory, and has put links into it.
    echo precious >"$WORK/precious"
    rm "$METRICS/rtf.prom"
    ln -s "$WORK/precious" "$METRICS/rtf.prom"
    ln "$WORK/precious" "$METRICS/.rtf.prom.new"
    chown -h $ALICE "$METRICS" "$METRICS/rtf.prom"
    silent "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS" --group 12345
    [ "$(cat "$WORK/precious")" = precious ]
    [ "$(stat -c '%a %U' "$WORK/precious")" = "$(stat -c '%a %U' "$WORK/err")" ]
    [[ -f $METRICS/rtf.prom && ! -L $METRICS/rtf.prom ]]
    [ "$(ls -A "$METRICS")" = rtf.prom ]
    ln -s "$METRICS" "$WORK/link"
    fails 73 "rtf metrics: $WORK/link: Not a directory" "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$WORK/link" --group 0
    fails 73 "rtf metrics: $WORK/none: No such file or directory" "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$WORK/none"
    fails 64 'rtf metrics: node_exporter reads no OpenMetrics: *' "$RTF_BIN/rtf" metrics --textfile "$METRICS" --openmetrics
    fails 64 'rtf metrics: --group needs --textfile*' "$RTF_BIN/rtf" metrics --group 0
    fails 67 'rtf metrics: --group no?such: there is no such group' "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS" --group $'no\x01such'
}

@test "a reader of the text file sees a whole text at any time, beside two writers and kills" {
    broker_start
    request 2
    write() { for _ in $(seq "$1"); do "$RTF_LIBEXEC/front/rtf-metrics" --spool "$SPOOL" --textfile "$METRICS" --group 0; done; }
    write 1
    write 40 3>&- &
    one=$!
    write 40 3>&- &
    other=$!
    echo "$one" >>"$WORK/pids"
    echo "$other" >>"$WORK/pids"
    looks=0
    while kill -0 "$one" 2>/dev/null || kill -0 "$other" 2>/dev/null; do
        echo "$(tail -n 1 "$METRICS/rtf.prom")" >>"$WORK/last"
        looks=$((looks + 1))
        timeout --signal=KILL "0.00$((RANDOM % 9 + 1))" "$RTF_LIBEXEC/front/rtf-metrics" --spool "$SPOOL" --textfile "$METRICS" --group 0 2>/dev/null || true
    done
    [ "$looks" -ge 5 ]
    [ "$(sed 's/ [^ ]*$//' "$WORK/last" | sort -u | wc -l)" -eq 1 ]
    wait "$one" "$other"
    write 1
    [ "$(ls -A "$METRICS")" = rtf.prom ]
    metrics
    counts_as_log "$EVENTS"
}

# bats test_tags=turn:0
@test "5,000 reservations take half a second at most" {
    configure_plugins 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 10000"
    broker_start --max-specs 6000
    as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && i=0; while [ $i -lt 5000 ]; do echo "{\"priority\": 5}" >"n$i-012345678901234567890123456789012345678901234567.json"; i=$((i + 1)); done' sh "$OWN"
    all_answered() { [ "$(find "$OWN" -name '*.verdict' | wc -l)" -eq 5000 ]; }
    eventually all_answered
    eventually status_is '.reservations == 5000'
    metrics
    counts_as_log "$EVENTS"
    [ "$(grep -c '^rtf_reservation_info' "$WORK/samples")" -eq 5000 ]
    # The test measures CPU time, and takes the least of several runs, because other programs run beside rtf-metrics.
    for _ in 1 2 3; do
        for user in 0 $ALICE; do
            TIMEFORMAT='%U %S'
            { time setpriv --reuid $user --regid $user --groups $GROUP env USER=$user "$RTF_LIBEXEC/front/rtf-metrics" --spool "$SPOOL" >/dev/null; } 2>>"$WORK/times.$user"
        done
    done
    for user in 0 $ALICE; do
        ms=$(awk '{ print int(($1 + $2) * 1000) }' "$WORK/times.$user" | sort -n | head -n 1)
        echo "# 5,000 reservations as uid $user: $ms ms" >&3
        [ "$ms" -le $((500 * PATIENCE)) ]
    done
}

@test "the alert rules, the dashboard and the units name metrics and options that there are, and the page has each metric" {
    cd "$RTF_SOURCE/contrib/metrics"
    known=$(sed 's/\\//g' ../../man/rtf-metrics.1.scd | grep -oE '^\*rtf_.*' | grep -oE 'rtf_[a-z_]+' | sort -u)
    names=$(cat rtf.rules.yml grafana.json | grep -oE 'rtf_[a-z_]+' | sed 's/_bucket$//' | sort -u)
    [ -n "$names" ]
    for name in $names; do
        [[ $'\n'$known$'\n' == *$'\n'$name$'\n'* ]] || { echo "$name" >&2; false; }
    done
    jq -e '.panels | length > 5 and all(.[].targets[]; .expr != "")' grafana.json >/dev/null
    if command -v promtool >/dev/null; then promtool check rules rtf.rules.yml; fi
    broker_start
    sleeper $ALICE
    spec $ALICE arm "{\"priority\": 5, \"runtime\": \"1ms\", \"period\": \"10ms\", \"plugin\": \"FP\", \"attach\": $SLEEPER}" >/dev/null
    request 2
    request 30
    rm "$OWN/cam.json"
    eventually test ! -e "$OWN/cam.verdict"
    metrics
    diff <(cut -d '{' -f 1 "$WORK/samples" | sed -E 's/(duration_seconds)_(bucket|sum|count)$/\1/' | sort -u) <(printf '%s\n' "$known") >&2
    # The command of the unit and of cron, with the programs and the directory of this test.
    for file in rtf-metrics.service cron; do
        words=$(sed -n 's,.*/usr/bin/rtf metrics ,,p' "$file")
        # shellcheck disable=SC2086 # words
        set -- $words
        [ "$*" = '--textfile /var/lib/prometheus/node-exporter --group prometheus' ]
    done
    "$RTF_BIN/rtf" --spool "$SPOOL" metrics --textfile "$METRICS" --group 12345
    if command -v systemd-analyze >/dev/null; then
        systemd-analyze verify --man=no ./rtf-metrics.timer 2>&1 | grep -v 'rtf-metrics.service.*/usr/bin/rtf' | lacks . /dev/stdin
    fi
}

@test "page, --help and --version agree" { explains metrics; }
