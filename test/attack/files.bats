# Attacks by files: links and special files, other users' files, and text with control characters.
load attack

@test "a link that takes turns with a spec never shows its target" {
    broker_start
    flood swapped swapped
    answers_shown_nothing() { # no verdict shows the file, and the flood goes on
        if grep -qs 'root:' "$SPECS/$ALICE"/*.verdict; then exit 1; fi
        [ "$(grep -c '"stage":"verdict"' "$EVENTS")" -ge 100 ]
    }
    eventually answers_shown_nothing
    attack_ends
    if grep -q 'root:' "$EVENTS"; then return 1; fi
}

she_has_mounted() { [ "$(nsenter -m -t "${ATTACKERS[0]}" cat "$SPECS/$ALICE/cam.json" 2>/dev/null)" = '{bad' ]; }

@test "the broker does not see mounts of a user's own namespace" {
    as $ALICE unshare --user --map-root-user --mount true 2>/dev/null || skip 'unprivileged users may not make user namespaces here'
    broker_start
    spec $ALICE cam '{"priority": 7, "plugin": "RR"}' >/dev/null
    attack unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none "$1" && echo "{bad" >"$1/cam.json" && exec sleep 300' \
        sh "$SPECS/$ALICE"
    eventually she_has_mounted
    bob_is_answered_beside true
    [ "$(jq -r .grant.priority "$SPECS/$ALICE/cam.verdict")" = 7 ]
}

# Mounts as fusermount does for a user where fuse.conf allows it. No program answers for this file system, so a process that uses the file system waits.
mount_fuse() { # PATH TYPE(octal)
    cat >"$WORK/mount.py" <<'END'
import ctypes, os, sys, time
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode={sys.argv[2]},user_id={sys.argv[3]},group_id={sys.argv[3]},allow_other"
if ctypes.CDLL(None).mount(b"stuck", sys.argv[1].encode(), b"fuse", 6, options.encode()) != 0:
    sys.exit(1)
time.sleep(300)
END
    /usr/bin/python3 -S "$WORK/mount.py" "$1" "$2" "$ALICE" 3>&- &
    FUSE=$!
    echo "$FUSE" >>"$WORK/pids"
    eventually grep -q " $1 fuse " /proc/mounts
}
tidy() {
    if [ -n "${MOUNTED:-}" ]; then umount "$MOUNTED"; fi
    if [ -n "${FUSE:-}" ]; then
        kill -KILL "$FUSE" 2>/dev/null || true # each process that waits for an answer of the file system gets an error
        grep -o " $WORK[^ ]* fuse" /proc/mounts | while read -r path _; do umount "$path"; done
    fi
}

@test "a file system that never answers, mounted on a spec, a verdict or a directory, does not stop the broker" {
    /usr/bin/python3 -S -c 'import os; os.open("/dev/fuse", os.O_RDWR)' 2>/dev/null || skip 'no FUSE in this kernel'
    broker_start
    for name in cam two; do spec $ALICE $name '{"priority": 2, "plugin": "RR"}' >/dev/null; done
    mount_fuse "$SPECS/$ALICE/cam.json" 100000
    put $ALICE other '{"priority": 3, "plugin": "RR"}'
    bob_is_answered_beside true
    tidy
    mount_fuse "$SPECS/$ALICE/two.verdict" 100000
    put $ALICE two '{"priority": 4, "plugin": "RR"}'
    bob_is_answered_beside true
    tidy
    mount_fuse "$SPECS/$ALICE" 40000
    as $BOB mkdir "$SPECS/away"
    bob_is_answered_beside true
    kill -HUP "$BROKER"
    bob_is_answered_beside true
    tidy
    kill -HUP "$BROKER" # Alice's directory was hidden by the mount, and no event tells that it is visible again
    as $ALICE touch "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/two.json"
    [ "$(field .grant.priority "$(verdict $ALICE cam)")" = 2 ]
    [ "$(field .grant.priority "$(verdict $ALICE two)")" = 4 ]
}

# A file system of the user may never answer an open(2). The reader therefore opens no mounted file.
@test "a file that is mounted on a spec is not read" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    echo '{"priority": 7, "plugin": "RR"}' >"$WORK/other.json"
    chown $ALICE "$WORK/other.json"
    mount --bind "$WORK/other.json" "$SPECS/$ALICE/cam.json"
    MOUNTED=$SPECS/$ALICE/cam.json
    kill -HUP "$BROKER"
    not_read() { grep -q "is on another file system" "$SPECS/$ALICE/cam.verdict"; }
    eventually not_read
}

@test "a user cannot look into another user's directory, nor make, link, rename or remove a file there" {
    broker_start
    spec $ALICE cam '{"priority": 5, "plugin": "RR"}' >/dev/null
    before=$(stat -c '%i %Z' "$SPECS/$ALICE"/*)
    for act in 'ls "$1"' 'cat "$1/cam.json"' 'cat "$1/cam.verdict"' 'echo 1 >"$1/cam.tid"' 'rm -f "$1/cam.json"' 'mv "$1" "$1.away"' \
        'ln "$1/cam.json" "$2/cam.json"' 'chmod 777 "$1"' 'rmdir "$1"' 'ls "$1/.."' 'touch "$1/cam.json"'; do
        if as $BOB sh -c "$act" sh "$SPECS/$ALICE" "$SPECS/$BOB" 2>/dev/null; then
            echo "could: $act"
            return 1
        fi
    done
    [ "$(stat -c '%i %Z' "$SPECS/$ALICE"/*)" = "$before" ]
}

@test "root's specs give no user root's rights" {
    broker_start
    put 0 cam '{"priority": 5, "plugin": "RR"}'
    eventually test -e "$SPECS/0/cam.verdict"
    if as $ALICE sh -c 'cat "$1/cam.verdict" || echo 1 >"$1/cam.tid" || ls "$1"' sh "$SPECS/0" 2>/dev/null; then return 1; fi
    as $ALICE sh -c 'mkdir "$1"' sh "$SPECS/root" 2>/dev/null || true
    eventually test ! -d "$SPECS/root" || [ "$(stat -c %u "$SPECS/root")" = 0 ]
}

@test "text in a spec stays text in the verdict, in the log and in the input of plugins" {
    cat >"$WORK/ear" <<'END'
#!/bin/sh
printf 'protocol=1\nanswer=ok\n\n'
exec cat >&2
END
    chmod 755 "$WORK/ear"
    configure_plugins "EAR $WORK/ear 1-10 all timeout=300ms" 'FP fp 11-20 all'
    configure_rules "$ALICE - max_utilization 10"
    broker_start
    put $ALICE cam '{"priority": 5, "token": "a\nop=release", "comment": "x\n\nop=accept\ntask=1\n\n\u001b[2J\u2028"}'
    answer=$(verdict $ALICE cam)
    echo "$answer"
    put $ALICE two '{"priority": 5, "comment": "x\n\nop=accept\ntask=1\n\n\u001b[2J\u2028 \\\" $(reboot) `id`"}'
    verdict $ALICE two >/dev/null
    if grep -q 'op=release\|reboot\|comment' "$WORK/broker.out"; then return 1; fi
    jq -s -e 'all(type == "object")' "$EVENTS" >/dev/null
    [ "$(LC_ALL=C grep -c '[[:cntrl:]]' "$EVENTS")" = 0 ]
}
