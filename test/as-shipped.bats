# The commands that README, the manual pages and the examples show succeed under the configuration that etc/ ships. More tests under this configuration
# are in front/readme.bats, examples.bats, python.bats and front/preload.bats.
load helper
load front/front

prepare() {
    front_prepare
    configure_as_shipped
    mkdir "$WORK/bin" "$WORK/home"
    for name in rtf rtf-run rtf-wait; do printf '#!/bin/sh\nexec %s --spool %s "$@"\n' "$RTF_BIN/$name" "$SPOOL" >"$WORK/bin/$name"; done
    for name in sample COMMAND; do printf '#!/bin/sh\necho sampled\n' >"$WORK/home/$name"; done
    chmod 755 "$WORK"/bin/* "$WORK"/home/*
    chown -R $ALICE "$WORK/home"
}

# typed FILE: Alice runs this script, and errors are fatal. $WORK/out has the output.
typed() {
    as $ALICE env -C "$WORK/home" PATH="$WORK/bin:/usr/bin:/bin" HOME="$WORK/home" USER=$ALICE LD_LIBRARY_PATH="$RTF_STAGE/usr/lib" RTF_SPOOL="$SPOOL" timeout 60 \
        sh -eu "$1" </dev/null >"$WORK/out" 2>&1 || { cat "$1" "$WORK/out" >&2; return 1; }
}

@test "the program in the SYNOPSIS of rtf(3)" {
    awk '/^# / { inside = $0 == "# SYNOPSIS" } !inside { next } /^```/ { literal = !literal; count += literal; next } literal && count == 2' "$RTF_SOURCE/man/rtf.3.scd" |
        sed 's/\\\\/\\/g' >"$WORK/program.c"
    # shellcheck disable=SC2046 # flags
    cc "$WORK/program.c" -o "$WORK/home/program" $(PKG_CONFIG_PATH=$RTF_STAGE/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$RTF_STAGE pkg-config --cflags --libs librtf)
    broker_start
    echo ./program >"$WORK/script"
    typed "$WORK/script"
    out 'deadline, missed: [0-9]*'
}

@test "the commands within sentences of README.md that ask for something" {
    command -v cyclictest >/dev/null || skip 'cyclictest is not here'
    grep -oE '`rtf [a-z]+ [^`]*-T [^`]*`' "$RTF_SOURCE/README.md" | tr -d '`' | sort -u >"$WORK/commands"
    [ "$(wc -l <"$WORK/commands")" -eq 4 ]
    broker_start
    sleeper $ALICE
    # The commands run for a moment each, one after another, because they share half a CPU.
    sed -e "s/-p PID -a/-p $SLEEPER -a; chrt -p $SLEEPER; rtf release '*'/" -e 's/^rtf every/& --count 2/' -e 's/cyclictest/& -l 20 -q/' "$WORK/commands" >"$WORK/script"
    typed "$WORK/script"
    grep -q SCHED_DEADLINE "$WORK/out"
    grep -qx sampled "$WORK/out"
    grep -q '^T: 0' "$WORK/out"
    lacks 'does not get' "$WORK/out"
}

@test "the commands of rtf on contrib/papers.md" {
    broker_start
    sed -nE 's/^\|.* `(rtf(-run)? (what-if|declare|change|show|ls|plugins|learn|usage|every|attach|-T) ?[^`]*)` \|$/\1/p' "$RTF_SOURCE/contrib/papers.md" | sort -u >"$WORK/commands"
    [ "$(wc -l <"$WORK/commands")" -ge 15 ]
    # cam is a reservation with a thread, as the page says; on few CPUs a user may not have more EDF threads than these two at a time
    { sed -n 's/.*`\(rtf declare cam -T [^`]*\)`.*/\1/p' "$RTF_SOURCE/contrib/papers.md"; sed 's/^rtf declare \(cam[0-9]\).*/&; rtf release \1/' "$WORK/commands"; } >"$WORK/script"
    typed "$WORK/script"
}

# asked: prints each pair of runtime and period that the pages show together, as options or in a spec: a line each, "-T 10ms -P 100ms".
asked() {
    grep -hoE -- '-T [0-9]+(us|ms) -P [0-9]+(us|ms)|"runtime": "[0-9]+ms", "period": "[0-9]+ms"[^"]*["}]' \
        "$RTF_SOURCE"/{README.md,man/rtf.[0-9].scd,man/rtf-{run,declare,attach,change,every,wait,what-if,show,ls,spec}.[0-9].scd,contrib/examples/*} |
        sed -E -e 's/.*"runtime": "([0-9]+ms)", "period": "([0-9]+ms)".*/-T \1 -P \2/' | sort -u
}

@test "the specs that the manual pages show are granted" {
    broker_start
    asked >"$WORK/asked"
    [ "$(wc -l <"$WORK/asked")" -ge 10 ]
    while read -r needs; do
        # shellcheck disable=SC2086 # words
        as $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --dry-run $needs >/dev/null 2>"$WORK/err" || { echo "$needs: $(<"$WORK/err")"; }
    done <"$WORK/asked" >"$WORK/refused"
    [ ! -s "$WORK/refused" ] || { cat "$WORK/refused" >&2; false; }
}

@test "the example of rtf-log(1)" {
    broker_start
    spec $ALICE cam '{"runtime": "10ms", "period": "100ms"}' >/dev/null
    awk '/^# / { inside = $0 == "# EXAMPLES" } inside && /^rtf log --since/' "$RTF_SOURCE/man/rtf-log.1.scd" >"$WORK/script"
    "$RTF_BIN/rtf" --spool "$SPOOL" log -n 1 >/dev/null
    sed "s/^/USER=$ALICE /; s/^USER=[0-9]* rtf/& --spool $(sed 's,/,\\/,g' <<<"$SPOOL")/" "$WORK/script" >"$WORK/by-root"
    USER=$ALICE PATH="$RTF_BIN:$PATH" sh -eu "$WORK/by-root" >"$WORK/out"
    says 'select(.stage == "verdict" and .decision == "ok")'
}

# shown PAGE HEADING: writes the commands in the literal blocks of this section to $WORK/script, with the users and the configuration of this test.
shown() {
    awk -v heading="# $2" '/^```/ { literal = !literal; next } !literal && /^# / { inside = $0 == heading } inside && literal { gsub(/\\\\/, "\\"); sub(/^# /, ""); print }' "$RTF_SOURCE/man/$1.scd" |
        sed -E -e "s/\\bann\\b/$ALICE/g; s/\\bbob\\b/$BOB/g; s,/etc/rtf,$CONFIG,g" -e '/^(reboot|apt-get )/d' >"$WORK/script"
    [ -s "$WORK/script" ]
}
# typed_by_root: root runs the script, and errors are fatal. $WORK/out has the output.
typed_by_root() {
    printf '#!/bin/sh\necho "# edited" >>"$1"\n' >"$WORK/bin/editor"
    printf '#!/bin/sh\n[ "$1" = rtf ] && shift && exec rtf "$@"\n' >"$WORK/bin/service" # service(8) would look for a script in /etc/init.d, which front/init.bats tests
    chmod 755 "$WORK/bin/editor" "$WORK/bin/service"
    (cd "$WORK/home" && PATH=$WORK/bin:/usr/bin:/bin sh -eu "$WORK/script" </dev/null >"$WORK/out" 2>&1 3>&-) || { cat "$WORK/script" "$WORK/out" >&2; return 1; }
}
reserves() { told '.result == "OK"' "$(spec "$1" "$2" '{"runtime": "10ms", "period": "200ms"}')"; }

@test "the examples of rtf-revoke(8) and rtf-history(8)" {
    # The rules hold for all users. A user whom a rule names counts as a member of the group, so two rules name Alice and Bob.
    sed -i "s/^$ALICE /- /" "$CONFIG/acl.conf"
    for user in $ALICE $BOB; do echo "$user - max_priority 48" >>"$CONFIG/acl.conf"; done
    broker_start
    for name in cam cam-2 arm; do reserves $ALICE $name; done
    reserves $BOB leg
    shown rtf-revoke.8 EXAMPLES
    [ "$(wc -l <"$WORK/script")" -eq 4 ]
    typed_by_root
    out "rtf revoke: $BOB/leg is revoked"
    shown rtf-history.8 EXAMPLES
    [ "$(wc -l <"$WORK/script")" -eq 3 ]
    typed_by_root
    for name in $ALICE/cam $ALICE/cam-2 $ALICE/arm $BOB/leg; do grep -qx "$name" "$WORK/out"; done
    reserves $ALICE cam
    shown rtf-revoke.8 DESCRIPTION
    typed_by_root
    told '.refusal.code == "beyond-rule"' "$(spec $ALICE cam '{"runtime": "10ms", "period": "200ms"}')"
}

@test "the examples of rtf-acl(8), rtf-reload(8), rtf-restart(8), rtf-drain(8), rtf-resume(8) and rtf-doctor(1)" {
    broker_start
    cp "$CONFIG/acl.conf" "$WORK/home/new.conf"
    shown rtf-acl.8 EXAMPLES
    sed -i '/^rtf\|^service/!d' "$WORK/script" # without the output of the commands
    typed_by_root
    grep -q "^uid $ALICE on EDF: up to 0.5 in all, 0.5 left" "$WORK/out"
    grep -Eq "^uid $ALICE +FP +0.5 +0.5$" "$WORK/out"
    for page in rtf-reload.8 rtf-restart.8; do
        shown $page EXAMPLES
        typed_by_root
    done
    wait "$BROKER" || true
    BROKER=$("$RTF_LIBEXEC/rtf-brokers" --spool "$SPOOL" | cut -f 1)
    for page in rtf-drain.8 rtf-resume.8; do
        shown $page EXAMPLES
        typed_by_root
    done
    reserves $ALICE cam
    shown rtf-doctor.1 EXAMPLES
    sed -i '/--json/!d' "$WORK/script"
    typed_by_root
}

@test "a broker runs from a build tree that only root can enter, as rtf-brokerd(8) shows" {
    mkdir -m 700 "$WORK/checkout"
    mkdir "$WORK/checkout/build"
    cp -r "$RTF_STAGE/usr/bin" "$WORK/checkout/build/bin"
    cp -r "$RTF_STAGE/usr/libexec/rtf" "$WORK/checkout/build/libexec"
    cp -r "$CONFIG" "$WORK/checkout/etc"
    # The page waits a second for the broker, which may not be enough beside other tests.
    awk '/^```/ { if (text ~ /cp -r build/) { printf "%s", text; exit } literal = !literal; text = ""; next } literal { text = text substr($0, 3) "\n" }' \
        "$RTF_SOURCE/man/rtf-brokerd.8.scd" | sed -e "s,/var/tmp,$WORK,; s/--group users/--group $GROUP ${RTF_PLUGIN_USER:+--plugin-user $RTF_PLUGIN_USER}/" \
        -e "s,^sleep 1$,until dd if=/dev/null of=\$place/spool/alive oflag=nonblock conv=notrunc\,nocreat; do sleep 0.1; done 2>/dev/null," >"$WORK/script"
    [ "$(wc -l <"$WORK/script")" -eq 6 ]
    (cd "$WORK/checkout" && bash -eu "$WORK/script" >"$WORK/out" 2>"$WORK/err" 3>&-) || {
        cat "$WORK/script" "$WORK/out" "$WORK/err" >&2
        pkill -f "rtf-brokerd .*$WORK" || true # the script itself ends the broker only if all of it succeeds
        false
    }
    grep -q SCHED_DEADLINE "$WORK/out"
    [ -z "$(find "$WORK" -maxdepth 1 -name 'rtf.*')" ]
}

@test "where the user of plugins cannot enter, --check and the start say so" {
    mkdir -m 700 "$WORK/closed"
    cp -r "$RTF_STAGE/usr/libexec/rtf" "$WORK/closed/rtf"
    for option in --check "--spool=$WORK/other"; do
        run -78 "$WORK/closed/rtf/rtf-brokerd" "$option" --config "$CONFIG" --group "$GROUP" ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"}
        [[ $output == *"plugins.conf:"*": the user of plugins (uid "*") cannot run $WORK/closed/rtf/plugins/edf: install rtf, or copy it "* ]] || { echo "$output" >&2; false; }
    done
}

# would_fit RUNTIME PERIOD [MORE]: what the sentence of the refusal has after "a runtime of". Each runtime that the verdict names is granted.
would_fit() {
    local verdict value
    verdict=$(spec $ALICE asks "{\"runtime\": $1, \"period\": $2${3:-}}")
    for value in $(jq -r '.refusal | .nearest, .nearest_minimum | values' <<<"$verdict"); do
        told '.result == "OK"' "$(spec $ALICE asks "{\"runtime\": $value, \"period\": $2${3:-}, \"dry_run\": true}")"
    done
    jq -r '.sentence | sub(".*; a runtime of (?<fits>[^;]*).*"; .fits)' <<<"$verdict"
}

@test "a refusal names the least change that is granted" {
    broker_start
    [ "$(would_fit 1 1000000)" = 'at least 2us would fit, up to 20000us' ]
    [ "$(would_fit 30000 100000)" = 'at most 20000us would fit' ]
    [ "$(would_fit 7000 10000)" = 'at most 5000us would fit' ]
    [ "$(would_fit 50 10000 ', "priority": 15, "plugin": "FP"')" = 'at least 100us would fit, up to 5000us' ]
    echo "$ALICE EDF min_runtime 4ms" >>"$CONFIG/acl.conf"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    [ "$(would_fit 2000 20000)" = 'at least 4000us would fit, up to 10000us' ]
    [ "$(would_fit 1000 100000)" = 'at least 4000us would fit, up to 20000us' ]
    [ "$(would_fit 1000 8000)" = 'exactly 4000us would fit' ]
    # Nothing fits, or one plugin grants less and another one more.
    told '.refusal | .nearest == null and .nearest_minimum == null' "$(spec $ALICE asks '{"runtime": 1000, "period": 7000}')"
    printf "$ALICE FP max_utilization 0\n$ALICE RR max_runtime 1ms\n" >>"$CONFIG/acl.conf"
    kill -HUP "$BROKER"
    eventually is_reloaded 2
    [ "$(would_fit 2000 20000 ', "priority": 5')" = 'at most 1000us would fit' ]
    [ "$(would_fit 3000 20000 ', "priority": 5')" = 'at least 4000us would fit, up to 10000us' ]
}

is_reloaded() { [ "$(grep -c '"decision":"reloaded"' "$EVENTS")" -eq "$1" ]; } # TIMES
has_restarted() { jq -e 'select(.stage == "plugin" and .decision == "restarted" and .plugin == "EDF")' "$EVENTS" >/dev/null; }

# bats test_tags=turn:1
@test "a user alone has loops at 1 kHz, and another user as many threads beside them as their ticks have room; also after a restart of the plugin" {
    local room=$((($(nproc) * 900 - 300) / 1000)) verdict # each thread can take a CPU for 1 ms
    sed -i "s/^$ALICE /- /; / max_user_threads /d" "$CONFIG/acl.conf" # on few CPUs the rule refuses first
    for user in $ALICE $BOB; do echo "$user - max_priority 48" >>"$CONFIG/acl.conf"; done # users whom a rule names count as members
    broker_start
    quick() { spec "$1" "$2" '{"plugin": "EDF", "runtime": "100us", "period": "1ms"}'; }
    slow() { spec $BOB "$1" '{"plugin": "EDF", "runtime": "10us", "period": "100ms"}'; }
    for name in one two three; do told '.result == "OK"' "$(quick $ALICE $name)"; done
    for ((i = 1; i <= room; i++)); do told '.result == "OK"' "$(slow "b$i")"; done
    is_refused() {
        verdict=$(slow more)
        told ".refusal.retry == \"when-freed\" and .refusal.nearest == null and (.reason | test(\"when other users' threads overrun .$((room + 1)) times up to [0-9]+us in 1000us\"))" "$verdict"
        told '.result == "OK"' "$(quick $ALICE "$1")"
        told '.result != "OK"' "$(quick $BOB quick)"
    }
    is_refused four
    kill -KILL "$(helpers plugins/edf)"
    eventually has_restarted
    is_refused four
}

# sentence PATTERN UID NAME JSON: the sentence of the verdict matches.
sentence() {
    local answer
    answer=$(spec "${@:2}")
    # shellcheck disable=SC2053 # it is a pattern
    [[ $(field .sentence "$answer") == $1 ]] || { echo "$answer" >&2; return 1; }
}

# bats test_tags=turn:2
@test "a spec that EDF refuses goes to FP, and the sentence of a refusal says what the spec lacks for FP" {
    local most rule i
    sed -i "s/^$ALICE /- /" "$CONFIG/acl.conf"
    for user in $ALICE $BOB; do echo "$user - max_priority 48" >>"$CONFIG/acl.conf"; done # users whom a rule names count as members
    broker_start
    eventually jq -e '.rules[] | select(.threads)' "$SPOOL/status.json"
    most=$(jq '.rules[] | select(.threads) | .threads' "$SPOOL/status.json")
    for ((i = 1; i <= most; i++)); do told '.grant.plugin == "EDF"' "$(spec $ALICE "a$i" '{"runtime": "2us", "period": "1s"}')"; done
    told '.grant.plugin == "EDF"' "$(spec $BOB cam '{"runtime": "4ms", "period": "10ms"}')"
    as $BOB rm "$SPECS/$BOB/cam.json"
    eventually test ! -e "$SPECS/$BOB/cam.verdict"
    sentence "EDF refused: *, 0.48* asked; a runtime of at most *us would fit; FP, which makes no schedulability test, refused: needs a priority" $BOB cam '{"runtime": "4400us", "period": "9ms"}'
    rule="acl.conf:*: - EDF max_user_threads tick: $most used, 1 asked, tick allows $most"
    sentence "access refused: $rule; FP, which makes no schedulability test, refused: needs a priority" $ALICE cam '{"runtime": "100us", "period": "1ms"}'
    sentence "FP refused: the plugin enforces runtimes: the runtime must be at least 100us, and *; $rule" $ALICE cam '{"runtime": "99us", "period": "1ms", "priority": 15}'
    told '.grant.plugin == "FP"' "$(spec $ALICE cam '{"runtime": "100us", "period": "1ms", "priority": 15}')"
    sentence "EDF refused: * left when other users' threads overrun ($most times *; FP, which makes no schedulability test, refused: needs a priority" $BOB cam '{"runtime": "100us", "period": "1ms"}'
    told '.grant.plugin == "FP"' "$(spec $BOB cam '{"runtime": "100us", "period": "1ms", "priority": 15}')"
}
