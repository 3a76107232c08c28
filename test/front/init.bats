# WITHOUT SYSTEMD of rtf-brokerd(8), typed as printed, on a machine with copies of /etc, /usr and /var.
load ../helper
load ../command

prepare() {
    if ! grep -q overlay /proc/filesystems; then skip 'no overlay file systems here'; fi
    [ -x "$RTF_SOURCE/build/bin/rtf" ] || skip 'there is no build tree'
    export WORK
    awk '!literal && /^# / { inside = $0 == "# WITHOUT SYSTEMD" } inside && /^```/ { literal = !literal; next } inside && literal && sub(/^# /, "")' \
        "$RTF_SOURCE/man/rtf-brokerd.8.scd" >"$WORK/printed"
    [ "$(wc -l <"$WORK/printed")" -eq 13 ]
    cat >"$WORK/fresh" <<'END'
set -eu
mkdir "$WORK/over"
mount -t tmpfs none "$WORK/over"
for place in etc usr var; do
    mkdir "$WORK/over/$place" "$WORK/over/$place.work"
    mount -t overlay overlay -o "lowerdir=/$place,upperdir=$WORK/over/$place,workdir=$WORK/over/$place.work" "/$place"
done
mount -t tmpfs -o mode=755 none /run
rm -rf /var/spool/rtf /etc/rtf /etc/init.d/rtf
sed -i '/^rtf[:-]/d' /etc/passwd /etc/shadow /etc/group /etc/gshadow # removes the accounts of an rtf that is installed on this machine
useradd --no-create-home rtfann
sed -i 's/USER/rtfann/' "$WORK/printed"
cd "$RTF_SOURCE"
end() { [ ! -x /etc/init.d/rtf ] || /etc/init.d/rtf stop; }
trap end EXIT
printed() { sed -n "$1p" "$WORK/printed" >"$WORK/some"; sh -e "$WORK/some"; }
broker() { sed -n 's/.*(\([0-9]*\))$/\1/p' "$1"; }
END
}

# fresh SCRIPT: runs the script on the machine with these copies.
fresh() {
    echo "$1" >"$WORK/script"
    unshare --mount --propagation private sh -c '. "$WORK/fresh" && . "$WORK/script"' >"$WORK/said" 2>&1 3>&- || { cat "$WORK/said" >&2; return 1; }
}

@test "each line works in its order, and a user's spec is granted" {
    fresh '
        printed 1,8
        printed 9 || [ $? -eq 1 ] # other processes may have real-time threads here
        [ "$(getent group rtf)" != "" ]
        [ "$(stat -c %G /var/spool/rtf/specs)" = rtf ]
        ps -o user= -C fp | grep -q rtf
        setpriv --reuid rtfann --regid rtfann --init-groups env USER=rtfann /usr/bin/rtf run --plugin FP --priority 15 -T 20ms -P 100ms -- chrt -p 0 >$WORK/chrt
        grep -q SCHED_FIFO $WORK/chrt
        setpriv --reuid rtfann --regid rtfann --init-groups env USER=rtfann /usr/bin/rtf declare cam --plugin FP --priority 15 -T 1ms -P 100ms
        /etc/init.d/rtf status >$WORK/before
        printed 10
        printed 11
        printed 12 >$WORK/after
        [ "$(broker $WORK/before)" != "$(broker $WORK/after)" ]
        jq -e ".reservations == 1" /var/spool/rtf/status.json
        printed 13
        status=0; printed 12 || status=$?
        [ $status -eq 3 ]
    '
    grep -q 'rtf-brokerd is not running' "$WORK/said"
}

@test "start raises the limit of open files" {
    fresh '
        printed 1,5
        mkdir $WORK/stub
        printf "#!/bin/sh\n" >$WORK/stub/rtf-brokers
        printf "#!/bin/sh\nulimit -Sn >\"$WORK/soft\"; ulimit -Hn >\"$WORK/hard\"\n" >$WORK/stub/rtf-brokerd
        chmod 755 $WORK/stub/*
        grep -qx "FILES=524288 .*" /etc/init.d/rtf
        printf "LIBEXEC=$WORK/stub\nFILES=10000\n" >/etc/default/rtf
        prlimit --nofile=1024:15000 /etc/init.d/rtf start
        rm /etc/default/rtf
    '
    [ "$(cat "$WORK/soft" "$WORK/hard")" = "10000
10000" ]
}

# bats test_tags=turn:0
@test "the init script starts twice and stops twice, refuses a wrong configuration, and notices a killed broker" {
    fresh '
        printed 1,5
        status=0; /etc/init.d/rtf status || status=$?
        [ $status -eq 3 ]
        status=0; /etc/init.d/rtf reload || status=$?
        [ $status -eq 7 ]
        /etc/init.d/rtf stop
        /etc/init.d/rtf start
        /etc/init.d/rtf status >$WORK/one
        /etc/init.d/rtf start
        /etc/init.d/rtf status >$WORK/two
        diff $WORK/one $WORK/two
        cp /etc/rtf/acl.conf $WORK/acl.conf
        echo one word >>/etc/rtf/acl.conf
        status=0; /etc/init.d/rtf reload || status=$?
        [ $status -eq 78 ]
        cp $WORK/acl.conf /etc/rtf/acl.conf
        /etc/init.d/rtf reload
        setpriv --reuid rtfann --regid rtfann --clear-groups /etc/init.d/rtf stop || status=$?
        [ $status -eq 4 ]
        kill -9 $(broker $WORK/one)
        while [ -d /proc/$(broker $WORK/one) ]; do sleep 0.05; done
        status=0; /etc/init.d/rtf status || status=$?
        [ $status -eq 3 ]
        /etc/init.d/rtf start
        status=0; /etc/init.d/rtf nonsense || status=$?
        [ $status -eq 2 ]
        echo SPOOL=/var/spool/other >/etc/default/rtf
        /etc/init.d/rtf start
        [ -p /var/spool/other/alive ]
        /etc/init.d/rtf stop
        rm /etc/default/rtf
        /etc/init.d/rtf status
    '
}
