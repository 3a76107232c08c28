# rtf reload, rtf restart: the broker takes up another configuration. A wrong configuration is refused before anything ends.
load ../helper
load ../command
load front

prepare() { front_prepare; }

rtf_root() { "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }
process() { "$RTF_LIBEXEC/rtf-brokers" --spool "$SPOOL" | cut -f 1; }

# The broker that the command has started is not a child of this test.
tidy() {
    local left
    left=$(process)
    if [ -n "$left" ] && [ "$left" != "$BROKER" ]; then
        kill -TERM "$left"
        eventually is_gone "$left"
    fi
}

@test "reload puts new rules in force; wrong rules cause a message and change nothing" {
    broker_start
    fails 77 'rtf reload: only root may *' rtf reload
    fails 64 'rtf reload: *' rtf_root reload word
    configure_rules "$ALICE - max_utilization 0.1"
    silent rtf_root reload
    logged 1 '.decision == "reloaded"'
    echo 'one word' >>"$CONFIG/acl.conf"
    fails 78 'rtf reload: acl.conf:2: *; the broker goes on as before' rtf_root reload
    logged 1 '.decision == "reloaded"'
    [ "$(process)" = "$BROKER" ]
    # The check has CAP_DAC_OVERRIDE, which the broker has given up.
    configure_rules "$ALICE - max_utilization 0.1"
    chmod 0 "$CONFIG/acl.conf"
    fails 78 'rtf reload: *acl.conf: Permission denied; the rules in force stay' rtf_root reload
}

@test "restart starts a broker with the same options that keeps the grants; a wrong configuration ends no broker" {
    broker_start --max-specs 7
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    eventually is_policy "$SLEEPER" deadline
    fails 77 'rtf restart: only root may *' rtf restart
    cp "$CONFIG/plugins.conf" "$WORK/plugins.conf"
    echo 'one word' >>"$CONFIG/plugins.conf"
    fails 78 'rtf restart: plugins.conf:4: *; the broker goes on as before' rtf_root restart
    cp "$WORK/plugins.conf" "$CONFIG/plugins.conf"
    echo 'NET net - - resource=network interface=nosuch0 rate=10Mbit' >>"$CONFIG/plugins.conf"
    fails 69 'rtf restart: plugins.conf:4: NET would be off: there is no interface nosuch0; *' rtf_root restart
    [ "$(process)" = "$BROKER" ]
    # The broker reads this line only at its start.
    fails 0 'rtf reload: after a restart plugins.conf:4: NET would be off: there is no interface nosuch0' rtf_root reload
    cp "$WORK/plugins.conf" "$CONFIG/plugins.conf"
    cp -r "$CONFIG" "$WORK/other"
    echo 'NET net - - resource=network interface=nosuch0 rate=10Mbit' >>"$WORK/other/plugins.conf"
    fails 69 'rtf restart: plugins.conf:4: NET would be off: there is no interface nosuch0; *' rtf_root restart -- --group "$GROUP" --config "$WORK/other"
    echo 'one word' >>"$WORK/other/plugins.conf"
    fails 78 'rtf restart: plugins.conf:5: *; the broker goes on as before' rtf_root restart -- --group "$GROUP" -c "$WORK/other"
    [ "$(process)" = "$BROKER" ]
    former=$BROKER
    silent rtf_root restart
    wait "$BROKER" || true
    BROKER=
    [ "$(process)" != "$former" ]
    is_policy "$SLEEPER" deadline
    tr '\0' ' ' <"/proc/$(process)/cmdline" | grep -q -e '--max-specs 7 '
    told '.result == "OK"' "$(cat "$SPECS/$ALICE/cam.verdict")"
}

@test "restart --force turns off a line with an interface or a disk that does not exist, and later restarts need no --force" {
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - max_runtime 20ms"
    configure_plugins 'EDF edf - all' 'NET net - - resource=network interface=rtf0 rate=10Mbit' 'SDX disk - - resource=disk device=nosuch throughput=1MB enforce=ioprio'
    unshare --net "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG" >"$WORK/said" 2>&1 || [ $? -eq 69 ]
    diff - "$WORK/said" <<'END'
plugins.conf:2: NET would be off: there is no interface rtf0
plugins.conf:3: SDX would be off: there is no disk nosuch
END
    sed -i s/rtf0/lo/ "$CONFIG/plugins.conf"
    unshare --net sh -c 'tc qdisc add dev lo root pfifo && exec "$@"' sh "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG" >"$WORK/said" 2>&1 || [ $? -eq 69 ]
    grep -q '^plugins.conf:2: NET would be off: interface lo has another root qdisc (pfifo)' "$WORK/said"
    configure_plugins 'EDF edf - all'
    broker_start
    configure_plugins 'EDF edf - all' 'SDX disk - - resource=disk device=nosuch throughput=1MB'
    fails 69 'rtf restart: plugins.conf:2: SDX would be off: there is no disk nosuch; *' rtf_root restart
    [ "$(process)" = "$BROKER" ]
    for option in --force ''; do # the second time, the line is off already
        before=$(process)
        # shellcheck disable=SC2086 # no word, or one word
        fails 0 'rtf restart: plugins.conf:2: SDX would be off: there is no disk nosuch' rtf_root restart $option
        [ "$(process)" != "$before" ]
        [ "$(jq -r '.plugins[] | select(.name == "SDX") | .state' "$SPOOL/status.json")" = off ]
        wait "$BROKER" || true
    done
    BROKER=
}

@test "restart fails beside another restart; reload and restart fail without a broker, and for the spool of a user" {
    broker_start
    exec 8<"$SPOOL/state/broker"
    flock 8
    fails 75 'rtf restart: another rtf restart of * is under way' rtf_root restart
    exec 8<&-
    [ "$(process)" = "$BROKER" ]
    broker_stop TERM
    for command in reload restart; do
        fails 69 "rtf $command: no broker that root has started serves $SPOOL" rtf_root $command
        as $ALICE mkdir -p "$WORK/none" 2>/dev/null || install -d -o $ALICE "$WORK/none" "$WORK/none/specs" "$WORK/none/state"
        fails 69 "rtf $command: no broker that root has started serves $WORK/none" "$RTF_BIN/rtf" --spool "$WORK/none" $command
    done
}
