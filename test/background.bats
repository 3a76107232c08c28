# bats file_tags=lane:disk
# Claims without a guarantee, "background" in rtf-spec(5): they need a line and a rule, and nothing else. They change neither the classes of an interface
# nor the groups of a disk.

load helper
load command
load wire
load slow-disk

prepare() {
    near=
    truncate -s 64M "$WORK/image"
    disk_of "$WORK/image"
    NET='NET net - - resource=network interface=rtf0 rate=3553kbit'
    DISKS="DISK disk - - resource=disk device=$DISK throughput=5800kB"
    CAMERA="CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=10"
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' "$NET" "$DISKS" "$CAMERA"
    rules_are '- NET max_amount 1000000' '- DISK max_bandwidth 100MB' '- CAMERA max_amount 10'
    wire_make
}

tidy() { disk_tidy; }

rules_are() { configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" "$@"; }
uses() { [ "$(jq -r --arg name "$1" '.pools[] | select(.name == $name).used' "$SPOOL/status.json")" = "$2" ]; }
beside() { [ "$(jq -c '[.plugins[].background]' "$SPOOL/status.json")" = "$1" ]; }
books() { invariants >&2; }
shows_nothing() { has_classes 0 && has_groups 0; }
is_where_it_was() { [ "$(group_of "$SLEEPER")" = "$(group_of $$)" ]; }
is_in_a_group() { [[ $(group_of "$SLEEPER") == /rtf-disk/c* ]]; }

net='"network": {"background": true}' disk='"disk": {"background": true}'
in_net='{"resource": "network", "plugin": "NET", "interface": "rtf0", "background": true}'
in_disk() { echo '{"resource": "disk", "plugin": "DISK", "device": "'"$DISK"'", "background": true}'; }

@test "nothing is asked, held or kept, and a thread goes as before" {
    broker_start
    sleeper $ALICE
    told '.result == "OK" and .reason == "NET admits the spec without a guarantee" and .replies == [] and .grant.plugin == null and .grant.utilization == 0 and .grant.claims == ['"$in_net"', '"$(in_disk)"']' \
        "$(spec $ALICE cam "{$net, $disk}")"
    attach $ALICE cam "$SLEEPER"
    told '.thread.state == "attached" and (.grant.claims | length) == 2' "$(cat "$SPECS/$ALICE/cam.verdict")"
    shows_nothing
    is_where_it_was
    chrt -p "$SLEEPER" | grep -q SCHED_OTHER
    books
    eventually uses NET 0
    eventually uses DISK 0
    eventually beside '[null,1,1,null]'
    told '.would_grant.claims == ['"$in_net"'] and .grant == null' "$(spec $ALICE dry "{$net, \"dry_run\": true}")"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    eventually beside '[null,0,0,null]'
    [ -d "/proc/$SLEEPER" ]
    books
}

@test "a background claim is granted though all is promised, and though a sum of the rules is used up" {
    rules_are '- NET max_amount 444125' '- DISK max_bandwidth 100MB'
    broker_start
    told '.result == "OK"' "$(spec $BOB all '{"network": {"bandwidth": "3250kbit"}}')"
    told '.grant == null' "$(spec $ALICE cam '{"network": {"bandwidth": "1Mbit"}}')"
    told '.grant != null' "$(spec $ALICE cam "{$net}")"
    has_classes 1
    books
}

@test "a change makes a background claim a guarantee and back, for the attached thread; a refused change leaves it as it was" {
    broker_start
    sleeper $ALICE
    told '.thread.state == "attached"' "$(spec $ALICE cam "{$net, $disk, \"attach\": $SLEEPER}")"
    told '.thread.state == "attached" and ([.grant.claims[] | .background] == [null, null])' \
        "$(spec $ALICE cam "{\"network\": {\"bytes\": 1024, \"period\": \"20ms\"}, \"disk\": {\"bytes\": \"32KiB\", \"period\": \"50ms\"}, \"attach\": $SLEEPER}")"
    has_classes 1
    is_in_a_group
    books
    told '.result == "SCHEDULE_FAIL" and .refusal.by == "DISK" and (.grant.claims | length) == 2' \
        "$(spec $ALICE cam "{$net, \"disk\": {\"bandwidth\": \"90MB\"}, \"attach\": $SLEEPER}")"
    has_classes 1
    is_in_a_group
    # The claim on the disk has a guarantee, then the claim on the network.
    told '.thread.state == "attached" and .grant.claims[1].background' \
        "$(spec $ALICE cam "{$net, \"disk\": {\"bytes\": \"32KiB\", \"period\": \"50ms\"}, \"attach\": $SLEEPER}")"
    eventually has_classes 0
    is_in_a_group
    eventually uses NET 0
    told '.thread.state == "attached"' "$(spec $ALICE cam "{$net, $disk, \"attach\": $SLEEPER}")"
    eventually shows_nothing
    is_where_it_was
    eventually uses DISK 0
    eventually beside '[null,1,1,null]'
    books
    told '.result == "SCHEDULE_FAIL" and [.grant.claims[].background] == [true, true]' "$(spec $ALICE cam "{$net, \"disk\": {\"bandwidth\": \"90MB\"}, \"attach\": $SLEEPER}")"
    shows_nothing
    # The share that the claim has given up is free for another spec.
    told '.result == "OK"' "$(spec $BOB all '{"network": {"bandwidth": "3250kbit"}}')"
}

@test "CPU time with a guarantee and a disk without, granted together or not at all" {
    broker_start
    sleeper $ALICE
    told '.grant.plugin == "EDF" and .grant.claims == ['"$(in_disk)"'] and .thread.state == "attached"' \
        "$(spec $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"10ms\", $disk, \"attach\": $SLEEPER}")"
    chrt -p "$SLEEPER" | grep -q SCHED_DEADLINE
    shows_nothing
    is_where_it_was
    books
    told '.grant == null and .refusal.by == "EDF"' "$(spec $BOB cam "{\"runtime\": \"9ms\", \"period\": \"10ms\", $disk}")"
    told '.grant == null and .refusal.by == "NET"' "$(spec $BOB cam '{"runtime": "1ms", "period": "10ms", '"$disk"', "network": {"bandwidth": "3600kbit"}}')"
    told '.grant.claims[0].bytes == 1024 and .grant.claims[1].background' "$(spec $BOB cam '{"network": {"bytes": 1024, "period": "20ms"}, '"$disk"'}')"
    has_classes 1
    has_groups 0
    books
}

@test "a background claim is denied by default: without a line, without a rule, by a rule that closes the line" {
    rules_are "$ALICE NET max_amount 1000" "$BOB NET max_amount 0" "$BOB DISK min_period 5ms"
    broker_start
    told '.result == "ACL_FAIL" and .grant == null and .refusal.code == "not-opened" and .refusal.retry == "never" and (.reason | contains("no rule in acl.conf opens anything"))' \
        "$(spec $ALICE cam "{$disk}")"
    told '.result == "ACL_FAIL" and .refusal.code == "not-opened"' "$(spec $BOB cam "{$disk}")"
    told '.result == "ACL_FAIL" and .refusal.code == "beyond-rule" and .refusal.rule == "acl.conf:4: '$BOB' NET max_amount 0"' "$(spec $BOB cam "{$net}")"
    told '.result == "ACL_FAIL" and .grant == null' "$(spec $ALICE two "{$net, $disk}")"
    told '.result == "OK"' "$(spec $ALICE two '{"network": {"background": true, "interface": "rtf0", "plugin": "NET"}}')"
    told '.grant.claims[0].plugin == "NET" and .refusal.code == "no-plugin"' "$(spec $ALICE two '{"network": {"background": true, "interface": "eth9"}}')"
    told '.refusal.code == "no-plugin" and (.reason | contains("no plugin \"DISK\" for network"))' "$(spec $ALICE cam '{"network": {"background": true, "plugin": "DISK"}}')"
    # Rules about periods and blocks are about the asked values.
    rules_are '- DISK max_bandwidth 1' '- DISK min_period 5ms' '- DISK min_block 4KiB'
    kill -HUP "$BROKER"
    is_open() { told '.result == "OK"' "$(spec $ALICE cam "{$disk}")" 2>/dev/null; }
    eventually is_open
    shows_nothing
}

@test "kill -9 keeps a background claim; without its line the claim ends" {
    broker_start
    sleeper $ALICE
    told '.thread.state == "attached"' "$(spec $ALICE cam "{$net, $disk, \"attach\": $SLEEPER}")"
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    books
    told '[.grant.claims[].background] == [true, true] and .thread.state == "attached"' "$(cat "$SPECS/$ALICE/cam.verdict")"
    shows_nothing
    is_where_it_was
    kill -KILL "$(helpers 'rtf-net --serve')"
    is_back() { [ -n "$(helpers 'rtf-net --serve')" ]; }
    eventually is_back
    has_classes 0
    broker_stop TERM
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' "$DISKS"
    rules_are '- DISK max_bandwidth 100MB'
    broker_start
    lost() { jq -e '.grant == null and .refusal.code == "no-plugin"' "$SPECS/$ALICE/cam.verdict" >/dev/null; }
    eventually lost
    books
}

@test "other desired amounts of a spec go up and down, and its background claim stays" {
    broker_start
    spec $ALICE cam '{"units": {"count": 2, "desired_count": 8}, '"$net"'}' >/dev/null
    has() { jq -e '.request == "update" and .grant.claims[0].accepted_count == '"$1"' and .grant.claims[1].background' "$SPECS/$ALICE/cam.verdict" >/dev/null; }
    eventually has 8
    books
    told '.result == "OK"' "$(spec $BOB five '{"units": {"count": 5}}')"
    eventually has 5
    books
    has_classes 0
}

@test "a background claim stands beside modes, and is the same in all modes" {
    broker_start
    modes='"runtime": "2ms", "period": "10ms", "modes": {"hd": {"runtime": "4ms"}, "sd": {}}, "mode"'
    told '.grant.mode == "sd" and .grant.claims[0].background' "$(spec $ALICE cam "{$modes: \"sd\", $net}")"
    told '.grant.mode == "hd" and .grant.claims[0].background' "$(spec $ALICE cam "{$modes: \"hd\", $net}")"
    told '.result == "BAD_SPEC" and (.reason | contains("is a claim without a guarantee"))' \
        "$(spec $ALICE other '{"modes": {"hd": {"network": {"bytes": 5}}}, "mode": "hd", '"$net"'}')"
    books
}

@test "rtf-run, rtf declare, change and what-if take the word for a background claim" {
    broker_start
    rtf() { as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }
    granted() { jq -e ".result == \"OK\" and .grant.claims == [$2]" "$SPECS/$ALICE/$1.verdict" >/dev/null; }
    become $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --name job --disk "/dev/$DISK:background" --net rtf0:background -- sleep 300 3>&- &
    running=$!
    echo "$running" >>"$WORK/pids"
    has_begun() { [ "$(cat "/proc/$running/comm")" = sleep ]; }
    eventually has_begun
    granted job "$in_net, $(in_disk)"
    shows_nothing
    [ "$(rtf show job | sed -n 's/^granted *//p')" = 'granted, NET in the background, DISK in the background' ]
    kill -KILL "$running"
    eventually test ! -e "$SPECS/$ALICE/job.json"
    rtf declare cam --disk background --net background
    granted cam "$in_net, $(in_disk)"
    rtf change cam --net rtf0:1024B/20ms
    has_classes 1
    rtf change cam --net rtf0:background
    granted cam "$in_net, $(in_disk)"
    eventually has_classes 0
    [ "$(rtf what-if -T 1ms -P 10ms --disk "$DISK:background" | tail -n 1)" = 'EDF would grant 1ms of each 10ms on CPU 0, 0.1 of a CPU, DISK in the background' ]
    run as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" declare other --disk "$DISK:background,block=4KiB"
    [ "$status" = 65 ]
    [[ "$output" == *'has the key "block" beside "background"'* ]]
}
