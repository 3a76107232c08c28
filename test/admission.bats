# bats file_tags=lane:compute
# The admission tests of edf and rm with each word of a plugin line, through pipes: admitted specs, refusals with their reasons and nearest runtimes, and judgements of
# other plugins' tasks. plugin-check does the same at random.
bats_require_minimum_version 1.5.0
load helper

setup() {
    scratch=$(mktemp -d)
    mkfifo "$scratch/to" "$scratch/from"
    PLUGIN=
}

teardown() {
    stop
    rm -rf "$scratch"
}

declare -gA said

hear() {
    local line
    said=()
    while IFS= read -r -t 10 -u "$FROM" line; do
        if [ -n "$line" ]; then
            said[${line%%=*}]=${line#*=}
        elif [ -n "${said[answer]:-}" ]; then
            return
        else
            said=() # the paragraph was an update, and the answer follows it
        fi
    done
    return 1
}

# start PLUGIN [WORD...]: starts edf or rm, on CPU 0 if no other words are given; said is its greeting.
start() {
    local program=$1 word
    local -A words=([cpus]=0 [priority]=11-30)
    [ "$program" = rm ] || words[priority]=-
    shift
    for word; do words[${word%%=*}]=${word#*=}; done
    stop
    local -a arguments=()
    for word in "${!words[@]}"; do arguments+=("$word=${words[$word]}"); done
    "$RTF_LIBEXEC/plugins/$program" name=T "${arguments[@]}" <"$scratch/to" >"$scratch/from" 3>&- &
    PLUGIN=$!
    exec {TO}>"$scratch/to" {FROM}<"$scratch/from"
    hear
}

stop() {
    [ -n "$PLUGIN" ] || return 0
    exec {TO}>&- {FROM}<&-
    wait "$PLUGIN"
    PLUGIN=
}

# ask KEY=VALUE...: sends one request; said is the answer.
ask() {
    printf '%s\n' "$@" '' >&"$TO"
    hear
}

# spec TASK RUNTIME PERIOD [KEY=VALUE...]: asks for the task, and takes an offer.
spec() {
    ask op=accept "task=$1" "runtime=$2" "period=$3" commit=if-ok "${@:4}"
}

# is ANSWER [KEY=VALUE...]: the plugin answered so. Values are patterns; KEY= stands for a key that is not in the answer.
is() {
    local pair
    # shellcheck disable=SC2053 # the values are patterns
    for pair in "answer=$1" "${@:2}"; do
        [[ ${said[${pair%%=*}]:-} == ${pair#*=} ]] && continue
        echo "expected $pair, but: $(declare -p said)" >&2
        return 1
    done
}

# declines PATTERN PLUGIN WORD...: the plugin does not start, and its reason matches the pattern.
declines() {
    start "${@:2}"
    is no "reason=$1"
}

@test "the greeting says what an ok proves, whether loads are judged, and whether all is tested" {
    start edf; is ok tests=necessary judges= grants=tested
    start edf admission=bandwidth; is ok tests=necessary judges= grants=tested
    start edf admission=gfb; is ok tests=sufficient judges= grants=tested
    for partition in unthrottled cpuset; do
        start edf partition=$partition; is ok tests=sufficient judges=load grants=tested
        start edf partition=$partition admission=demand; is ok tests=exact judges=load grants=tested
    done
    start rm; is ok tests=sufficient judges= grants=
    start rm admission=necessary; is ok tests=necessary judges= grants=
    start rm admission=rta; is ok tests=exact judges=load grants=tested
}

@test "words that do not go together are refused with a sentence" {
    for admission in density demand; do
        declines 'partition=global tests all CPUs together: use admission=bandwidth or admission=gfb' edf admission=$admission
    done
    for admission in bandwidth gfb; do
        for partition in unthrottled cpuset; do
            declines 'admission=bandwidth and admission=gfb test all CPUs together: *' edf admission=$admission partition=$partition
        done
    done
    for word in blocking=1ms fair_server=0us; do
        declines 'blocking= and fair_server= need an exact test' edf $word
        declines 'blocking= and fair_server= need an exact test' edf partition=cpuset $word
        declines 'blocking= and fair_server= need an exact test' rm $word
        declines '*no such word' fp $word
    done
    declines 'admission=rta: must be density or demand or bandwidth or gfb' edf admission=rta
    declines 'admission=exact: must be hyperbolic or liu-layland or necessary or rta' rm admission=exact
    declines 'fair_server=501ms: must be a time from 0us to 500000us*' rm admission=rta fair_server=501ms
    for time in 1 1.5ms 2h -1us '' 3601s; do
        declines "blocking=$time: must be a time from 0us to *" rm admission=rta blocking=$time
    done
}

@test "threshold is 0.95 with unthrottled, 0.9 with cpuset and global, and 1 for rm" {
    start edf partition=unthrottled; spec 1 9501 10000; is no nearest=9500
    start edf partition=unthrottled admission=demand fair_server=0us; spec 1 9501 10000; is no nearest=9500
    start edf partition=cpuset; spec 1 9001 10000; is no nearest=9000
    start edf partition=cpuset admission=demand; spec 1 9001 10000; is no nearest=9000
    start edf cpus=0-1; spec 1 9000 10000; spec 2 9001 10000; is no nearest=9000
    start edf cpus=0-1 admission=gfb; spec 1 9001 10000; is no nearest=9000
    start rm admission=rta fair_server=0us; spec 1 10000 10000; is ok
}

@test "ignore_admission helps where the kernel does not test" {
    for admission in density demand; do
        start edf partition=unthrottled admission=$admission; spec 1 10000 10000 ignore_admission=1; is ok runtime=10000
        spec 2 5000 10000 desired_runtime=9000 ignore_admission=1; is ok runtime=5000
        spec 3 2 10000; is no nearest= retry=
        start edf partition=cpuset admission=$admission; spec 1 10000 10000 ignore_admission=1; is no nearest=9000
    done
    start edf admission=gfb; spec 1 10000 10000 ignore_admission=1; is no nearest=9000
    start rm admission=rta; spec 1 10000 10000 ignore_admission=1; is ok
    spec 2 10001 10000 ignore_admission=1; is no nearest=10000 retry=never
    spec 3 1 10000; is no nearest= retry=
}

@test "demand admits sets that a sum of densities refuses, and no more than fits" {
    start edf partition=unthrottled
    spec 1 2000 10000 deadline=4000; spec 2 2000 10000 deadline=6000; spec 3 2000 10000 deadline=8000; is no nearest=933
    start edf partition=unthrottled admission=demand fair_server=0us
    spec 1 2000 10000 deadline=4000; spec 2 2000 10000 deadline=6000; spec 3 5000 10000 deadline=8000
    is no nearest=4000 "reason=by the processor demand, a runtime of 4000us fits, 5000us asked"
    spec 3 4001 10000 deadline=8000; is no nearest=4000
    spec 3 4000 10000 deadline=8000; is ok
    spec 4 1501 10000; is no nearest=1500; spec 4 1500 10000; is ok; spec 5 2 10000; is no nearest= retry= # 0.95
}

@test "demand gives as much of the desired runtime as passes" {
    start edf partition=unthrottled admission=demand
    spec 1 2000 10000 deadline=4000
    spec 2 1000 10000 deadline=6000 desired_runtime=3999; is ok runtime=3999 accepted_runtime=3999
    spec 2 1000 10000 deadline=6000 desired_runtime=6000; is ok runtime=4000
    spec 2 1000 10000 deadline=6000 desired_runtime=6000 max_runtime=3000; is ok runtime=3000
    ask op=release task=2
    spec 2 1000 5000 deadline=2000 desired_runtime=2000; is ok runtime=2000 # with a deadline of 4 ms both tasks fit: 2 + 2 ms
    spec 3 2 10000 deadline=4000; is no nearest=
}

@test "rta admits sets that the hyperbolic bound refuses, to the microsecond" {
    start rm; spec 1 3000 7000; spec 2 3000 12000; spec 3 5000 20000; is no
    start rm admission=rta fair_server=0us; spec 1 3000 7000; spec 2 3000 12000
    spec 3 6000 20000; is no nearest=5000 "reason=by the response times, a runtime of 5000us fits, 6000us asked"
    spec 3 5001 20000; is no nearest=5000
    spec 3 5000 20000 deadline=19999; is no nearest=4999
    spec 3 5000 20000 deadline=20000; is ok runtime=5000 # its response time is exactly 20 ms
    spec 4 1 20000; is no nearest= "reason=by the response times, no CPU can run the task beside the other tasks there"
    spec 3 4000 20000; is ok; spec 4 1001 20000; is no nearest=1000 # a changed task; of two tasks with one period, the earlier task comes first
    spec 4 1000 20000; is ok; spec 1 3001 7000; is no nearest=3000
}

@test "rta tests deadlines below the period, and refuses a spec without a runtime for ever" {
    start rm admission=rta
    spec 1 2000 10000 deadline=2000; is ok reason= deadline=2000
    spec 2 1000 20000 deadline=2999; is no nearest=999
    spec 2 1000 20000 deadline=3000; is ok
    spec 3 1000 9000; is no nearest= # its shorter period puts it before task 1, which has no time to wait
    ask op=accept task=4 period=10000 ignore_admission=1; is no retry=never "reason=needs a runtime*"
    spec 5 10001 10000; is no retry=never
}

@test "rta tests with the levels that there are: tasks that have to share one wait for each other" {
    start rm admission=rta priority=5; spec 1 1000 4000; spec 2 2000 10000; is ok
    spec 3 2000 20000; is no nearest=1000 # 1 + 2 + 1 ms before the first one's deadline
    spec 3 1000 20000; is ok; spec 4 1 30000; is no
    ask op=release task=2; spec 4 2000 30000; is ok
    start rm admission=rta priority=5-6; spec 1 1000 4000; spec 2 2000 10000; spec 3 2000 20000
    is ok priority=5 # task 3 shares the level of task 2
    spec 4 9000 30000; is no nearest=3000 # all three tasks are on the lower level: 2 + 2 + 3 ms, and task 1 runs three times meanwhile
    spec 5 1000 3000; is no nearest=750; spec 5 500 3000; is ok priority=6 # task 5 shares the upper level with task 1
    spec 6 1000 2000; is no nearest=200 # a third task on the upper level: 1 + 0.5 + 1 ms is longer than its period
    start rm admission=rta priority=5-8; spec 1 1000 4000; spec 2 2000 10000; spec 3 2000 20000
    spec 5 1000 3000; is ok priority=8 # each task has a level of its own
}

@test "rta keeps a promise when a task leaves, and a level is taken apart" {
    start rm admission=rta priority=5-6 cpus=0-1
    for task in 1 2 3 4 5 6; do spec $task 1000 $((task * 10000)) deadline=10000; is ok; done
    ask op=release task=1; is ok; ask op=release task=4; is ok
    spec 7 10000 10000; is no nearest=* # the test grants all the remaining time
    near=${said[nearest]}
    spec 7 $((near + 1)) 10000; is no nearest="$near"
    spec 7 "$near" 10000; is ok
}

@test "blocking is added once to every response time, and to the demand at every deadline" {
    start rm admission=rta blocking=3ms; spec 1 1001 4000 deadline=4000; is no nearest=1000 retry=never
    spec 1 1000 4000; is ok; spec 2 1 4000; is no; spec 2 1000 5999; is no nearest=999; spec 2 1000 6000; is ok
    start edf partition=unthrottled admission=demand blocking=3ms; spec 1 1001 4000 deadline=4000
    is no nearest=1000 retry=never; spec 1 1000 4000; is ok; spec 2 500 8000 deadline=6000; is ok
}

@test "a task's own blocking time is added to the response times of its level, and to the demand from its deadline on" {
    start rm admission=rta fair_server=0us; spec 1 1000 4000 blocking=3001; is no nearest=999
    spec 1 1001 4000 blocking=3000; is no nearest=1000 retry=never; spec 1 1000 4000 blocking=3000; is ok
    spec 2 6000 8000; is ok # 6 + 2 ms: the blocking time of a higher level does not count
    ask op=release task=2
    spec 2 1000 4000; is no nearest= # on the same level: 3 + 1 + 1 ms
    start rm admission=rta fair_server=0us; spec 1 1000 4000; spec 2 5000 8000 blocking=1001; is no nearest=4999
    spec 2 5000 8000 blocking=1000; is ok
    start edf partition=unthrottled threshold=1 admission=demand fair_server=0us
    spec 1 1001 10000 deadline=4000 blocking=3000; is no nearest=1000 retry=never; spec 1 1000 10000 deadline=4000 blocking=3000; is ok
    spec 2 1000 10000 deadline=3000 blocking=2001; is no nearest=; spec 2 1000 10000 deadline=3000 blocking=2000; is no nearest=
    spec 2 2001 10000 deadline=6000 blocking=1000; is no nearest=2000 # 1 + 2 + 3 ms: only the longest blocking time counts
    spec 2 2000 10000 deadline=6000 blocking=1000; is ok
    start edf partition=unthrottled admission=demand fair_server=0us; spec 1 500 10000 deadline=4000 blocking=3000
    spec 2 500 10000 deadline=600; is ok # it is due before the blocking time of the other task counts
    # after a restart of the plugin the blocking time is still there
    start rm admission=rta fair_server=0us
    ask op=schedule task=1 cpus=0 policy=fifo priority=20 runtime=1000 accepted_runtime=1000 period=4000 deadline=4000 blocking=3000; is ok
    ask op=load task=9 cpus=0 policy=deadline runtime=2 period=30000 deadline=30000 commit=if-ok; is no
}

@test "a blocking time is refused for ever by a test that only compares sums" {
    # shellcheck disable=SC2086 # several words
    for plugin in "edf" "edf admission=gfb" "edf partition=unthrottled"; do
        start $plugin; spec 1 1000 10000 blocking=1; is no retry=never nearest= "reason=does not count blocking times: only admission=demand does"
        spec 1 1000 10000; is ok
    done
    # shellcheck disable=SC2086
    for plugin in "rm" "rm admission=necessary" "rm admission=liu-layland"; do
        start $plugin; spec 1 1000 10000 blocking=1; is no retry=never nearest= "reason=does not count blocking times: only admission=rta does"
        spec 1 1000 10000; is ok
    done
}

@test "supply: a test counts only the time that the CPU surely gives" {
    start rm admission=rta fair_server=0us supply=0.5,2ms; spec 1 1001 4000
    is no nearest=1000 retry=never "reason=by the response times with supply=0.5,2ms, the task does not fit even on an empty CPU: 1001us in 4000us"
    spec 1 1000 4000; is ok # 2 ms + 1 ms / 0.5
    spec 2 2001 12000; is no nearest=2000 "reason=by the response times with supply=0.5,2ms, a runtime of 2000us fits, 2001us asked"
    spec 2 2000 12000; is ok # 2 ms + (2 + 3 * 1) ms / 0.5
    start edf partition=unthrottled admission=demand fair_server=0us supply=0.5,2ms
    spec 1 1001 4000; is no nearest=1000 retry=never; spec 1 1000 4000; is ok
    spec 2 2001 12000; is no nearest=2000 "reason=by the processor demand with supply=0.5,2ms, a runtime of 2000us fits, 2001us asked"
    spec 2 2000 12000; is ok
    start edf partition=unthrottled admission=demand fair_server=0us supply=0.3,0us
    spec 1 100 10000 deadline=333; is no nearest=99; spec 1 100 10000 deadline=334; is ok # 100 / 0.3 is rounded up
    # shellcheck disable=SC2086 # several words
    for plugin in "rm admission=rta" "edf partition=unthrottled admission=demand"; do
        start $plugin fair_server=0us supply=0.5,0us; spec 1 5001 10000; is no nearest=5000; spec 1 5000 10000; is ok
        start $plugin fair_server=0us supply=0.5,1us; spec 1 5000 10000; is no nearest=4999
        start $plugin fair_server=0us supply=0.000001,0us; spec 1 5 4000000; is no nearest=4; spec 1 4 4000000; is ok
        start $plugin fair_server=0us supply=0.9,4s; spec 1 2 4000000; is no nearest=
        start $plugin fair_server=0us blocking=500us supply=0.5,2ms; spec 1 501 4000; is no nearest=500
    done
}

@test "supply: the fair server counts as soon as the CPU may give too little for it, and its own deadline is not tested" {
    # shellcheck disable=SC2086 # several words
    for plugin in "rm admission=rta" "edf partition=unthrottled admission=demand"; do
        start $plugin supply=0.9,5ms; spec 1 80051 100000; is no nearest=80050; spec 1 80050 100000; is ok
        start $plugin supply=0.9,5ms; spec 1 3395501 4000000; is no nearest=3395500; spec 1 3395500 4000000; is ok
    done
}

@test "supply takes a share and a time, a whole CPU with any test, and less only with an exact test" {
    for supply in 0.9 0,1ms 1.1,1ms 0.9,1 ,1ms 0.9,1ms,2 '' 0.9,-1us 0.12345678901234567,1ms; do
        declines "supply=$supply: must be ALPHA,DELTA: a share of a CPU above 0 and up to 1, and a time, such as 0.95,5ms" rm admission=rta "supply=$supply"
    done
    # shellcheck disable=SC2086 # several words
    for plugin in "edf" "edf admission=gfb" "edf partition=cpuset" "rm" "rm admission=necessary" "rm admission=liu-layland"; do
        declines 'a supply= below a whole CPU needs an exact test: admission=demand of edf, or admission=rta of rm' $plugin supply=0.999999999,0us
        declines 'a supply= below a whole CPU needs an exact test: *' $plugin supply=1,1us
        start $plugin supply=1,0us; is ok
    done
    declines '*no such word*' fp supply=1,0us
    start rm admission=rta fair_server=0us supply=1,0us; spec 1 10001 10000
    is no "reason=the runtime is 10001us*"; spec 1 10000 10000; is ok
}

@test "the fair server counts where ordinary threads are left too little, and only there" {
    start rm admission=rta; spec 1 91000 100000; is no nearest=90000; spec 1 90000 100000; is ok
    start rm admission=rta fair_server=0us; spec 1 91000 100000; is ok
    start rm admission=rta fair_server=10ms; spec 1 99000 100000; is no nearest=98000
    # The task uses 3.8 s of 4 s: the fair server acts, and takes 50 ms in each of the four seconds.
    start rm admission=rta; spec 1 3800001 4000000; is no nearest=3800000; spec 1 3800000 4000000; is ok
    start edf partition=unthrottled admission=demand; spec 1 91000 100000; is no nearest=90000
    spec 1 90000 100000; is ok
    start edf partition=unthrottled admission=demand fair_server=0us; spec 1 91000 100000; is ok
    start edf partition=unthrottled admission=demand threshold=1; spec 1 3800001 4000000
    is no nearest=3800000; spec 1 3800000 4000000; is ok
}

@test "gfb counts the largest density once for each further CPU, bandwidth counts no deadlines" {
    start edf cpus=0-1 threshold=1 admission=gfb
    for task in 1 2 3; do spec $task 5000 10000; is ok; done # 1.5 <= 2 - 0.5
    spec 4 2 10000; is no nearest= "reason=CPUs 0-1 have 0 of 2 left beside the largest, 0.0002 asked"
    ask op=release task=3; spec 3 5000 20000 deadline=9999; is no nearest=4999 # a density of 0.5
    spec 3 4999 20000 deadline=9999; is ok
    start edf cpus=0-1 threshold=1 admission=gfb; spec 1 8000 10000; spec 2 2000 10000
    spec 3 2001 10000; is no nearest=2000 # the largest density stays the largest: 0.8 + 0.2 + 0.2 <= 2 - 0.8
    start edf cpus=0-1 threshold=1 admission=gfb; spec 1 2000 10000
    spec 2 9001 10000; is no nearest=9000 # the new density becomes the largest: 0.2 + 0.9 <= 2 - 0.9
    spec 2 1000 10000 desired_runtime=9500; is ok runtime=9000
    start edf cpus=0-1 threshold=1; for task in 1 2 3; do spec $task 5000 10000; is ok; done
    spec 4 5000 20000 deadline=5000; is ok; spec 5 2501 10000; is no nearest=2500
    start edf cpus=0-1 admission=gfb threshold=0.8; spec 1 8001 10000; is no nearest=8000 retry=never
}

# ---- overruns ----

@test "overrun takes a time, tick or none" {
    for time in 1 2h -1us '' 1001ms ticks; do declines "overrun=$time: must be tick, none, or a time up to 1s, such as 4ms" edf overrun=$time; done
    for time in 1s 0us none tick; do start edf overrun=$time; is ok; done
    declines 'overrun=4ms: no such word*' rm overrun=4ms
}

@test "each thread of other users can take one overrun in the shortest deadline of a user, the own threads none" {
    start edf cpus=0-1 threshold=0.9 overrun=4ms
    spec 1 4000 10000 owner=1; is ok # of 1.8 CPUs, 1.4 are left: three overruns of 4 ms in 10 ms fit, and 0.2 CPUs are left then
    for task in 2 3; do spec $task 2 1000000 owner=2; is ok; done
    spec 4 200000 1000000 owner=3; is no nearest=199996 # deadlines of other users do not matter
    spec 4 199996 1000000 owner=3; is ok
    spec 5 2 1000000 owner=2; is no nearest= retry= \
        "reason=CPUs 0-1 have 0 of 1.8 left when other users' threads overrun (4 times up to 4000us in 10000us, the shortest deadline of a user), 0.000002 asked"
    spec 5 2 1000000 owner=1; is no # the user's own threads have no time left either
    ask op=release task=4; spec 5 200000 1000000 owner=1; is ok
    spec 6 2 5000 owner=1; is no # two overruns of 4 ms fall into 5 ms
    ask op=release task=5; spec 6 2 8889 owner=1; is ok
}

@test "beside a deadline below the overrun each thread of other users takes a CPU" {
    start edf cpus=0-1 threshold=0.9 overrun=4ms
    spec 1 100 1000 owner=1; is ok; spec 2 2 1000000 owner=2; is ok; spec 3 2 1000000 owner=2; is no nearest=
    spec 3 690 1000 owner=1; is ok; spec 4 10 1000 owner=1; is no nearest=9 # one CPU of 1.8 CPUs is for the overrun
    spec 2 2 1000 owner=2; is no nearest= # both threads of the first user can overrun in 1 ms
    ask op=release task=3; spec 2 2 1000 owner=2; is ok; spec 3 2 1000 owner=1; is no nearest=
    start edf cpus=0-3 threshold=0.9 overrun=4ms
    spec 1 100 1000 owner=1; for task in 2 3 4; do spec $task 10000 1000000 owner=$task; is ok; done
    spec 5 10000 1000000 owner=5; is no nearest=
}

@test "overruns take nothing where all threads have one user, and a change is no other thread" {
    for words in overrun=1s 'overrun=1s admission=gfb' 'overrun=1s partition=unthrottled' 'overrun=1s partition=cpuset admission=demand'; do
        # shellcheck disable=SC2086 # words
        start edf $words
        for task in 1 2 3; do spec $task 1000 10000 owner=7; is ok; done
        spec 1 2000 10000 owner=7; is ok
        spec 4 2 10000 owner=8; is no nearest=
        for task in 1 2 3; do ask op=release task=$task; done
        spec 4 2 10000 owner=8; is ok
    done
}

@test "gfb, density and demand count overruns, too" {
    start edf cpus=0-1 threshold=1 admission=gfb overrun=1ms
    spec 1 4000 10000 owner=1; spec 2 2 10000 owner=2; is ok
    spec 3 8000 10000 owner=1; is no nearest=6999 # 0.4 + 0.6999 + 0.0002 + 0.2 <= 2 - 0.6999
    start edf partition=unthrottled threshold=1 overrun=1ms
    spec 1 4000 10000 owner=1; spec 2 5001 10000 owner=2; is no nearest=5000
    spec 2 5000 10000 owner=2; is ok; spec 3 2 10000 owner=3; is no nearest=
    start edf partition=unthrottled threshold=1 admission=demand fair_server=0us overrun=1ms
    spec 1 4000 10000 owner=1; spec 2 2 20000 deadline=1669 owner=2; is no nearest=
    spec 2 3 20000 deadline=1670 owner=2; is no nearest=2 # in 1.67 ms: 2 us, an overrun of 1 ms, and 0.4 of 1.67 ms, because task 1 may wake just before
    spec 2 15001 40000 deadline=20000 owner=2; is no nearest=10000 # in 10 ms: 4 ms of task 1, an overrun of 1 ms, and half of the runtime
    spec 2 10000 40000 deadline=20000 owner=2; is ok
    spec 3 4000 40000 owner=1; is no nearest=; spec 2 8000 40000 deadline=20000 owner=2
    spec 3 4000 40000 owner=1; is ok # in 20 ms: 8 ms of task 1, 8 ms of task 2, two overruns of 1 ms, and half of the 4 ms
}

@test "a user's threads go where no other user's are, and loads of other users count" {
    start edf cpus=0-1 partition=unthrottled threshold=0.9 overrun=4ms
    spec 1 100 1000 owner=1; is ok cpus=0; spec 2 2 1000000 owner=2; is ok cpus=1
    spec 3 700 1000 owner=1; is ok cpus=0 # the plugin takes the more loaded CPU
    start edf partition=unthrottled threshold=0.9 overrun=4ms; spec 1 1000 10000 owner=1
    ask op=load task=9 owner=2 cpus=0 policy=deadline runtime=5000 period=10000 deadline=10000 commit=if-ok; is no nearest=4000
    ask op=load task=9 owner=1 cpus=0 policy=deadline runtime=5000 period=10000 deadline=10000 commit=if-ok; is ok
}

@test "where the broker keeps a timer on, overrun=tick counts 10 us" {
    start edf threshold=0.9 overrun=tick
    spec 1 100 1000 owner=1 hrtick=1; is ok
    for task in {2..9}; do spec $task 2 1000000 owner=2 hrtick=1; is ok; done
    spec 10 2 1000000 owner=2; is no "reason=* when other users' threads overrun (9 times up to *us in 1000us, *"
    spec 10 709985 1000000 owner=2 hrtick=1; is no nearest=709984 # 0.9 - 0.1 - 9 * 0.01 - 8 * 0.000002
    start edf cpus=0-1 threshold=0.9 overrun=4ms # an overrun= that states a time holds also where a timer ends runtimes
    spec 1 100 1000 owner=1 hrtick=1; spec 2 2 1000000 owner=2 hrtick=1; is ok; spec 3 2 1000000 owner=2 hrtick=1; is no nearest=
    start edf partition=unthrottled threshold=0.9 overrun=tick; spec 1 1000 10000 owner=1 hrtick=1
    ask op=load task=9 owner=2 cpus=0 policy=deadline runtime=8000 period=10000 deadline=10000 commit=if-ok hrtick=1; is no nearest=7990
    start edf partition=unthrottled threshold=1 admission=demand fair_server=0us overrun=tick
    spec 1 4000 10000 owner=1 hrtick=1; spec 2 6000 10000 owner=2 hrtick=1; is no nearest=5990
}

# ---- others' tasks ----

@test "edf bears a load up to its threshold, and forgets a load that it refuses" {
    for words in 'partition=unthrottled threshold=0.9' 'partition=cpuset' 'partition=cpuset admission=demand'; do
        # shellcheck disable=SC2086 # two words
        start edf $words; ask op=load task=9 cpus=0 policy=deadline runtime=9 period=9 deadline=9 commit=if-ok
        is ok; ask op=load task=9; spec 1 3000 10000 # the plugin has no task yet that could be harmed
        ask op=load task=9 cpus=0 policy=deadline runtime=6001 period=10000 deadline=10000 commit=if-ok; is no nearest=6000
        spec 2 7000 10000; is no nearest=6000
        ask op=load task=9 cpus=0 policy=deadline runtime=4000 period=10000 deadline=10000 commit=if-ok; is ok
        spec 2 7000 10000; is no nearest=2000
        ask op=load task=9 cpus=0 policy=deadline runtime=7000 period=10000 deadline=10000 commit=if-ok; is no nearest=6000
        spec 2 7000 10000; is no nearest=2000 # after a no, the earlier load of task 9 still counts
        ask op=load task=9 cpus=1 policy=deadline runtime=9000 period=10000 deadline=10000 commit=if-ok; is ok
        spec 2 7000 10000; is no nearest=6000 # task 9 has left CPU 0
        for policy in fifo rr; do
            ask op=load task=9 cpus=0 policy=$policy priority=50 runtime=9000 period=10000 deadline=10000 commit=if-ok; is ok
            ask op=load task=9 cpus=0 policy=$policy priority=50 commit=if-ok; is ok
        done
        spec 2 6000 10000; is ok
    done
}

@test "demand bears a load by its deadline, not by its share" {
    start edf partition=unthrottled admission=demand; spec 1 2000 10000 deadline=4000
    ask op=load task=9 cpus=0 policy=deadline runtime=2001 period=100000 deadline=3000 commit=if-ok; is no nearest=2000
    ask op=load task=9 cpus=0 policy=deadline runtime=2001 period=100000 deadline=5000 commit=if-ok; is ok
}

@test "rta bears a burst from above only if it fits into each response time" {
    start rm admission=rta; spec 1 2000 40000 deadline=4000
    for above in policy=deadline 'policy=fifo priority=31' 'policy=rr priority=97'; do
        # shellcheck disable=SC2086 # two words
        ask op=load task=9 cpus=0 $above runtime=3000 period=30000 deadline=30000 commit=if-ok
        is no nearest=2000 "reason=by the response times, tasks on CPU 0 would miss deadlines"
        # shellcheck disable=SC2086
        ask op=load task=9 cpus=0 $above runtime=2000 period=30000 deadline=30000 commit=if-ok; is ok
        spec 1 2001 40000 deadline=4000; is no nearest=2000
        ask op=load task=9; is ok
    done
    ask op=load task=9 cpus=0 policy=fifo priority=10 runtime=3000 period=3000 deadline=3000 commit=if-ok; is ok
    spec 1 4000 40000 deadline=4000; is ok # a task of lower priority takes nothing
}

@test "rta bears no load of which it does not know the runtime or the period, and grants nothing beneath" {
    for unstated in 'policy=fifo priority=40' 'policy=fifo priority=40 runtime=1000' 'runtime=1000 deadline=5000' period=5000; do
        start rm admission=rta cpus=0-1
        # shellcheck disable=SC2086
        ask op=load task=9 cpus=0 $unstated commit=if-ok; is ok # rm has no task on CPU 0 yet
        spec 1 1000 10000; is ok cpus=1; spec 2 8500 10000; is no "reason=CPU 0 has a task that states no runtime*"
        ask op=load task=9; spec 2 1000 10000; is ok cpus=0
        # shellcheck disable=SC2086
        ask op=load task=9 cpus=0 $unstated commit=if-ok; is no nearest= "reason=the task states no runtime or no period*"
        spec 3 7000 10000; is ok
    done
    start rm; ask op=load task=9 cpus=0 policy=fifo priority=40; spec 1 1000 10000; is ok
}

@test "a plugin that does not judge counts load of higher and of unknown policies, and no load of lower ones" {
    start rm admission=necessary
    for above in policy=deadline 'policy=fifo priority=31' ''; do
        # shellcheck disable=SC2086
        ask op=load task=9 cpus=0 $above runtime=3000 period=10000 deadline=10000; spec 1 9000 10000; is no nearest=7000
    done
    ask op=load task=9 cpus=0 policy=fifo priority=10 runtime=3000 period=10000 deadline=10000; spec 1 9000 10000; is ok
}

# ---- the cost of a test ----

@test "an exact test takes 64 tasks on a CPU, and says which CPU has them" {
    for words in 'rm admission=rta' 'edf partition=unthrottled admission=demand'; do
        # shellcheck disable=SC2086
        start $words
        for ((task = 1; task <= 64; task++)); do spec $task 10 $((100000 + task)); is ok; done
        spec 65 10 100000; is no "reason=too complex: CPU 0 has 64 tasks, the most that ${words##* } tests" nearest= retry=
        spec 64 20 100000; is ok # a change adds no task
        ask op=load task=99 cpus=0 policy=deadline runtime=2 period=100000 deadline=100000 commit=if-ok
        is no "reason=too complex: CPU 0 has 64 tasks*"
        ask op=release task=64; spec 65 10 100000; is ok
    done
}

@test "steps: few for ordinary task sets, and no task set goes on for ever" {
    cc -O1 -std=c17 -D_GNU_SOURCE -I"$RTF_SOURCE/lib" -I"$RTF_SOURCE/plugins" -o "$scratch/steps" "$RTF_SOURCE/test/steps.c" \
        "$RTF_SOURCE"/plugins/{demand,response_time,task_set}.c -lgmp
    local kind most complex highest given_up
    while read -r kind most complex; do
        "$BATS_TEST_DIRNAME/fixtures/task-sets" 1 400 "$kind" | "$scratch/steps" >"$scratch/$kind"
        highest=$(sort -nk2 "$scratch/$kind" | tail -n 1)
        given_up=$(grep -c too-complex "$scratch/$kind" || true)
        echo "# $kind: at most ${highest#* } steps, $(grep -c fits "$scratch/$kind") of 400 fit, $given_up too complex" >&3
        [ "${highest#* }" -gt 100 ]
        [ "${highest#* }" -le "$most" ]
        [ "$given_up" -le "$complex" ]
    done <<KINDS
ordinary 2000 0
full 30000 0
hostile 400000 20
KINDS
}

# answers_in_time PLUGIN WORD...: the plugin answers each of the specs with less than 50 ms of CPU time.
answers_in_time() {
    local slowest=0 before after runtime period deadline n=0
    start "$@"
    read -r before _ <"/proc/$PLUGIN/schedstat"
    while read -r runtime period deadline; do
        spec $((++n)) "$runtime" "$period" "deadline=$deadline"
        read -r after _ <"/proc/$PLUGIN/schedstat"
        [ $((after - before)) -le $slowest ] || slowest=$((after - before))
        before=$after
    done <"$scratch/specs"
    echo "# $*: $n specs, the longest answer took $((slowest / 1000)) us" >&3
    [ $slowest -gt 0 ]
    [ $slowest -lt 50000000 ]
}

@test "hostile specs are answered in time, whatever they ask for" {
    for test in rta demand; do
        "$BATS_TEST_DIRNAME/fixtures/task-sets" 2 12 hostile | grep ^$test | cut -d ' ' -f 3- | xargs -n 3 >"$scratch/specs"
        [ "$(wc -l <"$scratch/specs")" -gt 50 ]
        case $test in
        rta) answers_in_time rm admission=rta fair_server=0us cpus=0-3 priority=1-97 ;;
        demand) answers_in_time edf admission=demand partition=unthrottled threshold=1 fair_server=0us cpus=0-3 ;;
        esac
    done
}

@test "an answer on many full CPUs comes in time, too" {
    for n in {1..300}; do echo "$((10000 + n % 7 * 7000)) $((100000 + n)) $((70000 + n % 30 * 1000))"; done >"$scratch/specs"
    answers_in_time rm admission=rta cpus=0-127
    spec 5000 90000 100000; is no
}
