# An attacker has taken over a plugin, which attacks others by other ways than its answers.
load attack

PLUGIN_USER=$((20098 + ${RTF_UIDS:-0}))

prepare() {
    cp "$BATS_TEST_DIRNAME/../fixtures/plugins/hostile" "$WORK/hostile"
    chmod 755 "$WORK/hostile"
    mkdir -m 755 "$WORK/switch"
    configure_plugins "FP $WORK/hostile 11-20 all good=$RTF_LIBEXEC/plugins/fp switch=$WORK/switch/FP" 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 10" "$BOB - max_utilization 10"
    ATTACKERS=()
}

# taken_over WORD: makes the plugin do this at its next request, and sends a request.
taken_over() {
    echo "$1" >"$WORK/switch/.new"
    mv "$WORK/switch/.new" "$WORK/switch/FP"
    [ "$(field .grant.plugin "$(spec $ALICE "w$RANDOM" '{"priority": 15, "plugin": "FP"}')")" = FP ]
}
said() { sed -n "s/^hostile //p" "$WORK/broker.out"; }
has_said() { said | grep -q "$1"; }
log_of_plugin() { jq -r "select(.stage == \"plugin\" and .plugin == \"FP\" and .decision == \"$1\") | .reason" "$EVENTS"; }
has_logged() { [ "$(log_of_plugin "$1" | wc -l)" -ge "$2" ]; }

# bats test_tags=turn:0
@test "children of a plugin are ordinary, and block no CPU" {
    broker_start --plugin-user $PLUGIN_USER
    is_policy "$(helpers 'hostile name=FP')" fifo
    taken_over children
    eventually all_children_have_spoken
    said | while read -r _ child policy; do
        echo "$child: $policy"
        [ "$policy" = 0 ] # SCHED_OTHER
        [[ $(kernel "$child") == "other 0 nice=0 "* ]]
    done
    # A thread of the lowest real-time priority gets all the CPU time that it wants beside these children.
    run timeout 5 chrt -f 1 /usr/bin/python3 -S -c 'import time
from os import sched_setaffinity, cpu_count
worst = 0
for cpu in range(cpu_count()):
    sched_setaffinity(0, {cpu})
    until = last = time.monotonic()
    while last < until + 0.3:
        now = time.monotonic()
        worst, last = max(worst, now - last), now
print(int(worst * 1000))'
    echo "# worst gap of a thread of priority 1: $output ms" >&3
    [ "$output" -lt 100 ]
}

all_children_have_spoken() { [ "$(said | grep -c '^child')" = "$(nproc)" ]; }

# bats test_tags=turn:1
@test "a plugin that runs in short bursts while nothing is asked is ended, and named" {
    broker_start --plugin-user $PLUGIN_USER
    taken_over bursts
    eventually has_logged killed 1
    [[ $(log_of_plugin killed | head -n 1) == 'it used '*' ms of CPU time, at a priority above all grants, while the broker asked nothing' ]]
    # The reservation is as it was granted.
    rm "$WORK/switch/FP"
    [ "$(field .grant.plugin "$(spec $BOB after '{"priority": 15}')")" != null ]
}

# bats test_tags=turn:2
@test "a plugin that is taken over each time it is started has less than a fifth of a CPU" {
    broker_start --plugin-user $PLUGIN_USER
    taken_over starts
    kill -KILL "$(helpers 'hostile name=FP')"
    eventually has_logged killed 5
    [[ $(log_of_plugin killed | tail -n 1) == 'it used '*' ms of CPU time and has not greeted yet; at the first start it needed less than '* ]]
    # Measures how much time the plugin took from a thread of the lowest real-time priority on the same CPU.
    cpu=$(awk '{ sub(/.*\) /, ""); print $37 }' "/proc/$BROKER/stat")
    run timeout 30 taskset -c "$cpu" chrt -f 1 /usr/bin/python3 -S -c 'import time
lost, last, until = 0.0, time.monotonic(), time.monotonic() + 4
while last < until:
    now = time.monotonic()
    lost, last = lost + (now - last if now - last > 0.002 else 0), now
print(int(lost * 1000))'
    echo "# of 4000 ms, a thread of priority 1 beside it lost $output" >&3
    [ "$output" -lt 800 ]
}

# bats test_tags=turn:0
@test "the broker names a plugin that delays every answer" {
    broker_start --plugin-user $PLUGIN_USER
    taken_over slow
    eventually has_logged warning 1
    run log_of_plugin warning
    echo "$output"
    [[ $output == 'its answer took '*' ms, and all other requests waited; the plugin is killed after '*' ms (timeout=)' ]]
}

# bats test_tags=turn:1
@test "a plugin reaches no socket by its path" {
    broker_start --plugin-user $PLUGIN_USER
    /usr/bin/python3 -S - "$WORK/switch/FP.socket" "$WORK/heard" <<'END' 3>&- &
import os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
while True:
    with open(sys.argv[2], "ab") as heard:
        heard.write(server.recv(100) + b"\n")
END
    echo $! >>"$WORK/pids"
    eventually test -S "$WORK/switch/FP.socket"
    taken_over datagrams
    eventually has_said '^done'
    said
    [ ! -s "$WORK/heard" ]
    [ "$(said | grep -cE '^(datagram|raw|flags)( connects)?: Operation not permitted$')" = 6 ]
}

# bats test_tags=turn:2
@test "a plugin has few processes and little memory, and the others are served" {
    broker_start --plugin-user $PLUGIN_USER
    [ "$(cat "/proc/$(helpers 'hostile name=FP' | head -n 1)/oom_score_adj")" = 1000 ]
    taken_over memory
    eventually has_said '^shared'
    taken_over forks
    eventually has_said '^forked'
    said
    [ "$(said | awk '$1 == "forked" { print $2 }')" -le 128 ]
    [ "$(said | awk '$1 == "private" { print $2 }')" -le 512 ]
    [ "$(said | awk '$3 == "MiB" { sum += $2 } END { print sum }')" -le 1024 ]
    [ "$(field .grant.plugin "$(spec $BOB other '{"priority": 5, "plugin": "RR"}')")" = RR ]
    broker_stop TERM
    eventually nobody_runs
}
nobody_runs() { ! pgrep -u $PLUGIN_USER >/dev/null; }

# bats test_tags=turn:0
@test "a plugin that allocates without end has 512 MiB, is ended and named, and the others are served" {
    broker_start --plugin-user $PLUGIN_USER
    grown=$(helpers 'hostile name=FP')
    taken_over grows
    eventually has_said '^child had'
    eventually has_logged killed 1
    eventually test ! -d "/proc/$grown"
    said
    log_of_plugin killed
    [ "$(said | awk '$2 == "had" { print $3 }')" -le $((512 + 32)) ] # 32 MiB more for the part of the interpreter's files that is in memory
    [ "$(field .grant.plugin "$(spec $BOB after '{"priority": 5, "plugin": "RR"}')")" = RR ]
    rm "$WORK/switch/FP"
    eventually is_served_again
}
is_served_again() { [ "$(field .grant.plugin "$(spec $BOB "w$RANDOM" '{"priority": 15, "plugin": "FP"}')")" = FP ]; }

# bats test_tags=turn:1
@test "a plugin that is asked much, and a plugin that is asked nothing, are not killed" {
    cp "$BATS_TEST_DIRNAME/../fixtures/plugins/faulty" "$WORK/faulty" # a Python program answers slowly
    configure_plugins "FP $WORK/faulty 11-20 all good=$RTF_LIBEXEC/plugins/fp switch=$WORK/switch/FP" 'RR rr 1-10 all'
    broker_start --plugin-user $PLUGIN_USER
    OBSERVED='{"priority": 15, "plugin": "FP"}' REQUESTS=2000
    as $BOB "$BATS_TEST_DIRNAME/observer" "$SPECS/$BOB" $REQUESTS "$OBSERVED"
    [ "$(log_of_plugin killed)" = '' ]
}
