# rtf acl shows the rules for a user; rtf revoke ends grants under the rules.
load ../helper
load ../command
load front

prepare() {
    cp "$RTF_SOURCE/contrib/plugins/units" "$WORK" # the plugins' user can read this directory
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' "CAMERA $WORK/units - - resource=units capacity=3"
    configure_rules "$ALICE - max_utilization 0.5 # a comment" "$ALICE EDF max_user_utilization 0.25" "$ALICE - max_runtime 20ms" "$BOB FP max_utilization 0" \
        "$BOB EDF max_utilization 0.3" "$ALICE CAMERA max_amount 3" "- - max_period 1s"
    OWN=$SPECS/$ALICE
}

rtf_root() { "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }
acl() { rtf_root acl --config "$CONFIG" "$@"; }

@test "rtf acl check accepts a right file, refuses a wrong file, and warns of a suspicious file" {
    silent acl check
    echo "nobody-here - max_utilization 1" >>"$CONFIG/acl.conf"
    prints 1 acl check
    out '*acl.conf:8: nobody-here *: the account database knows no such user*'
    prints 1 acl check --json
    says '.correct and (.says | length == 1)'
    # Now the command checks a named file instead of the current one.
    printf '%s\n' "$ALICE NONE max_utilization 1" >"$WORK/new"
    fails 78 "rtf acl: $WORK/new:1: plugins.conf has no plugin \"NONE\"; - means any" acl check "$WORK/new"
    prints 78 acl check --json "$WORK/new"
    says '.correct == false and (.says | length == 1)'
    printf '%s\n' "$ALICE - max_utilization 1" "$ALICE - max_runtime 20ms" >"$WORK/new"
    silent acl check "$WORK/new"
    chmod 666 "$WORK/new"
    fails 78 "rtf acl: $WORK/new: must be a regular file of root's that nobody else can write*" acl check "$WORK/new"
    fails 66 'rtf acl: * cannot be read' acl check "$WORK/none"
}

@test "explain and lint show that a bandwidth opens, and that a block and a period of a claim bound" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'SDA disk - - resource=disk device=sda throughput=5MB enforce=none' \
        'NET net - - resource=network interface=rtf0 rate=100Mbit enforce=none'
    configure_rules "$ALICE SDA max_bandwidth 2MB" "$ALICE SDA max_user_bandwidth 1MB" "$ALICE SDA min_block 16KiB" "$ALICE SDA max_period 1s" "$ALICE NET max_bandwidth 1234567bit"
    silent acl check
    broker_start
    claim() { printf '{"disk": {"bytes": "32KiB", "period": "%s", "block": "%s"}}' "$1" "$2"; }
    told '.grant != null' "$(spec $ALICE rec "$(claim 50ms 32KiB)")"
    told '.result == "ACL_FAIL" and .refusal.retry == "never" and .refusal.nearest == null and (.reason | endswith("SDA min_block 16KiB: 4096B asked"))' \
        "$(spec $ALICE small '{"disk": {"bytes": "8KiB", "period": "50ms"}}')"
    told '.result == "ACL_FAIL" and (.reason | endswith("SDA max_period 1s: 1000001us asked"))' "$(spec $ALICE long "$(claim 1000001us 16KiB)")"
    prints 0 acl explain $ALICE SDA
    diff "$WORK/out" - <<END
uid $ALICE on SDA: up to 1000000 in all, 344640 left
  acl.conf:1: $ALICE SDA max_bandwidth 2MB: opens, 655360 used, 1344640 left
  acl.conf:2: $ALICE SDA max_user_bandwidth 1MB: opens, 655360 used, 344640 left
  acl.conf:3: $ALICE SDA min_block 16KiB: bounds
  acl.conf:4: $ALICE SDA max_period 1s: bounds
END
    prints 0 acl explain $ALICE NET
    out "uid $ALICE on NET: up to 154320 in all, 154320 left*"
    printf '%s\n' "$ALICE SDA max_block 1MiB" >"$WORK/new"
    prints 1 acl check "$WORK/new"
    out '*max_block 1MiB: this bounds, but no rule opens anything there (max_amount or max_bandwidth)*'
}

@test "explain says that a rule of yes or no opens or closes" {
    configure_rules "$ALICE - max_utilization 0.5" '- - trace true' '- - ignore_adm_test false' '- - reclaim true'
    prints 0 acl explain $ALICE EDF
    out '*acl.conf:2: - - trace true: opens*acl.conf:3: - - ignore_adm_test false: closes*acl.conf:4: - - reclaim true: opens*'
}

# bats test_tags=turn:1
@test "explain shows how many threads a user has of max_user_threads, to root and to the user" {
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE EDF max_user_threads 3"
    broker_start
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms", "plugin": "EDF"}' >/dev/null
    prints 0 acl explain $ALICE EDF
    out "*acl.conf:2: $ALICE EDF max_user_threads 3: bounds, 1 used, 2 left"
    says="$(as $ALICE "$RTF_BIN/rtf" --spool "$SPOOL" acl explain $ALICE EDF)"
    [[ $says = *"acl.conf:2: $ALICE EDF max_user_threads 3: bounds, 1 used, 2 left" ]]
    broker_stop TERM
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE EDF max_user_threads tick"
    prints 0 acl explain $ALICE EDF # only a broker knows what tick stands for
    out "*acl.conf:2: $ALICE EDF max_user_threads tick: bounds"
    broker_start
    prints 0 acl explain $ALICE EDF
    out "*acl.conf:2: $ALICE EDF max_user_threads tick: bounds, 1 used, *[0-9] left"
}

# bats test_tags=turn:1
@test "explain shows each rule for a user and a plugin, with the used and the remaining amount" {
    broker_start
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms", "plugin": "EDF"}' >/dev/null
    spec $ALICE arm '{"priority": 15, "runtime": "4ms", "period": "20ms", "plugin": "FP"}' >/dev/null
    prints 0 acl explain $ALICE EDF
    diff "$WORK/out" - <<END
uid $ALICE on EDF: up to 0.25 in all, 0.15 left
  acl.conf:1: $ALICE - max_utilization 0.5: opens, 0.3 used, 0.2 left
  acl.conf:2: $ALICE EDF max_user_utilization 0.25: opens, 0.1 used, 0.15 left
  acl.conf:3: $ALICE - max_runtime 20ms: bounds
  acl.conf:7: - - max_period 1s: bounds
END
    prints 0 acl explain $ALICE --json
    [ "$(jq -r '"\(.plugin) \(.may) \(.most) \(.left)"' "$WORK/out" | paste -sd ,)" = 'EDF true 0.25 0.15,FP true 0.5 0.2,CAMERA true 3 3' ]
    # The broker decides in the same way.
    [ "$(field .result "$(spec $ALICE more '{"runtime": "3ms", "period": "20ms", "plugin": "EDF"}')")" = OK ]
    prints 0 acl explain $ALICE edf
    out "uid $ALICE on EDF: up to 0.25 in all, 0 left*"
    [ "$(field .refusal.code "$(spec $ALICE most '{"runtime": "4ms", "period": "1s", "plugin": "EDF"}')")" = rule-used-up ]
    prints 0 acl explain $BOB
    out "*uid $BOB on FP: nothing, for a rule closes it
  acl.conf:4: $BOB FP max_utilization 0: closes, 0 used, 0 left*"
    prints 0 acl explain $CAROL EDF
    out "uid $CAROL on EDF: nothing, for not in the group of the spool*"
    prints 0 acl explain root EDF
    out 'root on EDF: anything: root is not restricted'
}

# bats test_tags=turn:0
@test "explain shows how much groups and users have of their sums, by name and by number, and of bandwidths" {
    cp /etc/group "$WORK/group"
    cp /etc/passwd "$WORK/passwd"
    echo "rtftest:x:$GROUP:rtfann" >>"$WORK/group"
    echo "rtfann:x:$ALICE:$ALICE::/:/bin/sh" >>"$WORK/passwd"
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'NET net - - resource=network interface=rtf0 rate=100Mbit threshold=1 enforce=none'
    configure_rules '@rtftest - max_utilization 0.5' "@$GROUP - max_utilization 0.4" 'rtfann EDF max_utilization 0.3' "$ALICE EDF max_utilization 0.25" \
        '- NET max_bandwidth 10Mbit' '@rtftest NET max_user_bandwidth 640kB'
    cat >"$WORK/script" <<'END'
mount --bind "$WORK/group" /etc/group
mount --bind "$WORK/passwd" /etc/passwd
"$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} >"$WORK/broker.out" 2>&1 &
trap 'kill $!; wait $!' EXIT
until dd if=/dev/null of="$SPOOL/alive" oflag=nonblock conv=notrunc,nocreat 2>/dev/null; do kill -0 $!; sleep 0.01; done
setpriv --reuid "$ALICE" --regid "$ALICE" --groups "$GROUP" env USER=rtfann "$RTF_BIN/rtf" --spool "$SPOOL" declare cam -T 2ms -P 20ms --net rtf0:1208B/20ms
"$RTF_BIN/rtf" --spool "$SPOOL" acl --config "$CONFIG" explain rtfann
END
    export WORK SPOOL CONFIG GROUP ALICE
    prints 0 unshare --mount --propagation private sh -eu "$WORK/script" 3>&-
    diff "$WORK/out" - <<END
rtfann on EDF: up to 0.25 in all, 0.15 left
  acl.conf:1: @rtftest - max_utilization 0.5: opens, 0.1 used, 0.4 left
  acl.conf:2: @$GROUP - max_utilization 0.4: opens, 0.1 used, 0.3 left
  acl.conf:3: rtfann EDF max_utilization 0.3: opens, 0.1 used, 0.2 left
  acl.conf:4: $ALICE EDF max_utilization 0.25: opens, 0.1 used, 0.15 left
rtfann on NET: up to 640000 in all, 577500 left
  acl.conf:5: - NET max_bandwidth 10Mbit: opens, 62500 used, 1187500 left
  acl.conf:6: @rtftest NET max_user_bandwidth 640kB: opens, 62500 used, 577500 left
END
}

# bats test_tags=turn:2
@test "explain shows a user their own rules and what is left of each; without a broker only the rules" {
    prints 0 acl explain $ALICE EDF
    out "uid $ALICE on EDF: up to 0.25 in all
*max_utilization 0.5: opens
*"
    broker_start
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms", "plugin": "EDF"}' >/dev/null
    prints 0 rtf_of $ALICE acl --config "$CONFIG" explain
    sed -n 1p "$WORK/out" | grep -qx "uid $ALICE on EDF: up to 0.25 in all, 0.15 left"
    ls "$OWN" | sort | diff - <(printf 'cam.json\ncam.verdict\n')
    prints 0 rtf_of $BOB acl --config "$CONFIG" explain $ALICE EDF
    sed -n 1p "$WORK/out" | grep -qx "uid $ALICE on EDF: up to 0.25 in all"
}

# bats test_tags=turn:0
@test "rtf acl who lists users and their rules, in columns and for programs" {
    broker_start
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms", "plugin": "EDF"}' >/dev/null
    prints 0 acl who --json
    [ "$(jq -r '"\(.uid) \(.plugin) \(.most) \(.left)"' "$WORK/out" | paste -sd ,)" = "$ALICE EDF 0.25 0.15,$ALICE FP 0.5 0.4,$ALICE CAMERA 3 3,$BOB EDF 0.3 0.3" ]
    prints 0 acl who edf
    head -n 1 "$WORK/out" | grep -qE '^USER +PLUGIN +IN ALL +LEFT$'
    [ "$(wc -l <"$WORK/out")" -eq 3 ]
    prints 0 acl who FP --noheadings
    tr -s ' ' <"$WORK/out" | grep -qx "uid $ALICE FP 0.5 0.4"
    # The account database names the members of the group.
    cp /etc/group "$WORK/group"
    cp /etc/passwd "$WORK/passwd"
    echo "rtftest:x:$GROUP:rtfann" >>"$WORK/group"
    echo "rtfann:x:$CAROL:$CAROL::/:/bin/sh" >>"$WORK/passwd"
    echo "@rtftest EDF max_utilization 0.125" >>"$CONFIG/acl.conf"
    silent rtf_root reload
    unshare --mount --propagation private sh -eu -c 'mount --bind "$1/group" /etc/group && mount --bind "$1/passwd" /etc/passwd && shift && exec "$@"' sh "$WORK" \
        "$RTF_BIN/rtf" --spool "$SPOOL" acl who EDF --config "$CONFIG" --json >"$WORK/out"
    [ "$(jq -r 'select(.user == "rtfann") | "\(.plugin) \(.most)"' "$WORK/out")" = 'EDF 0.125' ]
}

# bats test_tags=turn:1
@test "rtf acl refuses wrong usage" {
    explains acl
    fails 64 'rtf acl: one of check, explain and who is missing*' acl
    fails 64 'rtf acl: ask is not one of check, explain and who*' acl ask
    fails 64 'rtf acl: there is no plugin NONE: there are EDF FP CAMERA' acl explain $ALICE NONE
    fails 64 'rtf acl: there is no plugin NONE: there are EDF FP CAMERA' acl who NONE
    fails 67 'rtf acl: there is no user nobody-here' acl explain nobody-here
    fails 66 'rtf acl: */acl.conf cannot be read' rtf_root acl --config "$WORK/none" who
}

# differs FILE: the message about this file on standard error.
differs() { sed -n "s/^rtf [a-z]*: $1/$1/p" "$WORK/err"; }

@test "explain, who and plugins show what is in force, and where the files differ; a copy is explained as it is" {
    broker_start
    acl explain $ALICE EDF >"$WORK/before" 2>"$WORK/err"
    [ ! -s "$WORK/err" ]
    cp -r "$CONFIG" "$WORK/copy"
    # A comment moves lines, and blanks do not change a rule.
    sed -i -e '1i # more' -e '1s/ /   /' -e 's/EDF max_user_utilization 0.25/EDF max_user_utilization 0.125/' "$CONFIG/acl.conf"
    echo 'RR rr 1-5 all' >>"$CONFIG/plugins.conf"
    for who in rtf_root "rtf_of $ALICE"; do
        $who acl explain $ALICE EDF >"$WORK/out" 2>"$WORK/err"
        [ "$(differs acl.conf)" = "acl.conf:3: \"$ALICE EDF max_user_utilization 0.125\" is not in force before rtf reload
acl.conf: \"$ALICE EDF max_user_utilization 0.25\" has been removed, and stays in force until rtf reload" ]
        [ "$(differs plugins.conf)" = 'plugins.conf:4: "RR rr 1-5 all" is not in force before rtf restart' ]
        sed 's/, [0-9.]* left$//' "$WORK/before" | diff <(sed 's/, [0-9.]* left$//' "$WORK/out") -
        $who plugins >"$WORK/out" 2>"$WORK/err"
        run ! grep -w RR "$WORK/out"
        [ "$(differs plugins.conf)" = 'plugins.conf:4: "RR rr 1-5 all" is not in force before rtf restart' ]
    done
    acl who EDF --json >"$WORK/out" 2>"$WORK/err"
    [ "$(jq -r "select(.uid == $ALICE) | .most" "$WORK/out")" = 0.25 ]
    [ -n "$(differs acl.conf)" ]
    sed -i 's/EDF max_user_utilization 0.25/EDF max_user_utilization 0.0625/' "$WORK/copy/acl.conf"
    prints 0 rtf_root acl explain $ALICE EDF --config "$WORK/copy"
    head -n 1 "$WORK/out" | grep -qx "uid $ALICE on EDF: up to 0.0625 in all.*"
    sed -i '$d' "$CONFIG/plugins.conf"
    silent rtf_root reload
    prints 0 acl explain $ALICE EDF # the new rule holds at once
    head -n 1 "$WORK/out" | grep -qx "uid $ALICE on EDF: up to 0.125 in all.*"
    sed -i '1{h;d};$G' "$CONFIG/plugins.conf"
    rtf_root plugins 2>"$WORK/err" >&2
    [ "$(differs plugins.conf)" = 'plugins.conf: its lines have another order, which is not in force before rtf restart' ]
}

@test "explain and who read lines that end with CR LF as the same rules" {
    acl explain $ALICE >"$WORK/explained" && acl who >"$WORK/those"
    sed -i 's/$/\r/' "$CONFIG/acl.conf" "$CONFIG/plugins.conf"
    prints 0 acl explain $ALICE
    diff "$WORK/out" "$WORK/explained"
    prints 0 acl who
    diff "$WORK/out" "$WORK/those"
}
