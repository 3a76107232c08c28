# Claims on other resources than CPU time: all claims of a spec are granted together, or none (rtf-spec(5), plugins.conf(5)).

load helper

CAMERA="CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=3"

prepare() {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' 'RR rr 1-10 all' "$CAMERA"
    rules_are "- CAMERA max_amount 9"
}

# Each user may have all CPU time.
rules_are() { configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" "$CAROL - max_utilization 20" "$@"; }

# pool NAME: the used amount of this pool in status.json.
pool() { jq -r --arg name "$1" '.pools[] | select(.name == $name).used' "$SPOOL/status.json"; }
uses() { [ "$(pool "$1")" = "$2" ]; }
books() { invariants >&2; }

both='{"runtime": "2ms", "period": "10ms", "plugin": "EDF", "units": {"count": 2}}'

@test "CPU time and units are granted together, and change and go together" {
    broker_start
    answer=$(spec $ALICE cam "$both")
    told '.result == "OK" and .grant.plugin == "EDF" and .grant.claims == [{"resource": "units", "plugin": "CAMERA", "count": 2, "accepted_count": 2, "desired_count": null}]' "$answer"
    told '[.replies[] | [.plugin, .answer]] == [["CAMERA", "ok"], ["EDF", "ok"]]' "$answer"
    eventually uses CAMERA 2
    eventually uses 'CPU 0 under EDF' 0.2
    told '.grant.claims[0].count == 3' "$(spec $ALICE cam "${both/2\}/3\}}")"
    told '.grant.claims == []' "$(spec $ALICE cam '{"runtime": "2ms", "period": "10ms"}')"
    eventually uses CAMERA 0
    told '.grant.plugin == null and .grant.cpus == null and .grant.claims[0].count == 1 and .grant.utilization == 0' "$(spec $ALICE cam '{"units": {"count": 1}}')"
    eventually uses 'CPU 0 under EDF' 0
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually uses CAMERA 0
}

@test "one claim that cannot be granted refuses the spec: no other claim is held" {
    broker_start
    spec $ALICE cam '{"units": {"count": 2}}' >/dev/null
    answer=$(spec $ALICE two "$both")
    told '.result == "SCHEDULE_FAIL" and .grant == null and .refusal.by == "CAMERA" and .refusal.nearest == 1 and .refusal.retry == "when-freed"' "$answer"
    told '.reason == "CAMERA refused: 2 of 3 are taken"' "$answer"
    # One unit is free, but not 6 ms in 10 ms of CPU time.
    answer=$(spec $ALICE two '{"runtime": "6ms", "period": "10ms", "plugin": "EDF", "units": {"count": 1}}')
    told '.result == "SCHEDULE_FAIL" and .grant == null and .refusal.by == "EDF" and .refusal.nearest == 5000' "$answer"
    told '.grant != null' "$(spec $ALICE three '{"units": {"count": 1}}')"
    books
    # A spec asks for more than the plugin has in all.
    told '.refusal.retry == "never" and .refusal.nearest == null' "$(spec $ALICE four '{"units": {"count": 4, "plugin": "CAMERA"}}')"
}

@test "a change that cannot be had leaves all that was granted before" {
    broker_start
    spec $ALICE cam "$both" >/dev/null
    told '.result == "SCHEDULE_FAIL" and .grant.claims[0].count == 2 and .grant.accepted_runtime == 2000' "$(spec $ALICE cam "${both/2ms/6ms}")"
    told '.result == "SCHEDULE_FAIL" and .refusal.retry == "never" and .grant.claims[0].count == 2' "$(spec $ALICE cam "${both/2\}/4\}}")"
    eventually uses CAMERA 2
    told '.grant != null' "$(spec $CAROL one '{"units": {"count": 1}}')"
    eventually uses CAMERA 3
}

@test "the rules bound amounts, for all and for each" {
    rules_are "- CAMERA max_amount 3" "$BOB CAMERA max_user_amount 1"
    broker_start
    told '.result == "ACL_FAIL" and .refusal.rule == "acl.conf:5: '$BOB' CAMERA max_user_amount 1" and .refusal.nearest == 1' "$(spec $BOB cam '{"units": {"count": 2}}')"
    told '.grant != null' "$(spec $BOB cam '{"units": {"count": 1}}')"
    rules_are "$ALICE CAMERA max_amount 2"
    kill -HUP "$BROKER"
    closed() { told '.result == "ACL_FAIL"' "$(spec $CAROL cam '{"units": {"count": 1}}')" 2>/dev/null; }
    eventually closed
    told '.reason | contains("no rule in acl.conf opens anything (max_amount or max_user_amount)")' "$(spec $CAROL cam '{"units": {"count": 1}}')"
    told '.refusal.asked == "3" and .refusal.available == "2"' "$(spec $ALICE cam '{"units": {"count": 3}}')"
}

@test "a dry run holds nothing, and says what would be granted" {
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "2ms", "period": "10ms", "units": {"count": 3}, "dry_run": true}')
    told '.result == "OK" and .grant == null and .would_grant.plugin == "EDF" and .would_grant.claims[0].count == 3' "$answer"
    told '.result == "OK" and .would_grant.plugin == null' "$(spec $ALICE cam '{"units": {"count": 3}, "dry_run": true}')"
    told '.grant.claims[0].count == 3' "$(spec $ALICE all '{"units": {"count": 3}}')"
    told '.result == "SCHEDULE_FAIL" and .would_grant == null' "$(spec $ALICE cam '{"units": {"count": 1}, "dry_run": true}')"
}

@test "a spec that claims no CPU time has no thread" {
    broker_start
    told '.result == "BAD_SPEC"' "$(spec $ALICE cam '{"units": {"count": 1}, "attach": 1}')"
    told '.grant != null' "$(spec $ALICE cam '{"units": {"count": 1}}')"
    sleeper $ALICE
    as $ALICE sh -c "echo $SLEEPER >'$SPECS/$ALICE/cam.tid'"
    told '.result == "ATTACH_FAIL" and .grant.claims[0].count == 1 and .thread == null' "$(verdict $ALICE cam)"
    # An attached thread does not lose its CPU by a refused change.
    told '.thread.state == "attached"' "$(spec $ALICE arm "{\"runtime\": \"2ms\", \"period\": \"10ms\", \"attach\": $SLEEPER}")"
    as $ALICE rm "$SPECS/$ALICE/arm.json"
    eventually test ! -e "$SPECS/$ALICE/arm.verdict"
}

@test "kill -9 loses no claim, and takes none twice" {
    broker_start
    spec $ALICE cam "$both" >/dev/null
    spec $BOB one '{"units": {"count": 1}}' >/dev/null
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    eventually uses CAMERA 3
    eventually uses 'CPU 0 under EDF' 0.2
    told '.result == "SCHEDULE_FAIL" and .refusal.retry == "when-freed"' "$(spec $CAROL more '{"units": {"count": 1}}')"
    books
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually uses CAMERA 1
    told '.grant != null' "$(spec $CAROL more '{"units": {"count": 2}}')"
    books
}

@test "a plugin that is killed is told again of its grants" {
    broker_start
    spec $ALICE cam "$both" >/dev/null
    pkill -KILL -P "$(launcher)" -f 'name=CAMERA'
    restarted() { grep -q '"decision":"restarted".*"plugin":"CAMERA"' "$EVENTS"; }
    eventually restarted
    told '.refusal.nearest == 1 and .refusal.by == "CAMERA"' "$(spec $CAROL more '{"units": {"count": 2}}')"
    told '.grant != null' "$(spec $CAROL more '{"units": {"count": 1}}')"
}

@test "a plugin that promises more than there is is not believed" {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' "CAMERA $RTF_SOURCE/test/fixtures/plugins/generous - - resource=units capacity=3"
    broker_start
    told '.grant != null' "$(spec $ALICE cam '{"units": {"count": 2}}')"
    answer=$(spec $ALICE two '{"units": {"count": 2}, "runtime": "1ms", "period": "10ms"}')
    told '.grant == null and .refusal.nearest == 1 and (.reason | contains("CAMERA has a capacity of 3, and 2 are promised already"))' "$answer"
    books
}

# The last unit and the last CPU time go to whole specs, in any order: fifty specs at once, each of which asks for one unit of three and for 0.1 of
# 0.5. Other tests set sched_rt_runtime_us, which is compared with the books.
# bats test_tags=machine
@test "of fifty specs that compete for the last capacity, three have both resources, the others nothing" {
    broker_start
    for user in $ALICE $BOB $CAROL; do
        as $user sh -c 'mkdir -p "$1" && cd "$1" && for n in $(seq 17); do
            printf "%s" "{\"runtime\": \"1ms\", \"period\": \"10ms\", \"plugin\": \"EDF\", \"units\": {\"count\": 1}}" >.n && mv .n "t$n.json"; done' sh "$SPECS/$user" &
        drops+=("$!")
    done
    wait "${drops[@]}"
    all_answered() { [ "$(find "$SPECS" -name 't*.verdict' | wc -l)" = 51 ]; }
    eventually all_answered
    granted=$(cat "$SPECS"/*/t*.verdict | jq -s 'map(select(.grant != null)) | length')
    [ "$granted" = 3 ]
    cat "$SPECS"/*/t*.verdict | jq -es 'all(.[]; .grant == null or (.grant.plugin == "EDF" and .grant.claims[0].count == 1))' >/dev/null
    eventually uses CAMERA 3
    eventually uses 'CPU 0 under EDF' 0.3
    books
    for user in $ALICE $BOB $CAROL; do as $user sh -c "rm '$SPECS/$user'/t*.json"; done
    eventually uses CAMERA 0
    eventually uses 'CPU 0 under EDF' 0
    books
}

@test "an amount that one request holds for a moment does not refuse another request" {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5 timeout=9s' "$CAMERA"
    broker_start
    edf=$(helpers 'name=EDF')
    kill -STOP "$edf"
    # The first spec holds all units, and then learns that it cannot have the CPU; the second spec asks for the units, too.
    put $ALICE first '{"runtime": "6ms", "period": "10ms", "units": {"count": 3}}'
    holds() { kill -USR1 "$BROKER"; jq -e 'any(.reservations[]; .name == "first" and .held.CAMERA == 3)' "$SPOOL/state/current/books.json" >/dev/null 2>&1; }
    eventually holds
    put $BOB second '{"units": {"count": 3}}'
    is_asked() { kill -USR1 "$BROKER"; jq -e 'any(.reservations[]; .name == "second" and .busy)' "$SPOOL/state/current/books.json" >/dev/null; }
    eventually is_asked
    kill -CONT "$edf"
    told '.refusal.by == "EDF"' "$(verdict $ALICE first)"
    told '.grant.claims[0].count == 3' "$(verdict $BOB second)"
}

@test "a line for another resource names the resource, and has no word about CPUs" {
    refuses_line() { # LINE SENTENCE
        configure_plugins 'EDF edf - 0 partition=unthrottled' "$1"
        run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
        [ "$status" = 78 ]
        [[ "$output" == *"plugins.conf:2: $2"* ]] || { echo "$output" >&2; return 1; }
    }
    refuses_line 'X edf - - resource=gold capacity=1' 'resource= takes the name of a resource, such as units, not "gold"'
    refuses_line 'X edf - - resource=cpu capacity=1' 'resource= takes the name of a resource'
    refuses_line 'X edf - - resource=units' 'resource=units needs capacity='
    refuses_line 'X edf - - resource=units capacity=0' 'capacity= takes a whole number above 0'
    refuses_line 'X edf 1-9 0 resource=units capacity=1' 'a line with resource=units must have "-" as its priorities and "-" as its CPUs'
    refuses_line 'X edf - 0 capacity=1' 'capacity= needs the word resource= on the same line'
    refuses_line 'X edf - -' 'the CPUs must be "all" or a list such as'
    refuses_line 'X edf - - resource=units capacity=1 partition=cpuset' 'partition=, confine=, enforce=, hrtick= and threshold= are for CPU time'
}
