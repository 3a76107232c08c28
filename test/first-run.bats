# bats file_tags=lane:alone
# The files that a first run makes on a machine that never had rtf, and then removes again.
load helper

prepare() {
    export WORK CONFIG GROUP
    cat >"$WORK/fresh" <<'END'
set -eu
mount -t tmpfs -o mode=755 none /mnt
for kept in "$RTF_STAGE" "$WORK" "$RTF_SOURCE"; do
    mkdir -p "/mnt$kept"
    mount --bind "$kept" "/mnt$kept"
done
for place in /run /var/spool /var/tmp; do mount -t tmpfs -o mode=755 none $place; done
mount -t tmpfs -o mode=1777 none /tmp
chmod 1777 /var/tmp
for kept in "$RTF_STAGE" "$WORK" "$RTF_SOURCE"; do
    mkdir -p "$kept"
    mount --bind "/mnt$kept" "$kept"
done

serve() { # SPOOL: starts a broker, and returns when it serves; $broker is its process
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$1" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 &
    broker=$!
    echo $broker >>"$WORK/pids"
    until dd if=/dev/null of="$1/alive" oflag=nonblock conv=notrunc,nocreat 2>/dev/null; do
        kill -0 $broker
        sleep 0.01
    done
}

end() { # PROCESS SIGNAL
    kill "-$2" "$1"
    wait "$1" || :
}

inode() { stat -c %i /run/rtf; }

what_is_there() { # without the files that /tmp keeps
    find /run /var/spool /var/tmp /tmp -xdev -printf '%p %y %m %u %g\n' | grep -Ev "^(/tmp|$RTF_STAGE|$WORK|$RTF_SOURCE)" | sort
    grep -r '' /proc/sys/kernel/sched_* | sort
}
END
}

# fresh SCRIPT: runs the script with these functions in a mount namespace where /run, /var/spool, /var/tmp and /tmp are empty, except
# for the files of the tests in /tmp.
fresh() {
    echo "$1" >"$WORK/script"
    unshare --mount --propagation private sh -c '. "$WORK/fresh" && . "$WORK/script"' 3>&-
}

@test "the demo leaves nothing behind" {
    run fresh '"$RTF_SOURCE/contrib/demo" --quick "$RTF_STAGE"'
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^  ok      no process, file, mount, cgroup or kernel setting was left behind or changed$' <<<"$output"
}

@test "a checkout that only root can enter is tested, too, by a relative path" {
    mkdir -p -m 700 "$WORK/closed"
    mkdir "$WORK/closed/rtf"
    tar -C "$RTF_SOURCE" --exclude ./.git --exclude ./build/fuzz --exclude ./build/lint --exclude ./build/sanitized --exclude ./build/unit -cf - . | tar -C "$WORK/closed/rtf" -xf -
    # shellcheck disable=SC2016 # the other file's
    printf '%s\n' 'load helper' '@''test "a user of the tests reads the checkout" { as $ALICE test -x "$RTF_SOURCE/contrib/plugins/units"; [ "$LC_ALL" = C.UTF-8 ]; }' \
        '@''test "another one" { false; }' >"$WORK/closed/rtf/test/one.bats"
    cd "$WORK/closed/rtf"
    run env -i FILTER=reads PATH=/usr/sbin:/usr/bin:/sbin:/bin test/run test/one.bats
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *'1 passed, 0 failed' ]]
    [ -z "$(find /tmp -maxdepth 1 -name 'rtf-checkout.*' -newer test/one.bats)" ]
}

# bats test_tags=turn:2
@test "the demo finds its own leftovers, and does not report files that others make meanwhile" {
    fresh '
        tree=$WORK/tree/usr
        mkdir -p $tree/libexec
        cp -R $RTF_BIN $tree/bin
        cp -R $RTF_LIBEXEC $tree/libexec/rtf
        mv $tree/libexec/rtf/rtf-brokerd $tree/libexec/rtf/rtf-real
        cat >$tree/libexec/rtf/rtf-brokerd <<END
#!/bin/sh
. $WORK/meanwhile
exec $tree/libexec/rtf/rtf-real "\$@"
END
        chmod 755 $tree/libexec/rtf/rtf-brokerd
        finds() { # finds FOUND SCRIPT: runs the demo, and SCRIPT meanwhile. The demo finds FOUND at its end.
            echo "$2" >$WORK/meanwhile
            "$RTF_SOURCE/contrib/demo" --quick $WORK/tree >$WORK/said 2>&1 || :
            sed -n "s/^ *found: *//p" $WORK/said >$WORK/found
            [ "$(cat $WORK/found)" = "$1" ] || { cat $WORK/said; exit 1; }
        }
        finds "file /run/rtf.pid" "touch /run/rtf.pid"
        finds "file /var/spool/rtf" "mkdir /var/spool/rtf"
        finds "file /run/rtf" "mkdir /run/rtf"
        finds "" "touch /tmp/rtf-others /var/tmp/rtf-others; mkdir -p /var/spool/others && mount -t tmpfs none /var/spool/others"
        # Another broker starts, and still runs at the end.
        rmdir /run/rtf
        finds "" "$RTF_LIBEXEC/rtf-brokerd --spool $WORK/spool --config $CONFIG --group $GROUP"
        pkill -TERM -f "^$RTF_LIBEXEC/rtf-brokerd --spool $WORK/spool "
    '
}

@test "a broker that starts and ends leaves nothing outside of its spool, however it ends" {
    fresh '
        what_is_there >$WORK/before
        for signal in TERM INT TERM KILL TERM; do
            serve $WORK/spool
            [ -d /run/rtf ]
            end $broker $signal
            # After SIGINT or SIGKILL the broker has left its journal for the next one.
            if [ $signal = TERM ]; then what_is_there | diff $WORK/before -; else what_is_there | grep -v "^/run/rtf" | diff $WORK/before -; fi
        done
        "$RTF_LIBEXEC/rtf-brokerd" --spool $WORK/spool --config $CONFIG --group $GROUP --put-back
        what_is_there | diff $WORK/before -
    '
}

@test "the last of two brokers removes /run/rtf, but neither with something in it nor if it was there before" {
    fresh '
        serve $WORK/spool
        first=$broker
        was=$(inode)
        serve $WORK/second
        end $first TERM
        [ "$(inode)" = "$was" ]
        second=$broker
        serve $WORK/spool
        end $second TERM
        [ "$(inode)" = "$was" ]
        touch /run/rtf/used
        end $broker TERM
        [ "$(inode)" = "$was" ]
        rm /run/rtf/used
        serve $WORK/spool
        end $broker TERM
        [ ! -e /run/rtf ]

        mkdir -m 755 /run/rtf
        was=$(inode)
        serve $WORK/spool
        end $broker TERM
        [ "$(inode)" = "$was" ]
    '
}

@test "brokers that come and go beside each other each find /run/rtf in place" {
    fresh '
        keeps_going() {
            for round in 1 2 3 4 5 6 7 8 9 10; do
                serve $WORK/$1
                inode >/dev/null
                end $broker TERM
            done
        }
        keeps_going one &
        one=$!
        keeps_going other
        wait $one
        [ ! -e /run/rtf ]
    '
}

@test "domains that are made by hand leave nothing behind, either" {
    if ! grep -q cpuset /proc/self/mounts /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then skip "no cpuset controller"; fi
    fresh '
        "$RTF_LIBEXEC/rtf-partition" setup 1
        [ -e /run/rtf/domains ]
        serve $WORK/spool
        end $broker TERM
        "$RTF_LIBEXEC/rtf-partition" show | grep -q rtf-partition
        "$RTF_LIBEXEC/rtf-partition" restore
        [ ! -e /run/rtf ]
        [ "$("$RTF_LIBEXEC/rtf-partition" setup 4000 2>&1 || echo $?)" != 0 ]
        [ ! -e /run/rtf ]
    '
}
