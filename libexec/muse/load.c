#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "experiment-values.h"
#include "command.h"
#include "phases.h"
#include "reserve.h"
#include "schedattr.h"

enum { STACK = 256 * 1024, TRIES_WHEN_BUSY = 50 };
/* ns between the end of the set-up and the start of the run; after this time every thread sleeps
 * and waits for the start */
#define LEAD INT64_C(20000000)

struct run {
    const struct experiment *experiment;
    const char *spool;
    struct load *load;
    struct resources resources;
    /* held while a thread asks for its reservation, because only one thread at a time may ask */
    pthread_mutex_t asking;
};

struct worker {
    struct run *run;
    const struct member *member;
    struct load_thread *shared;
    struct body body;
    pthread_t thread;
    pid_t process; /* the process of a command; 0: the worker is a thread */
};

struct load *load_make(size_t threads)
{
    const size_t size = sizeof(struct load) + threads * sizeof(struct load_thread);
    struct load *load =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (load == MAP_FAILED)
        return NULL;
    load->threads = threads;
    sem_init(&load->watched, 1, 0);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&load->set_up, &shared, (unsigned)threads);
    /* all threads of the load meet at this barrier, and also the main thread of the load */
    pthread_barrier_init(&load->started, &shared, (unsigned)threads + 1);
    return load;
}

static int64_t clock_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static void sleep_until(int64_t time)
{
    const struct timespec at = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* ---- setting up ---- */

/* Notes the failure of a thread. Only the first failure is reported. */
static void fail(struct worker *worker, int status, const char *why)
{
    struct load *load = worker->run->load;
    int none = 0;
    if (atomic_compare_exchange_strong(&load->failed, &none, -1)) {
        snprintf(load->why, sizeof load->why, "thread %.64s: %.680s", worker->member->name, why);
        atomic_store(&load->failed, status);
    }
}

static bool set_affinity(struct worker *worker)
{
    char why[LOAD_WHY];
    if (!worker->member->has_cpus ||
        sched_setaffinity(0, sizeof worker->member->cpus, &worker->member->cpus) == 0)
        return true;
    snprintf(why, sizeof why, "its CPUs: %s",
             errno == EINVAL ? "none of them can be used here" : strerror(errno));
    fail(worker, EX_CONFIG, why);
    return false;
}

static struct kernel_sched_attr attributes_of(const struct member *member)
{
    struct kernel_sched_attr attr = {.size = sizeof attr};
    switch (member->policy) {
    case POLICY_OTHER: attr.policy = SCHED_OTHER; break;
    case POLICY_BATCH: attr.policy = SCHED_BATCH; break;
    case POLICY_IDLE: attr.policy = SCHED_IDLE; break;
    case POLICY_FIFO: attr.policy = SCHED_FIFO; break;
    case POLICY_RR: attr.policy = SCHED_RR; break;
    case POLICY_DEADLINE: attr.policy = SCHED_DEADLINE; break;
    }
    if (member->policy == POLICY_FIFO || member->policy == POLICY_RR)
        attr.priority = (uint32_t)member->priority;
    if (member->policy == POLICY_DEADLINE) {
        attr.runtime = (uint64_t)member->budget;
        attr.deadline = (uint64_t)member->deadline;
        attr.period = (uint64_t)member->period;
    }
    return attr;
}

static const char *explain_refusal(const struct member *member, int error)
{
    if (error == EPERM && member->policy == POLICY_DEADLINE && member->has_cpus && geteuid() == 0)
        return "the kernel requires all CPUs of the scheduling domain for such a thread: leave \"cpus\" out, or use a \"reservation\"";
    if (error == EPERM)
        return "the user may not set this policy: use a \"reservation\", which goes through the spool";
    if (error == EBUSY)
        return "the kernel has not enough bandwidth left for SCHED_DEADLINE";
    if (error == EINVAL && member->policy == POLICY_DEADLINE)
        return "the kernel's limits are a budget of at least 1024 ns and a period from 100 us to 4 s, unless they were changed; a number without a unit is nanoseconds";
    return strerror(error);
}

/* Sets the attributes. If the kernel answers EBUSY, tries again for a while: the bandwidth of
 * SCHED_DEADLINE threads that have just ended becomes free at their 0-lag time, and the kernel
 * reports no event for this. */
static int apply(const struct kernel_sched_attr *attr)
{
    for (int try = 0; try < TRIES_WHEN_BUSY; try++) {
        if (sched_setattr_of(0, attr) == 0)
            return 0;
        if (errno != EBUSY)
            return errno;
        sleep_until(now() + LEAD);
    }
    return EBUSY;
}

static bool set_policy(struct worker *worker)
{
    const struct kernel_sched_attr attr = attributes_of(worker->member);
    char why[LOAD_WHY];
    const int error = apply(&attr);
    if (error == 0)
        return true;
    snprintf(why, sizeof why, "%s: %s", experiment_policy_name(worker->member->policy),
             explain_refusal(worker->member, error));
    fail(worker, error == EPERM ? EX_NOPERM : error == EBUSY ? EX_TEMPFAIL : EX_CONFIG, why);
    return false;
}

static bool reserve(struct worker *worker)
{
    char why[RESERVE_WHY];
    pthread_mutex_lock(&worker->run->asking);
    int status =
        reserve_for_self(worker->run->spool, worker->member->name, worker->member->reservation,
                         worker->shared->grant, GRANT_TEXT, why);
    pthread_mutex_unlock(&worker->run->asking);
    if (status != EX_OK)
        fail(worker, status, why);
    return status == EX_OK;
}

static void set_up(struct worker *worker)
{
    atomic_store(&worker->shared->tid, gettid());
    (void)pthread_setname_np(pthread_self(), "muse-load");
    ring_touch(&worker->shared->ring);
    if (!set_affinity(worker))
        return;
    if (worker->member->reservation != NULL)
        (void)reserve(worker);
    else
        (void)set_policy(worker);
}

/* ---- running ---- */

static bool has_commands(const struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->thread_count; i++)
        if (experiment->threads[i].command != NULL)
            return true;
    return false;
}

/* Counts preemptions and page faults. If CPU time is missing for neither of these reasons,
 * interrupts or a hypervisor have taken it. */
static void count_interruptions(struct load_thread *thread, const struct rusage *before)
{
    struct rusage after;
    getrusage(RUSAGE_THREAD, &after);
    atomic_store(&thread->preempted, after.ru_nivcsw - before->ru_nivcsw);
    atomic_store(&thread->faults,
                 after.ru_minflt + after.ru_majflt - before->ru_minflt - before->ru_majflt);
}

/* Runs jobs until the end. Each thread checks the clock itself, because no other thread is sure to
 * get a CPU to stop it. */
static void do_jobs(struct worker *worker)
{
    struct load *load = worker->run->load;
    const int64_t start = atomic_load(&load->start), end = atomic_load(&load->end);
    const uint16_t thread = (uint16_t)worker->body.thread;
    const int64_t used = clock_of(CLOCK_THREAD_CPUTIME_ID);
    struct rusage before;
    int64_t begun = 0;
    uint32_t job = 0;
    getrusage(RUSAGE_THREAD, &before);
    for (; !atomic_load_explicit(&load->stop, memory_order_relaxed); job++) {
        const int64_t time = now();
        if (time >= end)
            break;
        begun = begun != 0 ? begun : time;
        if (!ring_put(&worker->shared->ring,
                      (struct mark){begun - start, job, (uint16_t)sched_getcpu(), thread}))
            atomic_fetch_add_explicit(&worker->shared->dropped, 1, memory_order_relaxed);
        begun = body_run(&worker->body, &worker->run->resources, begun);
    }
    count_interruptions(worker->shared, &before);
    atomic_store(&worker->shared->cpu_time, clock_of(CLOCK_THREAD_CPUTIME_ID) - used);
    atomic_store(&worker->shared->jobs, job);
}

/* Waits until all threads are set up. False: a thread could not be set up. */
static bool meet(struct worker *worker)
{
    struct load *load = worker->run->load;
    set_up(worker);
    /* pthread_barrier_wait returns PTHREAD_BARRIER_SERIAL_THREAD to one thread, which sets the
     * start, and 0 to all other threads. */
    if (pthread_barrier_wait(&load->set_up) != 0) {
        atomic_store(&load->ready, 1);
        while (has_commands(worker->run->experiment) && sem_wait(&load->watched) != 0) {
        }
        const int64_t start = now() + LEAD;
        atomic_store(&load->end, start + worker->run->experiment->duration);
        atomic_store(&load->start, atomic_load(&load->failed) != 0 ? 0 : start);
    }
    pthread_barrier_wait(&load->started);
    return atomic_load(&load->failed) == 0;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    if (meet(worker)) {
        sleep_until(atomic_load(&worker->run->load->start));
        do_jobs(worker);
    }
    return NULL;
}

/* ---- commands ---- */

static void become_command(struct worker *worker)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!meet(worker))
        _exit(0);
    sleep_until(atomic_load(&worker->run->load->start));
    command_become(worker->member);
    fprintf(stderr, "rtf-muse: thread %s: %s: %s\n", worker->member->name,
            json_string_value(json_array_get(worker->member->command, 0)), strerror(errno));
    _exit(127);
}

/* Starts the commands. Forks before any thread is started, because a forked process has only the
 * forking thread. */
static bool start_commands(struct run *run, struct worker *workers)
{
    for (size_t i = 0; i < run->experiment->thread_count; i++) {
        if (workers[i].member->command == NULL)
            continue;
        workers[i].process = fork();
        if (workers[i].process == 0)
            become_command(&workers[i]);
        if (workers[i].process < 0) {
            workers[i].process = 0;
            fail(&workers[i], EX_OSERR, strerror(errno));
            return false;
        }
    }
    return true;
}

/* Waits until the time is over, or until the watching process ends the run. */
static void wait_for_end(const struct load *load)
{
    sigset_t signals;
    const int64_t left = atomic_load(&load->end) - now();
    const struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    sigemptyset(&signals);
    sigaddset(&signals, LOAD_STOP_SIGNAL);
    if (left > 0 && !atomic_load(&load->stop))
        (void)sigtimedwait(&signals, NULL, &time);
}

static void end_commands(const struct run *run, const struct worker *workers)
{
    for (size_t i = 0; i < run->experiment->thread_count; i++)
        if (workers[i].process > 0 &&
            waitpid(workers[i].process, NULL, WNOHANG) == workers[i].process)
            atomic_store(&workers[i].shared->exited, 1);
        else if (workers[i].process > 0) {
            kill(workers[i].process, SIGKILL);
            waitpid(workers[i].process, NULL, 0);
        }
}

/* Runs a SCHED_IDLE thread that keeps its CPU from being idle, and yields to every other thread.
 * The thread is needed because on some machines events in the context of a CPU's idle task get
 * lost. */
static void *never_idle(void *argument)
{
    struct load *load = argument;
    const struct kernel_sched_attr idle = {.size = sizeof idle, .policy = SCHED_IDLE};
    (void)sched_setattr_of(0, &idle);
    while (!atomic_load(&load->stop) && atomic_load(&load->failed) == 0 &&
           (atomic_load(&load->start) == 0 || now() < atomic_load(&load->end))) {
    }
    return NULL;
}

static void keep_cpus_awake(struct load *load)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (long cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; cpu++) {
        pthread_t thread;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        if (pthread_create(&thread, NULL, never_idle, load) == 0) {
            (void)pthread_setaffinity_np(thread, sizeof one, &one);
            (void)pthread_detach(thread);
        }
    }
}

/* ---- the whole run ---- */

static bool prepare(struct run *run, struct worker *workers)
{
    for (size_t i = 0; i < run->experiment->thread_count; i++) {
        char why[PHASES_WHY];
        workers[i] = (struct worker){.run = run,
                                     .member = &run->experiment->threads[i],
                                     .shared = &run->load->thread[i]};
        if (workers[i].member->command != NULL)
            continue;
        if (!body_make(workers[i].member, (int)i, &workers[i].body, why)) {
            fail(&workers[i], EX_CONFIG, why);
            return false;
        }
        workers[i].shared->calibrated = body_cost(&workers[i].body, &run->resources);
        if (atomic_load(&run->load->stop))
            return false;
    }
    return true;
}

static bool start_workers(struct run *run, struct worker *workers)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (size_t i = 0; i < run->experiment->thread_count; i++) {
        if (workers[i].process > 0)
            continue;
        int error = pthread_create(&workers[i].thread, &attributes, work, &workers[i]);
        if (error != 0) {
            char why[128];
            snprintf(why, sizeof why, "cannot be started: %s", strerror(error));
            fail(&workers[i], EX_OSERR, why);
            return false;
        }
    }
    return true;
}

/* Locks memory, so that page faults do not look like missing CPU time. If the user may not lock
 * memory, the load runs with page faults. */
static void hold_memory(void)
{
    if (geteuid() == 0)
        (void)mlockall(MCL_CURRENT | MCL_FUTURE);
}

static void run_workers(struct run *run, struct worker *workers)
{
    /* after a failure, this function returns, and threads that wait at a barrier end with the
     * process */
    if (!prepare(run, workers) || !start_commands(run, workers) || !start_workers(run, workers))
        return;
    if (has_commands(run->experiment))
        keep_cpus_awake(run->load);
    pthread_barrier_wait(&run->load->started);
    if (has_commands(run->experiment) && atomic_load(&run->load->failed) == 0)
        wait_for_end(run->load);
    end_commands(run, workers);
    for (size_t i = 0; i < run->experiment->thread_count; i++)
        if (workers[i].process == 0)
            pthread_join(workers[i].thread, NULL);
}

int load_run(const struct experiment *experiment, const char *spool, struct load *load)
{
    static struct worker workers[THREADS_MAX];
    struct run run = {.experiment = experiment,
                      .spool = spool,
                      .load = load,
                      .asking = PTHREAD_MUTEX_INITIALIZER};
    hold_memory();
    if (resources_make(experiment, &run.resources))
        run_workers(&run, workers);
    else {
        snprintf(load->why, sizeof load->why, "out of memory");
        atomic_store(&load->failed, EX_OSERR);
    }
    return atomic_load(&load->failed);
}
