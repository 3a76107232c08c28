# The hook for containers (contrib/oci), in the runtimes runc and crun: a bundle of one program, without cgroups of its own.
load helper

prepare() {
    command -v runc >/dev/null && command -v crun >/dev/null && [ -x /bin/busybox ] || skip 'runc, crun and busybox-static are needed'
    HOOK=$RTF_LIBEXEC/rtf-oci
    [ -e "$HOOK" ] || make -s -C "$RTF_SOURCE" install-oci DESTDIR="$RTF_STAGE" PREFIX=/usr >&2
    OWN=$SPECS/$ALICE
    BUNDLE=$WORK/bundle
    mkdir -p "$BUNDLE/rootfs/bin" "$BUNDLE/rootfs/proc" "$BUNDLE/rootfs/dev" "$BUNDLE/rootfs/out" "$WORK/out" "$WORK/runtime"
    chmod 777 "$WORK/out"
    cp /bin/busybox "$BUNDLE/rootfs/bin/sh"
    ln -s sh "$BUNDLE/rootfs/bin/sleep"
}
tidy() {
    local runtime
    for runtime in runc crun; do container $runtime delete --force box >/dev/null 2>&1 || true; done
}

# bundle ANNOTATIONS [FILTER]: writes the bundle of a container of Alice. Its program writes its stat file when it begins, and then sleeps. test/run looks for
# cgroups by the name.
bundle() {
    jq -n --argjson annotations "$1" --argjson uid "$ALICE" --arg hook "$HOOK" --arg spool "$SPOOL" --arg out "$WORK/out" '
        def hook($stage): [{path: $hook, args: ["rtf-oci", "--spool", $spool, $stage]}];
        {ociVersion: "1.0.2", annotations: $annotations, root: {path: "rootfs"}, hostname: "box",
         process: {user: {uid: $uid, gid: $uid}, cwd: "/", env: ["PATH=/bin"], noNewPrivileges: true,
                   args: ["sh", "-c", "read -r line </proc/self/stat; echo \"$line\" >/out/began; exec sleep 300"],
                   capabilities: {bounding: [], effective: [], permitted: []}},
         mounts: [{destination: "/proc", type: "proc", source: "proc"}, {destination: "/dev", type: "tmpfs", source: "tmpfs"},
                  {destination: "/out", type: "bind", source: $out, options: ["rbind", "rw"]}],
         hooks: {createRuntime: hook("createRuntime"), poststart: hook("poststart")},
         linux: {cgroupsPath: "/rtf-oci-box", namespaces: [{type: "pid"}, {type: "mount"}, {type: "ipc"}, {type: "uts"}]}} | '"${2:-.}" >"$BUNDLE/config.json"
    rm -f "$WORK/out/began"
}

# container RUNTIME COMMAND...: crun refuses both versions of cgroups side by side. So crun sees version 2 alone.
container() {
    if [ "$1" = crun ]; then
        shift
        unshare --mount sh -c 'mount -t cgroup2 none /sys/fs/cgroup; exec "$@"' sh crun --cgroup-manager=disabled --root "$WORK/runtime/crun" "$@" 3>&-
    else
        runc --root "$WORK/runtime/runc" "${@:2}" 3>&-
    fi
}
# start RUNTIME: runs the container box of the bundle. $BOX is its process. The output is in $WORK/said.
start() {
    container "$1" run --detach --bundle "$BUNDLE" --pid-file "$WORK/process.$1" box >"$WORK/said" 2>&1 </dev/null || return
    BOX=$(<"$WORK/process.$1")
    eventually is_sleep "$BOX"
}
# refused RUNTIME: the container does not start, and its program never begins.
refused() {
    no start "$1"
    no [ -e "$WORK/out/began" ]
    [ -z "$(container "$1" list --quiet)" ]
}
# Field 41 of the stat file is the policy; 6 is SCHED_DEADLINE.
began_with() { [ "$(cut -d ' ' -f 41 "$WORK/out/began")" = "$1" ]; }
is_unprivileged() { [ "$(sed -n 's/^Cap\(Eff\|Prm\|Bnd\):\t//p' "/proc/$BOX/status" | sort -u)" = 0000000000000000 ]; }
is_empty() { [ -z "$(ls "$OWN")" ]; }
# hook STAGE PROCESS ANNOTATIONS: runs the hook by hand.
hook() {
    jq -n --argjson pid "$2" --argjson annotations "$3" --arg bundle "$BUNDLE" '{id: "box", pid: $pid, bundle: $bundle, annotations: $annotations}' |
        "$HOOK" --spool "$SPOOL" "$1"
}
readonly FIVE='{"rtf.runtime": "5ms", "rtf.period": "50ms"}'

@test "under runc and crun the process of a container has its reservation as its user, without any capability, until the container ends" {
    broker_start
    for runtime in runc crun; do
        bundle "$FIVE"
        start $runtime || { cat "$WORK/said" >&2; false; }
        is_policy "$BOX" deadline
        is_attached $ALICE oci-box "$BOX"
        [ "$(stat -c %u "/proc/$BOX")" = $ALICE ]
        is_unprivileged
        # runc calls the hook before the program begins. crun begins the program first.
        if [ $runtime = runc ]; then began_with 6; fi
        no told .expires "$(cat "$OWN/oci-box.json")"
        kill -KILL "$BOX"
        eventually is_empty
        container $runtime delete --force box
    done
}

@test "under runc and crun a full machine refuses a container, and runc says what is left and what would fit" {
    configure_plugins 'RM rm 11-20 0'
    broker_start
    spec $BOB full '{"runtime": "60ms", "period": "100ms", "plugin": "RM", "priority": 15}' >/dev/null
    bundle '{"rtf.runtime": "45ms", "rtf.period": "90ms"}'
    for runtime in runc crun; do refused $runtime; done
    refused runc
    grep -q 'rtf-oci: oci-box: RM refused: CPU 0 has 0.* left.* asked; a runtime of at most [0-9]*us would fit' "$WORK/said" || { cat "$WORK/said" >&2; false; }
    is_empty
}

@test "a container without an annotation needs no broker, and one with an annotation is refused without a broker" {
    bundle '{"other": "rtf"}'
    start runc
    is_policy "$BOX" other
    kill -KILL "$BOX"
    container runc delete --force box
    bundle "$FIVE"
    broker_start
    broker_stop TERM
    refused runc
    grep -q 'no broker' "$WORK/said" || { cat "$WORK/said" >&2; false; }
}

@test "between create and start a container keeps what is reserved for a minute; a later start asks again" {
    broker_start
    bundle "$FIVE"
    container crun create --bundle "$BUNDLE" --pid-file "$WORK/process.crun" box >/dev/null 2>&1 </dev/null
    told '.expires == "60s"' "$(cat "$OWN/oci-box.json")"
    told '.result == "OK" and .thread == null' "$(verdict $ALICE oci-box)"
    rm "$OWN/oci-box.json"
    eventually test ! -e "$OWN/oci-box.verdict"
    container crun start box >/dev/null 2>&1
    BOX=$(<"$WORK/process.crun")
    is_attached $ALICE oci-box "$BOX"
    kill -KILL "$BOX"
    eventually is_empty
    # The next start of a container replaces the spec of a start that came to nothing.
    sleeper
    for _ in 1 2; do hook createRuntime "$SLEEPER" "$FIVE"; done
    told '.runtime' "$(cat "$OWN/oci-box.json")"
    # A program that has ended before the stage poststart leaves nothing.
    kill -KILL "$SLEEPER"
    eventually is_gone "$SLEEPER"
    hook poststart "$SLEEPER" "$FIVE"
    is_empty
}

@test "in a user namespace the user is the one that the map names; the rules bound this user" {
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - max_runtime 6ms"
    broker_start
    mapped='.linux.namespaces += [{type: "user"}] | .process.user = {uid: 0, gid: 0}
        | .linux.uidMappings = [{containerID: 0, hostID: '$ALICE', size: 1}] | .linux.gidMappings = .linux.uidMappings'
    for runtime in runc crun; do
        bundle "$FIVE" "$mapped"
        start $runtime || { cat "$WORK/said" >&2; false; }
        is_policy "$BOX" deadline
        is_attached $ALICE oci-box "$BOX"
        began_with 6 # root of the namespace is the user from the beginning
        kill -KILL "$BOX"
        eventually is_empty
        container $runtime delete --force box
    done
    bundle '{"rtf.runtime": "7ms", "rtf.period": "50ms"}' "$mapped"
    refused runc
    grep -q 'max_runtime' "$WORK/said" || { cat "$WORK/said" >&2; false; }
}

@test "a container with fewer CPUs than SCHED_DEADLINE needs is refused with a sentence, and leaves no lease" {
    [ "$(nproc)" -gt 1 ] || skip 'this needs two CPUs'
    grep -q ' /sys/fs/cgroup/cpuset cgroup ' /proc/mounts || skip 'this needs the cpusets of cgroups version 1'
    broker_start
    bundle "$FIVE" '.linux.resources.cpu = {cpus: "0", mems: "0"}'
    refused runc
    grep -q 'rtf-oci: .*CPU' "$WORK/said" || { cat "$WORK/said" >&2; false; }
    eventually is_empty
}

@test "a container of root is refused, because no rule bounds root" {
    broker_start
    bundle "$FIVE" '.process.user = {uid: 0, gid: 0}'
    refused runc
    grep -q 'runs as root, and rules do not bound root' "$WORK/said" || { cat "$WORK/said" >&2; false; }
    [ -z "$(ls "$SPECS")" ]
}

@test "an annotation is a known name with a word; anything else is refused before a command runs" {
    broker_start
    bundle '{}'
    sleeper $ALICE
    for annotations in '{"rtf.runtme": "5ms"}' '{"rtf.runtime": 5}' '{"rtf.runtime": "5ms --period=50ms"}' '{"rtf.runtime": "5ms\n"}' \
        '{"rtf.runtime": "$(id)"}' '{"rtf.runtime": ""}' '{"rtf.plugin": "../edf"}' '{"rtf.\u001b[2J": "5ms"}' '{"rtf.runtime": null}'; do
        run hook createRuntime "$SLEEPER" "$annotations"
        [ "$status" -eq 65 ] || { echo "$annotations: $status $output" >&2; false; }
        [[ $output == 'rtf-oci: the'*' annotation '* ]]
        [[ $output != *$'\e'* ]]
    done
    for annotations in '{"rtf.runtime": "5", "rtf.period": "50ms"}' '{"rtf.runtime": "1.5ms", "rtf.period": "50ms"}' '{"rtf.priority": "high"}'; do
        run hook createRuntime "$SLEEPER" "$annotations"
        [ "$status" -eq 64 ] || { echo "$annotations: $status $output" >&2; false; }
    done
    # The sandbox of a pod of Kubernetes can have the annotations of the pod.
    for sandbox in io.kubernetes.cri.container-type io.kubernetes.cri-o.ContainerType; do
        hook createRuntime "$SLEEPER" '{"rtf.runtime": "5ms", "rtf.period": "50ms", "'$sandbox'": "sandbox"}'
    done
    no [ -e "$OWN/oci-box.json" ]
    is_policy "$SLEEPER" other
    all='{"rtf.runtime": "5ms", "rtf.period": "50ms", "rtf.deadline": "40ms", "rtf.desired": "8ms", "rtf.plugin": "EDF", "rtf.priority": "7"}'
    hook createRuntime "$SLEEPER" "$all"
    is_attached $ALICE oci-box "$SLEEPER"
    told '.deadline == "40ms" and .desired_runtime == "8ms" and .plugin == "EDF" and .priority == 7' "$(jq '.deadline, .desired_runtime |= (if type == "number" then "\(. / 1000)ms" else . end)' "$OWN/oci-box.json")"
}

@test "a user's own runtime: the hook asks as this user, and needs no right of root" {
    broker_start
    bundle "$FIVE" 'del(.linux.cgroupsPath) | .linux.namespaces += [{type: "user"}] | .process.user = {uid: 0, gid: 0}
        | .linux.uidMappings = [{containerID: 0, hostID: '$ALICE', size: 1}] | .linux.gidMappings = .linux.uidMappings'
    chmod 755 "$BUNDLE"
    chmod 644 "$BUNDLE/config.json"
    mkdir "$WORK/runtime/alice"
    chown $ALICE "$WORK/runtime/alice" "$BUNDLE" "$BUNDLE/rootfs"
    as $ALICE env XDG_RUNTIME_DIR="$WORK/runtime/alice" runc --root "$WORK/runtime/alice" run --detach --bundle "$BUNDLE" \
        --pid-file "$WORK/runtime/alice/process" box >"$WORK/said" 2>&1 </dev/null 3>&- || { cat "$WORK/said" >&2; false; }
    BOX=$(<"$WORK/runtime/alice/process")
    echo "$BOX" >>"$WORK/pids"
    is_policy "$BOX" deadline
    is_attached $ALICE oci-box "$BOX"
    kill -KILL "$BOX"
    eventually is_empty
}
