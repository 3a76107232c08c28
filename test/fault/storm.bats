# bats file_tags=lane:disk
# SIGKILL at random moments of a stream of specs, attachments and removals: broker, launcher, helpers, lookup and
# plugins are killed. FAULT_KILLS: the number of kills; FAULT_SEED: their seed.
load fault

# bats test_tags=turn:2
@test "random kills under load: afterwards all agree, and every thread gets back its former scheduling" { storm; }

# bats test_tags=turn:1
@test "random kills under load with shares of an interface: afterwards it has no class, either" {
    . "$BATS_TEST_DIRNAME/../wire.bash"
    wire_make
    storm net 'NET net - - resource=network interface=rtf0 rate=3553kbit' 'NET max_amount 1000000'
    echo "# $(jq -r 'select(.plugin == "NET" and .stage == "attach") | .tid' "$EVENTS" | wc -l) threads attached to a share" >&3
    eventually has_classes 0
    [ "$(root_qdisc)" = htb ]
    kill -TERM "$BROKER"
    eventually is_gone "$BROKER"
    [ "$(root_qdisc)" != htb ]
}

# bats test_tags=turn:0
@test "random kills under load with shares of a disk: afterwards it has no group, either" {
    . "$BATS_TEST_DIRNAME/../slow-disk.bash"
    truncate -s 64M "$WORK/image"
    disk_of "$WORK/image"
    tidy() { disk_tidy; }
    export RTF_DISK=$DISK
    storm disk "DISK disk - - resource=disk device=$DISK throughput=5800kB" 'DISK max_bandwidth 100MB'
    echo "# $(jq -r 'select(.plugin == "DISK" and .stage == "attach") | .tid' "$EVENTS" | wc -l) threads attached to a share" >&3
    eventually has_groups 0
    for n in "${threads[@]}"; do [ "$(group_of "$n")" = "$(group_of $$)" ]; done
    [ "$(scheduler)" = bfq ]
    kill -TERM "$BROKER"
    eventually is_gone "$BROKER"
    [ "$(scheduler)" = mq-deadline ]
}

storm() { # [HELPER PLUGIN RULE]
    local kills=${FAULT_KILLS:-40} seed=${FAULT_SEED:-1} n victim fatal
    threads=()
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all' \
        "CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=9" "${@:2:1}"
    configure_rules "$ALICE - max_utilization 100" "$ALICE CAMERA max_amount 9" ${3:+"$ALICE $3"}
    broker_start
    for n in 1 2 3 4; do
        sleeper $ALICE
        threads+=("$SLEEPER")
    done
    as $ALICE mkdir -p "$SPECS/$ALICE"
    become $ALICE /usr/bin/python3 -S "$BATS_TEST_DIRNAME/stream" "$SPECS/$ALICE" "$seed" "${threads[@]}" >"$WORK/stream" 2>&1 3>&- &
    local stream=$!
    echo "$stream" >>"$WORK/pids"
    RANDOM=$seed
    for ((n = 0; n < kills; n++)); do
        sleep "0.0$((RANDOM % 60 + 10))"
        fatal= # 1: the kill ends the broker, which also ends when its launcher is killed
        case $((RANDOM % ($# > 0 ? 8 : 6))) in
        0 | 1) victim=$BROKER fatal=1 ;;
        2) victim=$(launcher || true) fatal=1 ;;
        3) victim=$(helpers rtf-attach || true) ;;
        4) victim=$(helpers ' name=' | shuf -n 1 --random-source=<(yes $n) || true) ;;
        5) victim=$(helpers rtf-names || true) ;;
        6 | 7) victim=$(helpers "rtf-$1" || true) ;;
        esac
        [ -n "$victim" ] || continue # the program is being started again
        kill -KILL "$victim" 2>/dev/null || true
        [ -z "$fatal" ] || eventually is_gone "$BROKER"
        if is_gone "$BROKER"; then broker_is_back; fi
    done
    kill -TERM "$stream"
    wait "$stream" || true
    cat "$WORK/stream"
    ends
    for n in "${threads[@]}"; do
        run kernel "$n"
        [ "$output" = "$ORDINARY" ] || { echo "thread $n: $output"; grep "$n" "$EVENTS" | tail -n 30; return 1; }
    done
    echo "# $kills kills, seed $seed" >&3
}

ends() {
    if is_gone "$BROKER"; then broker_is_back; fi
    eventually agree_now
    as $ALICE sh -c 'rm -f "$1"/*.json "$1"/*.tid' sh "$SPECS/$ALICE"
    eventually nothing_is_left
    eventually agree_now
}
agree_now() { invariants; }
nothing_is_left() { [ -z "$(find "$SPECS/$ALICE" -name '*.verdict')" ]; }
