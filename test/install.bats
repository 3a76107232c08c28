# make install, make clean: each file lands in its place and runs from there, and no other file changes.
bats_require_minimum_version 1.5.0
load helper

prepare() {
    ROOT=$WORK/root
    mkdir "$ROOT"
    LISTED="755 etc
755 etc/logrotate.d
644 etc/logrotate.d/rtf
755 etc/rtf
644 etc/rtf/acl.conf
644 etc/rtf/plugins.conf
755 etc/rtf/programs.d
755 usr
755 usr/bin
755 usr/bin/rtf
755 usr/bin/rtf-run
755 usr/bin/rtf-wait
755 usr/include
644 usr/include/rtf.h
755 usr/lib
644 usr/lib/librtf.a
777 usr/lib/librtf.so
644 usr/lib/librtf.so.0
755 usr/lib/pkgconfig
644 usr/lib/pkgconfig/librtf.pc
755 usr/lib/python3
755 usr/lib/python3/dist-packages
755 usr/lib/python3/dist-packages/rtf
644 usr/lib/python3/dist-packages/rtf/__init__.py
644 usr/lib/python3/dist-packages/rtf/py.typed
755 usr/lib/systemd
755 usr/lib/systemd/system
644 usr/lib/systemd/system/rtf.service
755 usr/lib/sysusers.d
644 usr/lib/sysusers.d/rtf.conf
755 usr/lib/tmpfiles.d
644 usr/lib/tmpfiles.d/rtf.conf
755 usr/libexec
755 usr/libexec/rtf
755 usr/libexec/rtf/front
644 usr/libexec/rtf/front/acl.jq
644 usr/libexec/rtf/front/admin.sh
644 usr/libexec/rtf/front/commands
755 usr/libexec/rtf/front/complete
755 usr/libexec/rtf/front/doctor
644 usr/libexec/rtf/front/doctor/broker.sh
644 usr/libexec/rtf/front/doctor/config.sh
644 usr/libexec/rtf/front/doctor/kernel.sh
644 usr/libexec/rtf/front/doctor/process-budget.sh
644 usr/libexec/rtf/front/doctor/process.sh
644 usr/libexec/rtf/front/doctor/program.sh
644 usr/libexec/rtf/front/doctor/refused.sh
644 usr/libexec/rtf/front/doctor/supply.sh
644 usr/libexec/rtf/front/doctor/threads.sh
644 usr/libexec/rtf/front/doctor/tools.sh
644 usr/libexec/rtf/front/doctor/user.sh
644 usr/libexec/rtf/front/front.jq
644 usr/libexec/rtf/front/front.sh
755 usr/libexec/rtf/front/log-lines
755 usr/libexec/rtf/front/rtf-acl
755 usr/libexec/rtf/front/rtf-adapt
755 usr/libexec/rtf/front/rtf-adopt
755 usr/libexec/rtf/front/rtf-attach
755 usr/libexec/rtf/front/rtf-change
755 usr/libexec/rtf/front/rtf-declare
755 usr/libexec/rtf/front/rtf-detach
755 usr/libexec/rtf/front/rtf-doctor
755 usr/libexec/rtf/front/rtf-drain
755 usr/libexec/rtf/front/rtf-every
755 usr/libexec/rtf/front/rtf-history
755 usr/libexec/rtf/front/rtf-learn
755 usr/libexec/rtf/front/rtf-log
755 usr/libexec/rtf/front/rtf-ls
755 usr/libexec/rtf/front/rtf-metrics
755 usr/libexec/rtf/front/rtf-muse
755 usr/libexec/rtf/front/rtf-plugins
755 usr/libexec/rtf/front/rtf-preload
755 usr/libexec/rtf/front/rtf-release
755 usr/libexec/rtf/front/rtf-reload
755 usr/libexec/rtf/front/rtf-restart
755 usr/libexec/rtf/front/rtf-resume
755 usr/libexec/rtf/front/rtf-revoke
755 usr/libexec/rtf/front/rtf-show
755 usr/libexec/rtf/front/rtf-top
755 usr/libexec/rtf/front/rtf-trace
755 usr/libexec/rtf/front/rtf-usage
755 usr/libexec/rtf/front/rtf-what-if
755 usr/libexec/rtf/front/rtf-why
755 usr/libexec/rtf/front/run-learn
755 usr/libexec/rtf/front/status-lines
755 usr/libexec/rtf/muse
755 usr/libexec/rtf/muse/analyse
755 usr/libexec/rtf/muse/report
755 usr/libexec/rtf/muse/run
755 usr/libexec/rtf/muse/supply-word
755 usr/libexec/rtf/muse/sweep
755 usr/libexec/rtf/plugins
755 usr/libexec/rtf/plugins/disk
755 usr/libexec/rtf/plugins/edf
755 usr/libexec/rtf/plugins/fp
755 usr/libexec/rtf/plugins/net
755 usr/libexec/rtf/plugins/rm
755 usr/libexec/rtf/plugins/rr
755 usr/libexec/rtf/rtf-adopter
755 usr/libexec/rtf/rtf-as-user
755 usr/libexec/rtf/rtf-attach
755 usr/libexec/rtf/rtf-brokerd
755 usr/libexec/rtf/rtf-brokers
755 usr/libexec/rtf/rtf-detach
755 usr/libexec/rtf/rtf-disk
755 usr/libexec/rtf/rtf-guard
755 usr/libexec/rtf/rtf-invariants
644 usr/libexec/rtf/rtf-invariants.jq
755 usr/libexec/rtf/rtf-lint
644 usr/libexec/rtf/rtf-lint.awk
755 usr/libexec/rtf/rtf-logger
755 usr/libexec/rtf/rtf-names
755 usr/libexec/rtf/rtf-net
755 usr/libexec/rtf/rtf-order
755 usr/libexec/rtf/rtf-partition
644 usr/libexec/rtf/rtf-preload.so
755 usr/libexec/rtf/rtf-probe
755 usr/libexec/rtf/rtf-programs
755 usr/libexec/rtf/rtf-publisher
755 usr/libexec/rtf/rtf-reader
755 usr/libexec/rtf/rtf-rtkit
755 usr/libexec/rtf/rtf-tasks
755 usr/libexec/rtf/rtf-threads
755 usr/libexec/rtf/rtf-watch
755 usr/sbin
777 usr/sbin/rtf-brokerd
777 usr/sbin/rtf-brokers
777 usr/sbin/rtf-disk
777 usr/sbin/rtf-invariants
777 usr/sbin/rtf-lint
777 usr/sbin/rtf-net
777 usr/sbin/rtf-partition
777 usr/sbin/rtf-probe
755 usr/share
755 usr/share/bash-completion
755 usr/share/bash-completion/completions
644 usr/share/bash-completion/completions/rtf
777 usr/share/bash-completion/completions/rtf-run
777 usr/share/bash-completion/completions/rtf-wait
755 usr/share/doc
755 usr/share/doc/rtf
755 usr/share/doc/rtf/examples
755 usr/share/doc/rtf/examples/metrics
644 usr/share/doc/rtf/examples/metrics/cron
644 usr/share/doc/rtf/examples/metrics/grafana.json
644 usr/share/doc/rtf/examples/metrics/rtf-metrics.service
644 usr/share/doc/rtf/examples/metrics/rtf-metrics.timer
644 usr/share/doc/rtf/examples/metrics/rtf.rules.yml
755 usr/share/doc/rtf/examples/programs.d
644 usr/share/doc/rtf/examples/programs.d/jackd.json
644 usr/share/doc/rtf/examples/programs.d/mpd.json
644 usr/share/doc/rtf/examples/programs.d/pipewire.json
644 usr/share/doc/rtf/examples/programs.d/ros2_control.json
755 usr/share/fish
755 usr/share/fish/vendor_completions.d
644 usr/share/fish/vendor_completions.d/rtf.fish
755 usr/share/man
755 usr/share/man/man1
644 usr/share/man/man1/rtf-adapt.1
644 usr/share/man/man1/rtf-adopt.1
644 usr/share/man/man1/rtf-attach.1
644 usr/share/man/man1/rtf-change.1
644 usr/share/man/man1/rtf-declare.1
644 usr/share/man/man1/rtf-detach.1
644 usr/share/man/man1/rtf-doctor.1
644 usr/share/man/man1/rtf-every.1
644 usr/share/man/man1/rtf-learn.1
644 usr/share/man/man1/rtf-log.1
644 usr/share/man/man1/rtf-ls.1
644 usr/share/man/man1/rtf-metrics.1
644 usr/share/man/man1/rtf-muse.1
644 usr/share/man/man1/rtf-plugins.1
644 usr/share/man/man1/rtf-preload.1
644 usr/share/man/man1/rtf-release.1
644 usr/share/man/man1/rtf-run.1
644 usr/share/man/man1/rtf-show.1
644 usr/share/man/man1/rtf-top.1
644 usr/share/man/man1/rtf-trace.1
644 usr/share/man/man1/rtf-usage.1
644 usr/share/man/man1/rtf-wait.1
644 usr/share/man/man1/rtf-what-if.1
644 usr/share/man/man1/rtf-why.1
644 usr/share/man/man1/rtf.1
755 usr/share/man/man3
644 usr/share/man/man3/rtf.3
755 usr/share/man/man5
644 usr/share/man/man5/acl.conf.5
644 usr/share/man/man5/muse.5
644 usr/share/man/man5/plugins.conf.5
644 usr/share/man/man5/rtf-events.5
644 usr/share/man/man5/rtf-programs.5
644 usr/share/man/man5/rtf-spec.5
644 usr/share/man/man5/rtf-status.5
644 usr/share/man/man5/rtf-verdict.5
755 usr/share/man/man7
644 usr/share/man/man7/rtf-plugin.7
644 usr/share/man/man7/rtf-slurm.7
644 usr/share/man/man7/rtf.7
755 usr/share/man/man8
644 usr/share/man/man8/rtf-acl.8
644 usr/share/man/man8/rtf-attach.8
644 usr/share/man/man8/rtf-brokerd.8
644 usr/share/man/man8/rtf-brokers.8
644 usr/share/man/man8/rtf-disk.8
644 usr/share/man/man8/rtf-drain.8
644 usr/share/man/man8/rtf-history.8
644 usr/share/man/man8/rtf-invariants.8
644 usr/share/man/man8/rtf-lint.8
644 usr/share/man/man8/rtf-net.8
644 usr/share/man/man8/rtf-partition.8
644 usr/share/man/man8/rtf-probe.8
644 usr/share/man/man8/rtf-reload.8
644 usr/share/man/man8/rtf-restart.8
644 usr/share/man/man8/rtf-resume.8
644 usr/share/man/man8/rtf-revoke.8
644 usr/share/man/man8/rtf-rtkit.8
755 usr/share/zsh
755 usr/share/zsh/vendor-completions
644 usr/share/zsh/vendor-completions/_rtf"
}

installed() { make -s -C "${TREE:-$RTF_SOURCE}" install DESTDIR="$ROOT" "$@" </dev/null 3>&-; }

# lists PATTERN...: the files in $ROOT, with modes, one a line.
lists() { (cd "$ROOT" && find . -mindepth 1 -printf '%m %P\n' | LC_ALL=C sort -k 2); }

# copy_tree [DIRECTORY...]: copies the checkout to $TREE, without these directories, or without build/.
copy_tree() {
    TREE=$WORK/tree
    mkdir "$TREE"
    [ $# -gt 0 ] || set -- build
    tar -C "$RTF_SOURCE" "${@/#/--exclude=./}" --exclude ./.git -cf - . | tar -C "$TREE" -xf -
}

snapshot() { (cd "$TREE" && find . -printf '%y %m %P %l\n' | sort && find . -type f -exec sha256sum {} + | sort -k 2); }

# parsed_root: makes a directory that systemd's tools take for a machine, with the files of $ROOT.
parsed_root() {
    echo 'root:x:0:0::/root:/bin/sh' >"$ROOT/etc/passwd"
    printf 'root:x:0:\nadm:x:4:\n' >"$ROOT/etc/group"
}

# bats test_tags=turn:0
@test "every file is installed with its mode, and nothing else, whatever the umask" {
    for umask in 022 077 000; do
        rm -rf "$ROOT" && mkdir -m 755 "$ROOT"
        (umask "$umask" && installed PREFIX=/usr)
        diff <(echo "$LISTED") <(lists) >&2 || { echo "umask $umask" >&2; false; }
    done
}

# bats test_tags=turn:1
@test "the list above is complete: every page, plugin and program of the source is in it" {
    for page in "$RTF_SOURCE"/man/*.scd; do
        page=$(basename "$page" .scd)
        grep -q "^644 usr/share/man/man${page##*.}/$page$" <<<"$LISTED"
    done
    for source in bin/rtf-run.c bin/rtf-wait.c libexec/attach/rtf-attach.c libexec/attach/rtf-detach.c plugins/edf.c plugins/rm.c plugins/fp.c plugins/rr.c; do
        [ -e "$RTF_SOURCE/$source" ]
    done
    for source in "$RTF_SOURCE"/libexec/front/rtf-*; do
        grep -q "^755 usr/libexec/rtf/front/$(basename "$source" .c)$" <<<"$LISTED" || { echo "$source" >&2; false; }
    done
}

# bats test_tags=turn:2
@test "the prefix is /usr/local unless one is given, and configuration is in /etc all the same" {
    installed
    # Below /usr/local, Debian's python3 looks in a directory of its own version only.
    local python
    python=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    diff <(sed "s, usr, usr/local,; s,zsh/vendor-completions,zsh/site-functions,; s,lib/python3\\(/\\|$\\),lib/$python\\1," <<<"$LISTED" | sort -k 2) \
        <(lists | grep -v ' usr$' | sort -k 2) >&2
    grep -q '^ExecStart=/usr/local/libexec/rtf/rtf-brokerd ' "$ROOT/usr/local/lib/systemd/system/rtf.service"
}

# bats test_tags=turn:0
@test "the unit names the installed broker, and no place is left to be filled in" {
    installed PREFIX=/opt/rtf
    unit=$ROOT/opt/rtf/lib/systemd/system/rtf.service
    [ "$(grep -c '^Exec[A-Za-z]*=/opt/rtf/libexec/rtf/rtf-brokerd ' "$unit")" -eq 2 ]
    run grep -rnI '@[A-Z]*@' "$ROOT"/opt/rtf/lib "$ROOT/etc"
    [ "$status" -eq 1 ]
    # No file names the directory in which it was built or staged.
    run grep -rlIF -e "$RTF_SOURCE/" -e "$ROOT" "$ROOT/etc" "$ROOT"/opt/rtf/lib "$ROOT"/opt/rtf/share
    [ "$status" -eq 1 ]
}

# bats test_tags=turn:1
@test "make install writes below DESTDIR only: a user who can write nowhere else can install" {
    copy_tree build/fuzz build/lint build/sanitized # these may be written at this moment
    make -s -C "$TREE" -j2 3>&- # compiles only what the build lacks
    chmod -R go-w,go+rX "$TREE"
    before=$(snapshot)
    chown $ALICE "$ROOT"
    as $ALICE make -s -C "$TREE" install DESTDIR="$ROOT" PREFIX=/usr </dev/null 3>&-
    diff <(echo "$LISTED") <(lists) >&2
    [ "$(snapshot)" = "$before" ]
}

# bats test_tags=turn:2
@test "make a second time has nothing to do, and make clean leaves the tree as it was before make" {
    copy_tree
    clean=$(snapshot)
    make -s -C "$TREE" -j2 CFLAGS=-O0 3>&-
    [ "$(snapshot)" != "$clean" ]
    before=$(find "$TREE/build" -type f -printf '%P %i %T@\n' | sort)
    make -C "$TREE" CFLAGS=-O0 3>&- >"$WORK/out"
    [ "$(find "$TREE/build" -type f -printf '%P %i %T@\n' | sort)" = "$before" ]
    # A changed header makes make compile the files that include it.
    touch "$TREE/lib/librtf/client.h"
    make -n -C "$TREE" CFLAGS=-O0 3>&- >"$WORK/out"
    grep -q 'bin/rtf-run.o' "$WORK/out"
    make -s -C "$TREE" clean
    diff <(echo "$clean") <(snapshot) >&2
}

# bats test_tags=turn:0
@test "a second install keeps edited configuration, and renews everything else" {
    installed PREFIX=/usr
    echo '# mine' >"$ROOT/etc/rtf/acl.conf"
    : >"$ROOT/etc/rtf/plugins.conf"
    chmod 600 "$ROOT/etc/rtf/acl.conf"
    echo old >"$ROOT/usr/bin/rtf-wait"
    echo old >"$ROOT/usr/lib/systemd/system/rtf.service"
    installed PREFIX=/usr
    [ "$(cat "$ROOT/etc/rtf/acl.conf")" = '# mine' ]
    [ "$(stat -c %a "$ROOT/etc/rtf/acl.conf")" = 600 ]
    [ ! -s "$ROOT/etc/rtf/plugins.conf" ]
    cmp "$ROOT/usr/bin/rtf-wait" "$RTF_SOURCE/build/bin/rtf-wait"
    grep -q '^ExecStart=/usr/libexec/' "$ROOT/usr/lib/systemd/system/rtf.service"
    rm "$ROOT/etc/rtf/plugins.conf"
    installed PREFIX=/usr
    cmp "$ROOT/etc/rtf/plugins.conf" "$RTF_SOURCE/etc/plugins.conf"
}

# bats test_tags=turn:1
@test "the programs run from there, also while they are installed anew" {
    installed PREFIX=/opt/rtf
    chmod 755 "$ROOT"
    RTF_LIBEXEC=$ROOT/opt/rtf/libexec/rtf
    cp "$ROOT/etc/rtf/plugins.conf" "$CONFIG/plugins.conf"
    broker_start
    run as $ALICE "$ROOT/opt/rtf/bin/rtf-run" --spool "$SPOOL" -T 2ms -P 20ms -- chrt -p 0
    [ "$status" -eq 0 ]
    [[ $output == *SCHED_DEADLINE* ]]
    "$ROOT/opt/rtf/sbin/rtf-brokerd" --check --config "$CONFIG"
    "$ROOT/opt/rtf/sbin/rtf-invariants" --spool "$SPOOL" 2>/dev/null
    for part in rtf-attach rtf-guard rtf-names plugins/edf plugins/fp plugins/rr; do
        pgrep -f "^$RTF_LIBEXEC/$part" >/dev/null
    done
    installed PREFIX=/opt/rtf
    as $ALICE "$ROOT/opt/rtf/bin/rtf-run" --spool "$SPOOL" -T 2ms -P 20ms -- true
    broker_stop TERM
    none_of_these() { ! pgrep -f "^$RTF_LIBEXEC/" >/dev/null; }
    eventually none_of_these
    broker_start
    as $ALICE "$ROOT/opt/rtf/bin/rtf-run" --spool "$SPOOL" -T 2ms -P 20ms -- true
}

# bats test_tags=turn:2
@test "the shipped configuration is correct, and as careful as its comments say" {
    installed PREFIX=/usr
    "$ROOT/usr/libexec/rtf/rtf-brokerd" --check --config "$ROOT/etc/rtf"
    # The shipped rules for a user without an account: half a CPU in all, and nothing for a spec without a runtime, or with a runtime that is too
    # small to be enforced.
    sed "s/^@rtf/$ALICE/" "$ROOT/etc/rtf/acl.conf" >"$CONFIG/acl.conf"
    cp "$ROOT/etc/rtf/plugins.conf" "$CONFIG/plugins.conf"
    broker_start
    [ "$(field .result "$(spec $ALICE half '{"runtime": "10ms", "period": "20ms"}')")" = OK ]
    [ "$(field .result "$(spec $ALICE more '{"runtime": "1us", "period": "1s", "priority": 15}')")" = SCHEDULE_FAIL ]
    rm "$SPECS/$ALICE/half.json"
    eventually test ! -e "$SPECS/$ALICE/half.verdict"
    for json in '{"runtime": "21ms", "period": "100ms"}' '{"runtime": "100us", "period": "999us"}' \
        '{"runtime": "1ms", "period": "1001ms"}' '{"priority": 50, "runtime": "1ms", "period": "10ms", "plugin": "FP"}' \
        '{"priority": 15, "runtime": "1ms", "deadline": "2s"}'; do
        verdict=$(spec $ALICE cam "$json")
        [ "$(field .result "$verdict")" = ACL_FAIL ] || { echo "$json $verdict" >&2; false; }
    done
    [ "$(field .refusal.code "$(spec $ALICE cam '{"priority": 15}')")" = unsuitable ] # each plugin for priorities enforces runtimes
    [ "$(field .result "$(spec $ALICE cam '{"priority": 15, "runtime": "1ms", "period": "10ms", "plugin": "FP"}')")" = OK ]
}

# bats test_tags=turn:0
@test "every example that is commented out in the shipped configuration is correct" {
    installed PREFIX=/usr
    # Each block of plugins.conf replaces the lines in force.
    blocks=0
    while IFS= read -r -d '@' block; do
        grep -qE '^#[A-Z]+ +[a-z/]' <<<"$block" || continue
        # shellcheck disable=SC2001 # per line
        grep -E '^#[A-Z]+ +[a-z/]' <<<"$block" | sed -e 's/^#//' -e "s,/usr/local/libexec/rtf-mine,$ROOT/usr/libexec/rtf/plugins/fp," >"$CONFIG/plugins.conf"
        "$ROOT/usr/libexec/rtf/rtf-brokerd" --check --config "$CONFIG" 2>"$WORK/err" || [ $? -eq 69 ] || { cat "$CONFIG/plugins.conf" "$WORK/err" >&2; false; }
        blocks=$((blocks + 1))
    done < <(sed 's/^# --- .*/@/' "$ROOT/etc/rtf/plugins.conf"; echo @)
    [ "$blocks" -ge 4 ]
    cp "$ROOT/etc/rtf/plugins.conf" "$CONFIG/plugins.conf"
    sed -E 's/^#([@-])/\1/' "$ROOT/etc/rtf/acl.conf" >"$CONFIG/acl.conf"
    [ "$(grep -c '^[@-]' "$CONFIG/acl.conf")" -gt "$(grep -c '^[@-]' "$ROOT/etc/rtf/acl.conf")" ]
    "$ROOT/usr/libexec/rtf/rtf-brokerd" --check --config "$CONFIG"
}

# bats test_tags=turn:1
@test "systemd accepts the unit" {
    installed PREFIX=/usr
    sed "s,/usr/libexec/rtf,$ROOT/usr/libexec/rtf,g" "$ROOT/usr/lib/systemd/system/rtf.service" >"$WORK/rtf.service"
    command -v systemd-analyze >/dev/null || skip "systemd-analyze is not here"
    SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$WORK/rtf.service" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; false; }
    run grep rtf.service "$WORK/out"
    [ "$status" -eq 1 ]
}

# bats test_tags=turn:2
@test "the unit's options and signals are those of the broker" {
    unit=$RTF_SOURCE/etc/rtf.service
    count=0
    while read -r _ options; do
        for option in $options; do
            [[ $option == --* ]] || continue
            "$RTF_LIBEXEC/rtf-brokerd" --help | grep -qe "$option\b"
            count=$((count + 1))
        done
    done < <(sed -n 's/^Exec[A-Za-z]*=//p' "$unit" | grep rtf-brokerd)
    [ "$count" -ge 2 ]
    grep -q '^KillSignal=SIGTERM$' "$unit"
    grep -q '^RestartKillSignal=SIGINT$' "$unit"
    grep -q '^ExecReload=/bin/kill -HUP \$MAINPID$' "$unit"
    grep -q '^ExecStopPost=.*/rtf-brokerd --put-back$' "$unit"
}

# bats test_tags=turn:0
@test "sysusers makes the group, the plugins' user and the readers'" {
    command -v systemd-sysusers >/dev/null || skip "systemd-sysusers is not here"
    installed PREFIX=/usr
    parsed_root
    systemd-sysusers --root="$ROOT" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; false; }
    grep -qE '^rtf:x:[0-9]+:$' "$ROOT/etc/group"
    grep -qE '^rtf-plugin:x:[0-9]+:[0-9]+:[^:]*:/:/usr/sbin/nologin$' "$ROOT/etc/passwd"
    grep -qE '^rtf-reader:x:[0-9]+:[0-9]+:[^:]*:/:/usr/sbin/nologin$' "$ROOT/etc/passwd"
    [ "$(grep -c rtf "$ROOT/etc/passwd")" -eq 2 ]
}

# bats test_tags=turn:1
@test "tmpfiles makes the spool as spool/manifest says, and a broker finds nothing to mend" {
    command -v systemd-tmpfiles >/dev/null || skip "systemd-tmpfiles is not here"
    installed PREFIX=/usr
    parsed_root
    printf 'rtf:x:%s:\n' $GROUP >>"$ROOT/etc/group"
    systemd-tmpfiles --root="$ROOT" --create "$ROOT/usr/lib/tmpfiles.d/rtf.conf" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; false; }
    made=$(find "$ROOT/var/spool/rtf" -printf '%P/ %y %U:%G %m\n' | sort)
    [ "$made" = "$(awk -v group=$GROUP '!/^#/ && NF && $2 != "f" && $2 != "s" {
        sub(/^\.$/, "", $1); sub(/^0/, "", $5)
        print $1 "/", $2, "0:" ($4 == "rtf" ? group : $4 == "adm" ? 4 : 0), $5 }' "$RTF_SOURCE/spool/manifest" | sort)" ]
    SPOOL=$ROOT/var/spool/rtf
    broker_start
    [ "$(find "$SPOOL" -path "$SPOOL/log/*" -prune -o -path "$SPOOL/state/*" -prune -o -path "$SPOOL/status.json" -prune -o -type s -o -printf '%P/ %y %U:%G %m\n' | sort)" = "$made" ]
}

# bats test_tags=turn:2
@test "uninstall removes the files of install, and nothing else" {
    installed PREFIX=/usr
    echo '# mine' >"$ROOT/usr/bin/other"
    echo '# mine' >"$ROOT/usr/share/man/man1/other.1"
    make -s -C "$RTF_SOURCE" uninstall DESTDIR="$ROOT" PREFIX=/usr </dev/null 3>&- >"$WORK/out" 2>&1
    # Fuzzers may be built at this moment, and tests that set the clock leave make files from the future.
    no grep -v 'modification time\|Clock skew' "$WORK/out"
    [ "$(cd "$ROOT" && find . ! -type d | sort)" = "$(printf './usr/bin/other\n./usr/share/man/man1/other.1')" ]
    [ ! -e "$ROOT/usr/libexec/rtf" ]
    [ ! -e "$ROOT/etc/rtf" ]
    # The second time there is nothing to do.
    make -s -C "$RTF_SOURCE" uninstall DESTDIR="$ROOT" PREFIX=/usr </dev/null 3>&- >"$WORK/out" 2>&1
    [ ! -s "$WORK/out" ]
}

# bats test_tags=turn:0
@test "uninstall keeps changed configuration, and tells it; also under another prefix" {
    installed PREFIX=/opt/rtf
    echo '# mine' >"$ROOT/etc/rtf/acl.conf"
    echo '# mine' >"$ROOT/etc/logrotate.d/rtf"
    : >"$ROOT/etc/rtf/mine.conf"
    make -s -C "$RTF_SOURCE" uninstall DESTDIR="$ROOT" PREFIX=/opt/rtf </dev/null 3>&- >"$WORK/out" 2>&1
    [ "$(sort "$WORK/out")" = "$(printf 'kept, because it was changed: %s\n' "$ROOT/etc/logrotate.d/rtf" "$ROOT/etc/rtf/acl.conf")" ] || { cat "$WORK/out" >&2; false; }
    [ "$(cd "$ROOT" && find . ! -type d | sort | xargs)" = './etc/logrotate.d/rtf ./etc/rtf/acl.conf ./etc/rtf/mine.conf' ]
}

# bats test_tags=turn:1
@test "uninstall refuses while a broker of this installation runs" {
    installed PREFIX=/usr
    RTF_LIBEXEC=$ROOT/usr/libexec/rtf broker_start
    run -2 env -u MAKEFLAGS -u MAKELEVEL make -s -C "$RTF_SOURCE" uninstall DESTDIR="$ROOT" PREFIX=/usr </dev/null 3>&-
    [[ $output == "the broker of this installation runs ($BROKER): "* ]]
    [ -x "$ROOT/usr/bin/rtf-run" ]
    broker_stop TERM
    make -s -C "$RTF_SOURCE" uninstall DESTDIR="$ROOT" PREFIX=/usr </dev/null 3>&-
    [ ! -e "$ROOT/usr/bin/rtf-run" ]
}

# purge [SCRIPT]: runs the package's postrm for this spool, on a machine without the accounts.
purge() {
    mkdir -p "$WORK/stubs"
    printf '#!/bin/sh\necho "$2" >>%s\nexit 2\n' "$WORK/asked" >"$WORK/stubs/getent"
    chmod 755 "$WORK/stubs/getent"
    sed "s,/var/spool/rtf,$SPOOL,g; s,/run/rtf,$WORK/none,g; s,timeout 10,timeout ${1:-10},; /DEBHELPER/d" "$RTF_SOURCE/contrib/debian/rtf.postrm" >"$WORK/postrm"
    PATH=$WORK/stubs:$PATH sh "$WORK/postrm" purge 3>&- >"$WORK/said" 2>&1
    [ "$(sort "$WORK/asked" | xargs)" = 'rtf rtf-plugin rtf-reader' ]
}

# bats test_tags=turn:2
@test "purge removes a spool in which users go on writing, and follows no user's links" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "100ms"}' >/dev/null
    broker_stop TERM
    mkdir "$WORK/kept"
    : >"$WORK/kept/file"
    chmod 755 "$WORK/kept"
    as $ALICE ln -s "$WORK/kept" "$SPECS/link"
    for writer in 1 2; do
        become $ALICE sh -c 'cd "$1" && i=0 && while : >"$2.$i" && mkdir "d$2.$i"; do i=$((i + 1)); done' sh "$SPECS/$ALICE" $writer 2>/dev/null 3>&- &
        echo $! >>"$WORK/pids"
    done
    eventually test -e "$SPECS/$ALICE/d2.20"
    purge
    [ ! -s "$WORK/said" ]
    [ ! -e "$SPOOL" ]
    [ -z "$(find "$WORK" -maxdepth 1 -name 'spool*')" ]
    [ "$(stat -c '%u %a' "$WORK/kept")" = '0 755' ]
    [ -e "$WORK/kept/file" ]
}

# bats test_tags=turn:2
@test "purge comes to its end though a directory's lock is held for ever" {
    mkdir -p "$WORK/stubs" "$SPECS/held" "$SPECS/other" "$SPOOL/state"
    # The removal of the held directory never returns.
    printf '#!/bin/sh\ncase "$*" in *held*) echo $$ >>"%s"; exec sleep 300 ;; esac\nexec /bin/rm "$@"\n' "$WORK/pids" >"$WORK/stubs/rm"
    chmod 755 "$WORK/stubs/rm"
    purge 1
    [[ $(<"$WORK/said") == "rtf: $SPOOL.purged."*" is not removed yet: "* ]]
    [ ! -e "$SPOOL" ]
    is_removed() { [ -z "$(find "$WORK" -path '*/other')" ]; }
    eventually is_removed
}

# bats test_tags=turn:1
@test "rtf finds its parts wherever it is installed, and by whatever name" {
    installed PREFIX=/opt/rtf LIBEXECDIR=/srv/parts BINDIR=/opt/rtf/commands
    "$ROOT/opt/rtf/commands/rtf" --version
    ln -s "$ROOT/opt/rtf/commands/rtf" "$WORK/link"
    "$WORK/link" declare --help | grep -q '^Usage: rtf declare'
    "$WORK/link" wait --version | grep -q rtf-wait
    [ "$("$WORK/link" --complete rele | cut -f 1)" = release ]
    configure_plugins 'EDF edf - all partition=global'
    RTF_LIBEXEC=$ROOT/srv/parts
    chmod 755 "$ROOT"
    broker_start
    as $ALICE "$WORK/link" --spool "$SPOOL" declare cam -T 2ms -P 20ms
}
