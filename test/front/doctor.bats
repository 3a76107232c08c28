# rtf doctor: the tests make each cause that doctor knows, really where the kernel allows that. Without a cause there is no finding.
#
# Other processes may be real-time on this machine meanwhile. So the tests ask only whether a finding is there. They expect no finding only where
# processes of other users cannot be seen.
load ../helper
load ../command
load front

prepare() { configure_rules "$ALICE - max_utilization 2" "$ALICE - max_period 1s"; }

tidy() {
    [ -z "${STEALING:-}" ] || kill "$STEALING" 2>/dev/null || true
    if mountpoint -q "$SPOOL"; then umount -l "$SPOOL"; fi
    if [ -d /sys/fs/cgroup/cpu/rtf-doctor ]; then
        if [ -n "${SLEEPER:-}" ]; then echo "$SLEEPER" >/sys/fs/cgroup/cpu/tasks 2>/dev/null || true; fi
        eventually rmdir /sys/fs/cgroup/cpu/rtf-doctor
    fi
}

doctor() { "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" "$@"; }

# finds CODE PATTERN [COMMAND...]: the command, or doctor, prints exactly one line with this code and pattern, and exits with 1.
finds() {
    local code=$1 pattern=$2 status=0
    shift 2
    [ $# -gt 0 ] || set -- doctor
    "$@" >"$WORK/said" 2>"$WORK/err" || status=$?
    # A command in a finding can be pasted: it begins with a small letter.
    lacks '\. \(Sysctl\|Taskset\|Ch\(mod\|own\|grp\)\|Newgrp\|Systemctl\|Echo\|Rtf\|Rtf-brokerd\|Touch\|Rm\) ' "$WORK/said" || return 1
    while read -r line; do
        # shellcheck disable=SC2053 # the sentence is a pattern
        if [[ $line == "$code: "$pattern ]] && [ "$status" -eq 1 ] && [ ! -s "$WORK/err" ]; then return 0; fi
    done <"$WORK/said"
    printf 'status %s; said: %s\n' "$status" "$(cat "$WORK/said" "$WORK/err")" >&2
    return 1
}

# finds_not CODE [COMMAND...]: the command, or doctor, prints no line with this code.
finds_not() {
    local code=$1
    shift
    [ $# -gt 0 ] || set -- doctor
    "$@" >"$WORK/said" 2>"$WORK/err" || true
    [ ! -s "$WORK/err" ] || { cat "$WORK/err" >&2; return 1; }
    if grep "^$code: " "$WORK/said" >&2; then return 1; fi
}

rtf_root() { "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }
as_alice() { as $ALICE "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" "$@"; }

# Alone: other lanes change settings of the whole machine.
# bats test_tags=machine
@test "a machine where nothing is wrong gets one line, and nothing else" {
    mkdir -m 777 "$WORK/here"
    cat >"$WORK/script" <<'END'
cd "$WORK/here"
"$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >"$WORK/broker.out" 2>&1 &
broker=$!
until dd if=/dev/null of="$SPOOL/alive" oflag=nonblock conv=notrunc,nocreat 2>/dev/null; do kill -0 $broker; sleep 0.01; done
for user in 0 $ALICE; do
    for locale in C C.UTF-8; do
        LC_ALL=$locale NO_COLOR=1 setpriv --reuid $user --regid $user --groups $GROUP "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" </dev/null | cat
    done
    setpriv --reuid $user --regid $user --groups $GROUP "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" --json | jq -c .
done
kill $broker
wait $broker
END
    export SPOOL CONFIG GROUP ALICE WORK
    gets_a_clean_bill
    nothing_in "$WORK/here"
}

gets_a_clean_bill() {
    unshare --mount --propagation private --pid --fork --kill-child --mount-proc sh -eu "$WORK/script" >"$WORK/said" 2>&1 3>&- || { cat "$WORK/said" >&2; false; }
    healthy="All is well: the broker serves $SPOOL with EDF, FP, RR; reservations: 0, with a thread: 0."
    printf '%s\n' "$healthy" "$healthy" '{"schema":1,"findings":[]}' >"$WORK/expected"
    cat "$WORK/expected" "$WORK/expected" | diff - "$WORK/said"
}

is_running() { [ -n "$(helpers "$1")" ]; }

# bats test_tags=turn:0
@test "doctor finds that no broker runs, or that the broker is starting" {
    finds no-spool "there is no spool at $SPOOL. Start the broker as root with 'rtf-brokerd --spool $SPOOL': it makes the spool; or name another spool with --spool."
    cat >"$WORK/slow" <<END
#!/bin/sh
until [ -e $WORK/go ]; do sleep 0.05; done
exec $RTF_LIBEXEC/plugins/rr "\$@"
END
    chmod 755 "$WORK/slow"
    configure_plugins "SLOW $WORK/slow 1-10 all timeout=9s"
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    eventually test -p "$SPOOL/alive"
    # The broker is stopped, so that the plugin's time to answer does not run out while doctor works. The test runs a user's doctor, because root's doctor also
    # makes the broker ask the plugins.
    eventually is_running name=SLOW
    kill -STOP "$BROKER"
    finds broker-starting "the broker of $SPOOL has been started and does not serve yet*" as_alice
    touch "$WORK/go"
    eventually is_running 'plugins/rr .*name=SLOW'
    kill -CONT "$BROKER"
    eventually broker_serves
    eventually finds_not broker-starting as_alice
    finds_not no-broker as_alice
    broker_stop TERM
    finds no-broker "no broker serves $SPOOL. Start the broker as root with 'rtf-brokerd --spool $SPOOL'. *"
    finds config "there is no $WORK/none. *" as_alice --config "$WORK/none"
    as_alice >"$WORK/said" || true
    grep -q '^no-broker: ' "$WORK/said"
}

# The parts of rtf-doctor share their names: the last function of a name would take the place of the others.
@test "no two functions of doctor have the same name" {
    [ "$(cat "$RTF_LIBEXEC/front/rtf-doctor" "$RTF_LIBEXEC"/front/doctor/*.sh "$RTF_LIBEXEC/front/front.sh" | grep -oE '^[a-z_]+\(\)' | sort | uniq -d)" = '' ]
}

# bats test_tags=turn:1
@test "doctor names a broker that is stopped, for a user and for root" {
    broker_start
    finds_not broker-stopped as_alice
    kill -STOP "$BROKER"
    finds broker-stopped "the broker of $SPOOL (process $BROKER) is stopped: it answers no spec. 'kill -CONT $BROKER' as root." as_alice
    at_once finds broker-stopped "the broker of $SPOOL (process $BROKER) is stopped: *" # root's doctor does not wait for the books of a stopped broker
    kill -CONT "$BROKER"
    finds_not broker-stopped as_alice
}

# bats test_tags=turn:1
@test "doctor finds parts of a spool that have other owners or modes, or that are missing" {
    broker_start
    kill -STOP "$BROKER" # the broker would correct the mode
    chmod 755 "$SPECS"
    # A user runs doctor here, because root's doctor asks the stopped broker for its books, and waits for 10 s.
    finds spool "$SPECS has the mode 2755, not 3730. 'chmod 3730 $SPECS'." as_alice
    chmod 3730 "$SPECS"
    kill -CONT "$BROKER"
    chown 1 "$SPOOL/log"
    finds spool "$SPOOL/log belongs to uid 1, not to root. 'chown root $SPOOL/log'."
    chown 0 "$SPOOL/log"
    chgrp 1 "$SPOOL/alive"
    finds spool "$SPOOL/alive has the group 1, not $GROUP. *"
    chgrp $GROUP "$SPOOL/alive"
    mv "$SPOOL/status.json" "$WORK/status.json"
    finds spool "$SPOOL/status.json is missing. *"
    mkdir "$SPOOL/status.json"
    finds spool "$SPOOL/status.json is a directory, not a regular file. *"
    rmdir "$SPOOL/status.json"
    mv "$WORK/status.json" "$SPOOL/status.json"
    finds_not spool
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}' >/dev/null
    kill -STOP "$(helpers rtf-adopter)" # the adopter would correct the mode
    chmod 2755 "$SPECS/$ALICE"
    finds directory "$SPECS/$ALICE has the mode 2755, not 2700*" as_alice
    kill -CONT "$(helpers rtf-adopter)"
}

# bats test_tags=turn:2
@test "doctor finds a user who is not in the group, and a user who joined it after the login" {
    broker_start
    finds not-member "you are not in the group $GROUP, *usermod -a -G*" stranger $ALICE "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG"
    finds not-member "this process has the group $GROUP, but uid $BOB is no member*" as $BOB "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG"
    finds_not not-member as_alice
    cp /etc/group "$WORK/group"
    cp /etc/passwd "$WORK/passwd"
    echo "rtftest:x:$GROUP:rtfann" >>"$WORK/group"
    echo "rtfann:x:$CAROL:$CAROL::/:/bin/sh" >>"$WORK/passwd"
    cat >"$WORK/script" <<END
mount --bind "$WORK/group" /etc/group
mount --bind "$WORK/passwd" /etc/passwd
exec setpriv --reuid $CAROL --regid $CAROL --clear-groups "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG"
END
    finds login "you became a member of the group rtftest after you logged in. Log in again, or 'newgrp rtftest'." \
        unshare --mount --propagation private sh -eu "$WORK/script"
}

# Alone: while a broker of another lane lifts the limit (sched_rt_runtime_us is -1), the kernel refuses no thread.
# bats test_tags=turn:0,machine
@test "doctor finds a cpu cgroup without real-time runtime" {
    [ -e /sys/fs/cgroup/cpu/cpu.rt_runtime_us ] || skip 'no real-time group scheduling here'
    broker_start
    sleeper $ALICE
    mkdir /sys/fs/cgroup/cpu/rtf-doctor
    echo "$SLEEPER" >/sys/fs/cgroup/cpu/rtf-doctor/tasks
    finds rt-group "process $SLEEPER (sleep) is in the cpu cgroup /sys/fs/cgroup/cpu/rtf-doctor, which has no real-time runtime*SCHED_FIFO or SCHED_RR. 'echo 10000 > */cpu.rt_runtime_us'*" \
        as_alice -p "$SLEEPER"
    # The kernel really refuses.
    no chrt -f -p 1 "$SLEEPER"
    echo 1000 >/sys/fs/cgroup/cpu/rtf-doctor/cpu.rt_runtime_us
    finds_not rt-group as_alice -p "$SLEEPER"
}

# bats test_tags=turn:1
@test "doctor finds a narrowed affinity of the shell or of one thread" {
    [ "$(nproc)" -ge 2 ] || skip 'one CPU only'
    broker_start
    finds affinity "this shell may run on CPU 0 only, not on *'taskset -pc*" taskset -c 0 "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG"
    finds_not affinity
    sleeper $ALICE
    taskset -pc 1 "$SLEEPER" >/dev/null
    finds affinity "thread $SLEEPER (sleep) may run on CPU 1 only*" as_alice -p "$SLEEPER"
    finds affinity "thread $SLEEPER (sleep) may run on CPU 1 only*" doctor -p "$SLEEPER"
}

# bats test_tags=turn:2
@test "doctor finds periods that the rules allow and the kernel refuses" {
    broker_start
    finds_not periods
    configure_rules "$ALICE - max_utilization 2" "$ALICE - min_period 50us" "$ALICE - max_period 1s"
    finds periods "the kernel takes no SCHED_DEADLINE period below *us, and the rules allow 50us*"
    configure_rules "$ALICE - max_utilization 2" "$ALICE - max_period 3600s"
    finds periods "the kernel takes no SCHED_DEADLINE period above *us, and the rules allow 3600000000us*"
}

# bats test_tags=turn:0
@test "doctor finds real-time threads outside of rtf, and their bandwidth" {
    broker_start
    chrt -f 7 sleep "$SLEEPS" 3>&- &
    other=$!
    echo $other >>"$WORK/pids"
    eventually is_policy $other fifo
    finds foreign "process $other (sleep), of uid 0, has 1 fifo thread (priority 7) outside of rtf. *"
    kill $other
    chrt -d --sched-runtime 1000000 --sched-period 100000000 0 sleep "$SLEEPS" 3>&- &
    other=$!
    echo $other >>"$WORK/pids"
    eventually is_policy $other deadline
    finds taken "SCHED_DEADLINE threads outside of rtf have 0.*of a CPU (*$other*): *"
    as_alice >"$WORK/said" || true
    grep -q "^taken: .*$other" "$WORK/said"
    # doctor does not report a thread that a broker has attached.
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    eventually is_policy "$SLEEPER" deadline
    doctor >"$WORK/said" || true
    no grep -E "\b$SLEEPER\b" "$WORK/said"
    as_alice >"$WORK/said" || true
    no grep -E "\b$SLEEPER\b" "$WORK/said"
    # doctor does not report the guard. The guard is SCHED_DEADLINE since the first such thread.
    guard=$(helpers rtf-guard)
    is_policy "$guard" deadline
    lacks "\b$guard\b" "$WORK/said"
}

@test "doctor does not report the grants of a killed broker as outside of rtf" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    eventually is_policy "$SLEEPER" deadline
    broker_stop KILL
    doctor >"$WORK/said" || true
    grep -q '^no-broker: ' "$WORK/said"
    lacks "\b$SLEEPER\b" "$WORK/said"
}

# made_up ROOT FILE CONTENT: writes a file in /proc or /sys of an imitated machine.
made_up() { mkdir -p "$(dirname "$1/$2")" && printf '%s\n' "$3" >"$1/$2"; }

# bats test_tags=turn:1
@test "doctor finds a slow clock, coarse timers, suspends and leaked bandwidth on an imitated machine" {
    broker_start
    root=$WORK/root
    made_up "$root" sys/devices/system/cpu/online 0
    made_up "$root" sys/devices/system/clocksource/clocksource0/current_clocksource tsc
    made_up "$root" sys/power/suspend_stats/success 0
    made_up "$root" proc/timer_list '  .resolution: 1 nsecs'
    made_up "$root" sys/kernel/debug/sched/debug $'dl_rq[0]:\n  .dl_bw->bw                     : 996147\n  .dl_bw->total_bw               : 0'
    for code in clock suspend leaked; do finds_not $code doctor --root "$root"; done
    made_up "$root" sys/devices/system/clocksource/clocksource0/current_clocksource hpet
    finds clock "the kernel's clock is hpet, which takes a microsecond*" doctor --root "$root"
    made_up "$root" sys/devices/system/clocksource/clocksource0/current_clocksource kvm-clock
    made_up "$root" proc/timer_list '  .resolution: 4000000 nsecs'
    finds clock 'timers have a resolution of 4000000ns: *highres=off*' doctor --root "$root"
    made_up "$root" sys/power/suspend_stats/success 3
    finds suspend 'the machine was suspended 3 times since boot*' doctor --root "$root"
    made_up "$root" sys/kernel/debug/sched/debug $'dl_rq[0]:\n  .dl_bw->bw                     : 996147\n  .dl_bw->total_bw               : 996147'
    finds leaked 'the kernel counts 0.* of a CPU for SCHED_DEADLINE threads that have ended*' doctor --root "$root"
}

# bats test_tags=turn:2
@test "doctor tells the kernel's limit for real-time threads, and the periods that the kernel takes" {
    broker_start
    root=$WORK/root
    made_up "$root" sys/devices/system/cpu/online 0
    made_up "$root" proc/sys/kernel/sched_rt_period_us 1000000
    made_up "$root" proc/sys/kernel/sched_rt_runtime_us 950000
    made_up "$root" proc/sys/kernel/sched_deadline_period_min_us 100
    made_up "$root" proc/sys/kernel/sched_deadline_period_max_us 4194304
    for code in rt-runtime periods; do finds_not $code doctor --root "$root"; done
    made_up "$root" proc/sys/kernel/sched_rt_runtime_us 500000
    finds rt-runtime 'real-time threads have 50 % of each CPU (sched_rt_runtime_us is 500000 of 1000000). ?sysctl kernel.*' doctor --root "$root"
    made_up "$root" proc/sys/kernel/sched_rt_runtime_us 0
    finds rt-runtime 'the kernel gives real-time threads no time at all (*is 0). ?sysctl kernel.sched_rt_runtime_us=950000?.' doctor --root "$root"
    made_up "$root" proc/sys/kernel/sched_rt_runtime_us -1
    finds rt-runtime 'sched_rt_runtime_us is -1: *and no line of plugins.conf asks for that. *--put-back*' doctor --root "$root"
    made_up "$root" run/rtf/throttle "$(printf 'boot=1\nformer=950000\nby=/srv/rtf')"
    finds rt-runtime 'sched_rt_runtime_us is -1: *; the broker of /srv/rtf does. ?rtf-brokerd --put-back --spool /srv/rtf?, if *' doctor --root "$root"
    echo 'OTHER edf - 0 partition=unthrottled' >>"$CONFIG/plugins.conf"
    finds_not rt-runtime doctor --root "$root"
    made_up "$root" proc/sys/kernel/sched_deadline_period_min_us 200
    made_up "$root" proc/sys/kernel/sched_deadline_period_max_us 500000
    finds periods 'the kernel takes no SCHED_DEADLINE period below 200us, and the rules allow 100us. *' doctor --root "$root"
    finds periods 'the kernel takes no SCHED_DEADLINE period above 500000us, and the rules allow 1000000us. *' doctor --root "$root"
}

# virtual_machine ROOT: imitates a virtual machine, of which the hypervisor has taken 12 s since boot.
virtual_machine() {
    made_up "$1" proc/cpuinfo 'flags		: fpu vme hypervisor lahf_lm'
    made_up "$1" proc/stat 'cpu  100 0 100 1000 0 0 0 1200 0 0'
}

# steals ROOT: imitates a hypervisor that takes time all the while.
steals() {
    local ticks=1200
    while sleep 0.01; do
        ticks=$((ticks + 1))
        printf 'cpu  100 0 100 1000 0 0 0 %d 0 0\n' "$ticks" >"$1/proc/.stat"
        mv "$1/proc/.stat" "$1/proc/stat"
    done
}

# bats test_tags=turn:2
@test "doctor finds a hypervisor and changing speeds where a line guarantees deadlines, unless supply= says what the CPUs give" {
    broker_start
    root=$WORK/root
    virtual_machine "$root"
    for cpu in 0 1 2 10; do made_up "$root" sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor performance; done
    for code in hypervisor frequency; do finds_not $code doctor --root "$root"; done # no line of the broker guarantees deadlines
    printf '%s\n' 'DEMAND edf - 0 partition=unthrottled admission=demand' 'RM /opt/rm 21-30	0' \
        'SUM edf - all' 'WEAK rm 31-40 0 admission=necessary' 'CUT rm 41-50 0 admission=rta supply=0.9,5ms' >"$CONFIG/plugins.conf"
    finds hypervisor "a hypervisor can take this machine's CPUs away (since boot for 12 s, while rtf doctor looked for 0 ms), and then threads of DEMAND, RM can \
miss deadlines that plugins.conf guarantees. Write the supply= that 'rtf muse supply' measures into these lines*" doctor --root "$root"
    made_up "$root" proc/stat 'cpu  100 0 100 1000 0 0 0 0 0 0'
    finds hypervisor "a hypervisor can take * (since boot for 0 s, *" doctor --root "$root"
    made_up "$root" proc/cpuinfo 'flags		: fpu vme lahf_lm'
    finds_not hypervisor doctor --root "$root"
    made_up "$root" sys/hypervisor/type xen
    finds hypervisor "a hypervisor can take *" doctor --root "$root"
    rm "$root/sys/hypervisor/type"
    steals "$root" 3>&- &
    STEALING=$!
    eventually finds hypervisor "a hypervisor can take * (since boot for * s, while rtf doctor looked for [1-9]* ms)*" doctor --root "$root"
    kill "$STEALING"
    for cpu in 1 2 10; do made_up "$root" sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor schedutil; done
    for limit in min max; do made_up "$root" sys/devices/system/cpu/cpu2/cpufreq/scaling_${limit}_freq 2000000; done
    finds frequency "the kernel changes the speed of CPU 1,10 (governor schedutil), and below * threads of DEMAND, RM can miss deadlines *" doctor --root "$root"
    sed -i -e '/^DEMAND\|^RM/s/$/ supply=1,0us/' "$CONFIG/plugins.conf"
    for code in hypervisor frequency; do finds_not $code doctor --root "$root"; done
}

# bats test_tags=turn:2
@test "doctor says who enforces runtimes of whole processes, and what an imitated kernel has for them" {
    by='Runtimes of whole processes (enforce=process): rtf-guard enforces them, by a perf event on a cgroup.'
    broker_start
    root=$WORK/root
    made_up "$root" sys/devices/system/cpu/online 0
    made_up "$root" proc/self/mounts 'cgroup /groups/cpu cgroup rw,cpu,cpuacct 0 0
cgroup /groups/cpuset cgroup rw,cpuset 0 0
cgroup2 /groups/two cgroup2 rw 0 0'
    mkdir -p "$root/groups/cpu" "$root/groups/two/system.slice"
    doctor --root "$root" >"$WORK/said" || true
    lacks 'whole processes' "$WORK/said" # no line of plugins.conf bounds whole processes
    echo 'WHOLE fp 21-25 0 enforce=process' >>"$CONFIG/plugins.conf"
    doctor --root "$root" >"$WORK/said" || true
    [ "$(tail -n 1 "$WORK/said")" = "$by This kernel cannot itself bound the real-time CPU time of a cgroup." ]
    touch "$root/groups/cpu/cpu.rt_runtime_us"
    doctor --root "$root" >"$WORK/said" || true
    [ "$(tail -n 1 "$WORK/said")" = "$by This kernel could enforce them itself, by RT_GROUP_SCHED (cpu.rt_runtime_us); rtf does not use that." ]
    touch "$root/groups/two/system.slice/cpu.rt.max"
    doctor --root "$root" --json >"$WORK/said" || true
    [ "$(jq -c .process_budget "$WORK/said")" = '{"by":"rtf-guard","kernel":["HCBS (cpu.rt.max)","RT_GROUP_SCHED (cpu.rt_runtime_us)"]}' ]
    made_up "$root" proc/cmdline 'quiet cgroup_no_v1=memory,net_cls'
    finds_not process-budget doctor --root "$root"
    made_up "$root" proc/cmdline 'quiet cgroup_no_v1=all'
    finds process-budget 'the kernel was booted without the perf_event hierarchy*' doctor --root "$root"
}

# bats test_tags=turn:0
@test "doctor finds a shell in a cgroup without real-time runtime, in a cpuset, and in a container" {
    broker_start
    root=$WORK/root
    made_up "$root" sys/devices/system/cpu/online 0-3
    made_up "$root" proc/self/status $'Name:\tsh\nCpus_allowed_list:\t0-3'
    made_up "$root" proc/self/uid_map '0 0 4294967295'
    made_up "$root" proc/self/mounts "cgroup $WORK/cgroup cgroup rw,cpu,cpuacct 0 0"
    made_up "$root" proc/self/cgroup $'4:cpuset:/jail\n3:cpu,cpuacct:/user.slice'
    made_up "$WORK" cgroup/user.slice/cpu.rt_runtime_us 10000
    for code in rt-group affinity namespace; do finds_not $code doctor --root "$root"; done
    made_up "$WORK" cgroup/user.slice/cpu.rt_runtime_us 0
    finds rt-group "this shell is in the cpu cgroup $WORK/cgroup/user.slice, which has no real-time runtime: *rt_group_sched=0*" doctor --root "$root"
    made_up "$root" proc/self/status $'Name:\tsh\nCpus_allowed_list:\t0,2'
    finds affinity 'this shell may run on CPU 0,2 only, not on 1,3; *?taskset -pc 0-3 *' doctor --root "$root"
    made_up "$root" proc/self/cpuset /jail
    finds affinity 'this shell may run on CPU 0,2 only, not on 1,3, and is in the cpuset /jail. Move it *' doctor --root "$root"
    made_up "$root" proc/self/uid_map '0 100000 65536'
    finds namespace 'this shell is in a user namespace: its uids are other uids on the host. *' doctor --root "$root"
    mkdir "$root/proc/self/ns"
    ln -s 'pid:[4026532567]' "$root/proc/self/ns/pid"
    mkdir -p "$root/proc/$BROKER/ns"
    ln -s 'pid:[4026531836]' "$root/proc/$BROKER/ns/pid"
    finds namespace 'this shell is in another pid namespace than the broker: *' doctor --root "$root"
}

# bats test_tags=turn:2
@test "doctor finds a shell and a process in another pid namespace than the broker" {
    broker_start
    finds namespace '*pid namespace*a thread has another id there*' unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
        setpriv --reuid $ALICE --regid $ALICE --groups $GROUP "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG"
    finds_not namespace as_alice
    unshare --pid --fork --kill-child sleep "$SLEEPS" 3>&- &
    echo $! >>"$WORK/pids"
    eventually pgrep -P $!
    inside=$(pgrep -P $!)
    finds namespace "process $inside (sleep) is in another pid namespace than the broker*" doctor -p "$inside"
}

# bats test_tags=turn:1
@test "doctor finds a process in a user namespace that maps uids to others" {
    broker_start
    finds namespace 'this shell is in a user namespace: its uids are other uids on the host. *' as $ALICE unshare --user --map-current-user \
        "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG"
    # In this user namespace the owners of other files and threads cannot be seen, so doctor tells nothing about them.
    lacks '65534' "$WORK/said"
    lacks '^spool: \|^config: \|^foreign: ' "$WORK/said"
    become $ALICE unshare --user --map-current-user sleep "$SLEEPS" 3>&- &
    inside=$!
    echo $inside >>"$WORK/pids"
    eventually is_sleep $inside
    finds namespace "process $inside (sleep) is in a user namespace*" doctor -p $inside
    finds_not namespace as_alice
}

# bats test_tags=turn:0
@test "doctor finds rules that match no user, and wrong files" {
    broker_start
    configure_rules "$ALICE - max_utilization 2" "$ALICE - max_runtime 20ms" "nobody-here - max_runtime 1s"
    finds rule 'acl.conf:3: nobody-here*the account database knows no such user. *'
    echo 'one word' >>"$CONFIG/acl.conf"
    finds config '*acl.conf:4:*rtf-brokerd --check*'
    rm "$CONFIG/acl.conf"
    finds config "*acl.conf cannot be read. *"
}

# bats test_tags=turn:1
@test "doctor finds an edit that the broker has not read, and a line that would be off after a restart" {
    # A name with a backslash (of a Windows domain) is an ordinary word.
    echo 'DOMAIN\ann - max_utilization 1' >>"$CONFIG/acl.conf"
    broker_start
    finds_not unread
    finds_not kept
    echo "$BOB - max_utilization 1" >>"$CONFIG/acl.conf"
    echo 'NET net - - resource=network interface=nosuch0 rate=10Mbit' >>"$CONFIG/plugins.conf"
    for who in '' as_alice; do
        finds unread "acl.conf:4: \"$BOB - max_utilization 1\" is not in force before rtf reload. Run 'rtf reload' as root*" $who
        finds unread "plugins.conf:4: \"NET net *\" is not in force before rtf restart. Run 'rtf restart' as root*" $who
        finds kept 'after a restart, plugins.conf:4: NET would be off: there is no interface nosuch0. *' $who
    done
    sed -i '$d' "$CONFIG/plugins.conf"
    rtf_root reload
    finds_not unread
}

@test "doctor finds a running program that an upgrade has replaced" {
    mkdir -m 755 "$WORK/programs"
    cp -r "$RTF_LIBEXEC/." "$WORK/programs"
    RTF_LIBEXEC=$WORK/programs broker_start
    finds_not replaced
    cp "$WORK/programs/rtf-logger" "$WORK/programs/rtf-logger.new"
    mv "$WORK/programs/rtf-logger.new" "$WORK/programs/rtf-logger"
    finds replaced "an upgrade has replaced the files of programs that still run: rtf-logger. Run 'rtf restart' *"
    finds_not replaced as_alice
}

@test "doctor finds a spool without room, and so do the commands" {
    mkdir "$SPOOL"
    mount -t tmpfs -o size=2M,mode=755 none "$SPOOL"
    broker_start
    finds_not full
    head -c 4M /dev/zero >"$SPOOL/log/filler" 2>/dev/null || true
    finds full "the file system $SPOOL of $SPOOL is full (No space left on device): it has no room*"
    finds full "*" as_alice
    for command in "declare cam -T 2ms -P 20ms" "run -T 2ms -P 20ms true"; do
        run as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" $command
        [ "$status" -ne 0 ]
        [[ $output == *"No space left on device"* ]] || { echo "$command: $output" >&2; false; }
    done
}

@test "doctor finds a broker that was killed while status.json says running, and a spool that no user may enter" {
    broker_start
    broker_stop KILL
    finds no-broker "no broker serves $SPOOL: the last broker was killed, or the machine went down, and status.json still says that it runs. *"
    chmod -R go-rwx "$SPOOL"
    finds spool "$SPOOL has the mode 700, not 755*" as_alice
    for command in "ls" "declare cam -T 2ms -P 20ms" "run -T 2ms -P 20ms true"; do
        run as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" $command
        [ "$status" -ne 0 ]
        [[ $output == *"(rtf doctor says why)" ]] || { echo "$command: $output" >&2; false; }
    done
    for command in ls top; do
        run -77 as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" "$command"
    done
}

@test "doctor, run in a directory that was removed, reports no problem of the rules" {
    broker_start
    mkdir "$WORK/removed"
    cd "$WORK/removed"
    rmdir "$WORK/removed"
    as_alice >"$WORK/said" 2>"$WORK/err" || true
    grep -q getcwd "$WORK/err" # the shell itself reports the directory
    lacks '^rule: ' "$WORK/said"
    "$RTF_BIN/rtf" acl check --config "$CONFIG" >"$WORK/out" 2>"$WORK/err"
    [ ! -s "$WORK/out" ]
    cd /
}

# bats test_tags=turn:1
@test "doctor finds files with names that the broker ignores, whatever is in the files" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}' >/dev/null
    as $ALICE sh -c 'cd "$1" && touch "my cam.json" Cam.JSON "$(printf "a\nb\033[2Jc.json")" .hidden 4 5' sh "$SPECS/$ALICE"
    finds ignored "in $SPECS/$ALICE the broker ignores \"4\", \"5\", \"Cam.JSON\" and 2 more. Rename the file: *" as_alice
    as $ALICE rm "$SPECS/$ALICE/4" "$SPECS/$ALICE/5" "$SPECS/$ALICE/Cam.JSON"
    finds ignored "in $SPECS/$ALICE the broker ignores *\"my cam.json\". *" as_alice
    no grep -q "$(printf '\033')" "$WORK/said"
    [ "$(grep -c '^ignored' "$WORK/said")" -eq 1 ]
    no grep -E 'hidden|"cam.json"' "$WORK/said"
}

# bats test_tags=turn:2
@test "doctor finds a plugin that does not serve" {
    broker_start
    jq '.plugins[1].state = "restarting"' "$SPOOL/status.json" >"$WORK/status"
    cat "$WORK/status" >"$SPOOL/status.json"
    finds plugin 'the plugin FP does not serve*'
}

# bats test_tags=turn:0
@test "doctor finds a spool that is drained" {
    broker_start
    "$RTF_BIN/rtf" --spool "$SPOOL" drain --no-wait
    finds draining "the administrator lets no new reservation begin: there is a file $SPOOL/draining. Wait; *" as_alice
}

# bats test_tags=turn:1
@test "doctor finds an attached thread that does not run as granted, for its owner and for root" {
    broker_start
    sleeper $ALICE
    spec $ALICE arm "{\"priority\": 15, \"attach\": $SLEEPER}" >/dev/null
    eventually is_policy "$SLEEPER" fifo
    finds_not drifted as_alice
    chrt -o -p 0 "$SLEEPER"
    finds drifted "thread $SLEEPER, attached to arm, runs under other, and is granted fifo. *'touch $SPECS/$ALICE/arm.json' puts it back*" as_alice
    finds drifted "*$ALICE/arm*$SLEEPER*"
}

# bats test_tags=turn:2
@test "doctor -p tells the owner of a program, its calls, and its scheduling without a reservation" {
    broker_start
    fails 66 'rtf doctor: there is no process 4194304*' doctor -p 4194304
    finds kernel-thread 'process 2 (kthreadd) is a thread of the kernel. *' doctor -p 2
    finds not-yours "process 1 (*) belongs to uid 0. *" as_alice -p 1
    sleeper $ALICE
    as_alice -p "$SLEEPER" | grep -qx "Nothing prevents a reservation for process $SLEEPER."
    chrt -f -p 3 "$SLEEPER"
    finds own-policy "thread $SLEEPER (sleep) is real-time, and no reservation of yours has made it so. *" as_alice -p "$SLEEPER"
    cp "$(readlink -f /usr/bin/python3)" "$WORK/player" # under the name python3, doctor would know that the program may set its policy
    become $ALICE env PYTHONHOME=/usr "$WORK/player" -c 'import time; time.sleep(300)' 3>&- &
    player=$!
    echo $player >>"$WORK/pids"
    eventually is_player $player
    finds sets-policy "process $player (player) can set its own policy (*sched_set*" as_alice -p $player
    finds sets-policy "process $player (player) can set its own policy (*sched_set*" doctor -p $player
    # From now on a FIFO has the name of the file that the program maps.
    rm "$WORK/player"
    mkfifo -m 666 "$WORK/player"
    grep -q "^$WORK/player" <(awk '{ print $6 }' "/proc/$player/maps")
    timeout 60 "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" -p $player >"$WORK/out" 2>&1 || [ $? -eq 1 ]
}
# bats test_tags=turn:1
@test "doctor -p finds the calls that the kernel will refuse, also those of a script" {
    broker_start
    printf 'import os, time\ntime.sleep(300)\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))\nlibc.mlockall(3)\n' >"$WORK/script.py"
    chmod 755 "$WORK"
    program_of() { # RTPRIO WORD...: runs a script as Alice, in the directory of the script
        (cd "$WORK" && exec prlimit --memlock=65536 --rtprio="$1" setpriv --reuid $ALICE --regid $ALICE --groups $GROUP "${@:2}" 3>&- >"$WORK/said.program" 2>&1) &
        PROGRAM=$!
        echo $PROGRAM >>"$WORK/pids"
        eventually has_begun
    }
    has_begun() { [[ $(cat "/proc/$PROGRAM/comm") == python3* ]] && [ "$(awk '{ print $2 }' <(grep ^VmSize "/proc/$PROGRAM/status"))" -gt 9000 ]; }
    python3=$(readlink -f /usr/bin/python3)
    program_of 0 "$python3" script.py
    for who in doctor as_alice; do
        finds sets-policy "process $PROGRAM (python3*) can set its own policy (sched_setscheduler), which the kernel refuses an ordinary user (EPERM); *clear its reset-on-fork*'rtf preload'*" $who -p "$PROGRAM"
        finds memory-lock "process $PROGRAM (python3*) can lock its memory (mlockall), and may lock 64 KiB of * (ENOMEM). 'prlimit --pid $PROGRAM --memlock=unlimited' *" $who -p "$PROGRAM"
    done
    kill "$PROGRAM"
    eventually has_ended "$PROGRAM"
    finds_not memory-lock as_alice -p $$
    prlimit --rtprio=4 true || return 0 # without CAP_SYS_RESOURCE root may not raise the limit
    program_of 4 "$python3" -c 'import time; time.sleep(300); os.sched_setscheduler'
    finds sets-policy "process $PROGRAM (*) can set its own policy (sched_setscheduler), which the kernel refuses above priority 4 (EPERM); *" as_alice -p "$PROGRAM"
    finds_not memory-lock as_alice -p "$PROGRAM"
}
is_player() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = player ]; }

# bats test_tags=turn:0
@test "rtf doctor refuses wrong usage" {
    fails 64 'rtf doctor: *' doctor --nonsense
    fails 64 'rtf doctor: *' doctor operand
    fails 64 'rtf doctor: *' doctor -p
    fails 64 'rtf doctor: *' doctor -p one
    explains doctor
}

@test "each finding for programs has a severity" {
    doctor --json >"$WORK/out" || true
    says '[.findings[] | select(.code == "no-spool").severity] == ["error"]'
    echo "$ALICE - max_utilization 50" >>"$CONFIG/acl.conf"
    broker_start
    doctor --json >"$WORK/out" || true
    says '[.findings[] | select(.code == "rule").severity] | length > 0 and all(. == "warning")'
    says 'all(.findings[]; .severity == "error" or .severity == "warning")'
}

# Carol makes a directory that looks like a spool. Its status.json names a configuration in which plugins.conf is a FIFO: a program that opens the
# FIFO hangs. The texts in status.json have control characters for the terminal.
@test "a spool of another user leads no reader to its files, and none of its bytes to the terminal" {
    theirs=$WORK/theirs
    install -d -o $CAROL "$theirs" "$theirs/specs" "$theirs/state" "$theirs/log" "$theirs/etc"
    mkfifo "$theirs/etc/plugins.conf" "$theirs/alive"
    ln -s /dev/zero "$theirs/etc/acl.conf"
    jq -n --arg config "$theirs/etc" '{schema: 1, running: true, config: $config, pools: [],
        plugins: [{name: ("EDF\u001b[2J\u202e\nserved\t" + $config), state: "off\u0007", text: "a\nforce\tyes", line: 1}],
        rules: [{line: 1, text: "a\nforce\tyes"}]}' >"$theirs/status.json"
    chown -R -h $CAROL "$theirs"
    exec 9<>"$theirs/alive" # a broker seems to serve
    is_harmless() { no grep -qP '[^ -~\n]' "$WORK/out"; }
    for command in plugins 'plugins --json' doctor 'acl who'; do
        # shellcheck disable=SC2086 # words
        for as in "as $ALICE" ''; do
            status=0
            $as timeout 10 "$RTF_BIN/rtf" --spool "$theirs" $command </dev/null >"$WORK/out" 2>&1 9>&- || status=$?
            [ "$status" -ne 124 ] || { echo "$as rtf $command hung"; false; }
            is_harmless || { echo "$as rtf $command"; cat -v "$WORK/out"; false; }
            [ "$command" != doctor ] || no grep -F "$theirs/etc" "$WORK/out"
        done
    done
    # Regular files in a spool of another user are not read, either.
    mkdir "$theirs/other"
    echo 'EDF edf - all' >"$theirs/other/plugins.conf"
    sed -i "s,$theirs/etc,$theirs/other," "$theirs/status.json"
    as $ALICE "$RTF_BIN/rtf" --spool "$theirs" plugins >"$WORK/out" 2>&1 9>&-
    no grep 'in force' "$WORK/out"
    exec 9>&-
    # Root's lint of a named directory does not wait for its owner, either.
    run -78 timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --check --config "$theirs/etc"
}
