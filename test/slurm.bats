# Slurm carries reservations to the nodes of a cluster (contrib/slurm, rtf-slurm(7)). The nodes are on this machine. Each has a broker with a spool of its own.
# bats file_tags=long
load helper

prepare() {
    command -v slurmctld >/dev/null || skip 'Slurm is not here'
    CLUSTER=$WORK/cluster OPEN=$WORK/open
    mkdir -m 777 "$OPEN" # tasks write only there
}
tidy() {
    [ ! -e "$CLUSTER/processes" ] || cluster stop "$CLUSTER"
}

# cluster_starts [PLUGIN]: two nodes, n1 and n2
cluster() { ACCOUNT=games BUILD=$RTF_SOURCE/build "$RTF_SOURCE/contrib/slurm/cluster" "$@" 3>&-; }
cluster_starts() {
    PLUGIN=${1:-RM} cluster start "$CLUSTER" 2
    # shellcheck source=/dev/null
    . "$CLUSTER/environment"
}

# The user needs an account. The commands of rtf are those of the build.
user=(setpriv --reuid games --regid games --clear-groups -- env "PATH=$RTF_SOURCE/build/bin:$PATH")
as_user() { "${user[@]}" timeout 60 "$@"; }
step() { as_user srun "$@"; }
# A step that a test ends. Its tasks sleep. $STEP is srun.
step_begins() {
    "${user[@]}" srun "$@" sleep "$SLEEPS" >"$WORK/step" 2>&1 3>&- &
    STEP=$!
    echo "$STEP" >>"$WORK/pids"
    eventually tasks_are 2
}

specs_of() { find "$CLUSTER/$1/spool/specs/games" -name '*.json' 2>/dev/null | wc -l; }
nothing_is_left() { [ "$(specs_of n1)" = 0 ] && [ "$(specs_of n2)" = 0 ] && tasks_are 0; }
has_specs() { [ "$(specs_of "$1")" = "$2" ]; }
# Processes of the user that sleep as a test's task does. A task whose parent was killed may stay as a zombie.
tasks() { ps -u games -o pid=,stat=,comm= | awk '$2 !~ /^Z/ && $3 == "sleep" { print $1 }'; }
tasks_are() { [ "$(tasks | wc -l)" = "$1" ]; }
# Takes room of a node, without Slurm's knowledge.
fills() { # NODE RUNTIME
    "${user[@]}" rtf-run --spool "$CLUSTER/$1/spool" --name full -T "$2" -P 20ms -- sleep "$SLEEPS" >/dev/null 3>&- &
    FILLER=$!
    echo "$FILLER" >>"$WORK/pids"
    eventually [ -e "$CLUSTER/$1/spool/specs/games/full.verdict" ]
}
queue_is() { [ "$(squeue --noheader --format='%t' | paste -sd ' ')" = "$1" ]; }

@test "each task of a step runs under a reservation of its node from its first instruction on, and the reservation ends with the task" {
    cluster_starts
    # shellcheck disable=SC2016 # the task's
    run step -N2 -n2 --rtf=2ms/20ms --rtf-verbose sh -c 'chrt -p $$; echo "$SLURMD_NODENAME has $RTF_ACCEPTED_RUNTIME"'
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
    [ "$(grep -c 'SCHED_FIFO|SCHED_RESET_ON_FORK$' <<<"$output")" = 2 ]
    grep -qx 'n1 has 2000' <<<"$output"
    grep -qx 'n2 has 2000' <<<"$output"
    grep -q '^rtf: n2: slurm-[0-9]*\.0\.1: RM grants 2000us in each 20000us$' <<<"$output"
    eventually nothing_is_left
    # Slurm gives n1 three tasks and n2 one task here, in turn at first.
    # shellcheck disable=SC2016
    run step -N2 -n4 --distribution=arbitrary --nodelist=n1,n2,n1,n1 --rtf=1ms/20ms sh -c 'chrt -p $$; echo "$SLURMD_NODENAME $SLURM_PROCID"'
    [ "$(grep -c 'SCHED_FIFO|SCHED_RESET_ON_FORK$' <<<"$output")" = 4 ] || { echo "$output" >&2; false; }
    [ "$(grep '^n' <<<"$output" | sort | paste -sd ,)" = 'n1 0,n1 2,n1 3,n2 1' ]
    eventually nothing_is_left
    # A step on one node, with several tasks.
    # shellcheck disable=SC2016
    run step -N1 -n2 --rtf=2ms/20ms/10ms,plugin=RM sh -c 'chrt -p $$'
    [ "$(grep -c 'SCHED_FIFO|SCHED_RESET_ON_FORK$' <<<"$output")" = 2 ]
    eventually nothing_is_left
    # A step without the option is as it is.
    # shellcheck disable=SC2016
    run step -N1 sh -c 'chrt -p $$; echo "${RTF_ACCEPTED_RUNTIME-none}"'
    grep -q 'SCHED_OTHER$' <<<"$output"
    grep -qx none <<<"$output"
}

@test "with edf, tasks of a step have SCHED_DEADLINE" {
    cluster_starts EDF
    # shellcheck disable=SC2016
    run step -N2 -n2 --rtf=2ms/20ms sh -c 'chrt -p $$'
    [ "$(grep -c 'SCHED_DEADLINE' <<<"$output")" = 2 ] || { echo "$output" >&2; false; }
    eventually nothing_is_left
}

@test "when a node refuses, no task starts on any node, and srun names the node, what is left and what would fit" {
    cluster_starts
    fills n2 17ms
    run step -N2 -n2 --rtf=5ms/20ms touch "$OPEN/started"
    [ "$status" -eq 1 ] || { echo "$output" >&2; false; }
    grep -q '^srun: error: rtf: n2: RM refused: CPU [0-9]* has .* 0\.25 asked; a runtime of at most [0-9]*us would fit$' <<<"$output" || { echo "$output" >&2; false; }
    [ ! -e "$OPEN/started" ]
    [ "$(specs_of n1)" = 0 ]
    # With --rtf-loose each node decides for itself.
    # shellcheck disable=SC2016
    run step -N2 -n2 --rtf=5ms/20ms --rtf-loose sh -c 'echo "$SLURMD_NODENAME runs"'
    [ "$status" -eq 1 ]
    grep -qx 'n1 runs' <<<"$output" || { echo "$output" >&2; false; }
    [[ $output != *'n2 runs'* ]]
    # A refusal never drains a node.
    [ "$(sinfo --noheader --format=%T --states=drain,draining,drained,down)" = '' ]
    kill "$FILLER"
    eventually nothing_is_left
    run step -N2 -n2 --rtf=5ms/20ms true
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
}

@test "reservations end after scancel, and when a task, srun or slurmstepd is killed" {
    cluster_starts
    for end in 'scancel --user=games' 'kill -KILL $(tasks)' 'kill -KILL $STEP' 'kill -KILL $(pgrep -f "^slurmstepd: .[0-9]*[.]0.")'; do
        step_begins -N2 -n2 --rtf=2ms/20ms
        [ "$(specs_of n1) $(specs_of n2)" = '1 1' ] || { echo "$end: $(specs_of n1) $(specs_of n2)" >&2; false; }
        eval "$end"
        eventually nothing_is_left || { echo "$end" >&2; squeue; cat "$WORK/step"; false; } >&2
        scancel --user=games
        [[ $end == *slurmstepd* ]] || eventually queue_is ''
    done
}

@test "a step that fits nowhere now is queued, and starts when there is room" {
    cluster_starts
    step_begins -N2 -n2 --rtf=12ms/20ms
    "${user[@]}" srun -N2 -n2 --rtf=8ms/20ms touch "$OPEN/second" >"$WORK/out" 2>&1 3>&- &
    second=$!
    echo "$second" >>"$WORK/pids"
    eventually queue_is 'PD R'
    [ ! -e "$OPEN/second" ]
    scancel --name=sleep
    wait "$second" || { cat "$WORK/out" >&2; false; }
    [ -e "$OPEN/second" ]
    eventually nothing_is_left
}

@test "the option of a batch job is for its steps" {
    cluster_starts
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' '#SBATCH -N2 -n2 --rtf=3ms/30ms' "#SBATCH -o $OPEN/job" 'chrt -p $$' 'srun sh -c "chrt -p \$\$"' 'echo done' >"$WORK/script"
    (cd "$OPEN" && as_user sbatch "$WORK/script" >/dev/null)
    eventually grep -qsx 'done' "$OPEN/job"
    [ "$(grep -c 'SCHED_OTHER$' "$OPEN/job")" = 1 ] || { cat "$OPEN/job" >&2; false; }
    [ "$(grep -c 'SCHED_FIFO|SCHED_RESET_ON_FORK$' "$OPEN/job")" = 2 ]
    eventually nothing_is_left
}

@test "a wrong option is refused with a sentence before the step starts" {
    cluster_starts
    run step -N1 --rtf=2ms touch "$OPEN/started"
    [ "$status" -ne 0 ]
    grep -q "the option begins with RUNTIME/PERIOD, such as 2ms/20ms: '2ms'" <<<"$output" || { echo "$output" >&2; false; }
    run step -N1 --rtf=2ms/20ms,plugin=EDF touch "$OPEN/started"
    [ "$status" -eq 1 ]
    grep -q 'rtf: n[12]: broker refused: plugins.conf has no plugin "EDF" for cpu; it has RM' <<<"$output" || { echo "$output" >&2; false; }
    [ ! -e "$OPEN/started" ]
    [ "$(sinfo --noheader --format=%T --states=drain,draining,drained,down)" = '' ]
}

@test "epilog and sweep end what jobs have left behind, and nothing else" {
    cluster_starts
    sweep() { RTF=$RTF_SOURCE/build/bin/rtf LIBEXEC=$RTF_SOURCE/build/libexec SLURMD_NODENAME=n1 "$RTF_SOURCE/contrib/slurm/rtf-slurm-sweep" "$CLUSTER/n1/spool"; }
    for name in slurm-7.0.0 slurm-7.1.12 slurm-77.0.0 camera; do
        as_user rtf --spool "$CLUSTER/n1/spool" declare "$name" -T 500us -P 100ms >/dev/null
    done
    # A task that was killed while it asked leaves a file whose verdict is a refusal.
    as_user sh -c 'echo "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": 4194304}" >"$1/slurm-7.0.9.json"' sh "$CLUSTER/n1/spool/specs/games"
    eventually grep -qs '"no-thread"' "$CLUSTER/n1/spool/specs/games/slurm-7.0.9.verdict"
    SLURM_JOB_ID=7 SLURM_JOB_UID=$(id -u games) SLURMD_NODENAME=n1 "$CLUSTER/epilog"
    eventually has_specs n1 2
    sweep
    eventually has_specs n1 1
    [ -e "$CLUSTER/n1/spool/specs/games/camera.json" ]
    # A job that Slurm knows keeps its reservations.
    step_begins -N2 -n2 --rtf=2ms/20ms
    sweep
    [ "$(specs_of n1)" = 2 ]
}
