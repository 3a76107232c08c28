#include "phases.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 7 };
#define TRY_FOR INT64_C(100000000) /* the time for all tries of a thread's job, ns */
/* ns between two readings of the clock. A longer gap means that the thread was preempted, because
 * an interrupt takes less time */
#define GAP INT64_C(100000)

bool resources_make(const struct experiment *experiment, struct resources *resources)
{
    *resources =
        (struct resources){.buffer_doubles = experiment->shared_bytes / (int64_t)sizeof(double)};
    resources->locks = calloc((size_t)experiment->resources + 1, sizeof(pthread_mutex_t));
    resources->buffer = calloc((size_t)resources->buffer_doubles + 1, sizeof *resources->buffer);
    if (resources->locks == NULL || resources->buffer == NULL)
        return false;
    for (int64_t i = 0; i < experiment->resources; i++)
        pthread_mutex_init(&resources->locks[i], NULL);
    pthread_mutex_init(&resources->buffer_lock, NULL);
    return true;
}

static bool load_user(const struct phase *phase, struct step *step, char *why)
{
    void *library = dlopen(phase->library, RTLD_NOW);
    void *symbol = library == NULL ? NULL : dlsym(library, "muse_phase");
    if (symbol == NULL) {
        snprintf(why, PHASES_WHY, "phase %.40s: %.180s", phase->name, dlerror());
        return false;
    }
    *(void **)&step->user = symbol;
    return true;
}

bool body_make(const struct member *member, int thread, struct body *body,
               char why[static PHASES_WHY])
{
    *body = (struct body){.steps = calloc(member->phase_count + 1, sizeof *body->steps),
                          .count = member->phase_count,
                          .thread = thread};
    if (body->steps == NULL) {
        snprintf(why, PHASES_WHY, "out of memory");
        return false;
    }
    for (size_t i = 0; i < member->phase_count; i++) {
        body->steps[i].phase = &member->phases[i];
        if (member->phases[i].kind == PHASE_USER &&
            !load_user(&member->phases[i], &body->steps[i], why))
            return false;
    }
    return true;
}

/* The results go into a volatile variable, so that the compiler cannot remove the computation. */
static __thread volatile double sink;

static inline double next_number(double number)
{
    number += 0.5;
    return number - (double)(int64_t)number;
}

static void compute(int64_t loops)
{
    double number = 0.25;
    for (int64_t i = 0; i < loops; i++)
        number = next_number(number);
    sink = number;
}

static void fill(volatile double *buffer, int64_t doubles, int64_t loops)
{
    int64_t at = 0;
    for (int64_t i = 0; i < loops; i++) {
        buffer[at] = next_number(buffer[at]);
        at = at + 1 == doubles ? 0 : at + 1;
    }
}

/* Runs a memory phase. Allocates and frees the memory in each phase, as paper 004 does, so the time
 * for this is part of the measurement. */
static void use_memory(const struct phase *phase)
{
    double *own = calloc((size_t)phase->doubles, sizeof *own);
    if (own == NULL)
        return;
    fill(own, phase->doubles, phase->loops);
    free(own);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void sleep_for(int64_t duration)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += duration % 1000000000;
    time.tv_sec += duration / 1000000000 + time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Runs until the thread has used this much CPU time, however fast the CPU is. */
static void be_busy(int64_t duration)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    const int64_t end = time.tv_sec * INT64_C(1000000000) + time.tv_nsec + duration;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    while (time.tv_sec * INT64_C(1000000000) + time.tv_nsec < end);
}

/* Runs for `duration` without system calls. At each system call the kernel would account the CPU
 * time of the thread, and for ordinary programs it does so only at the tick. The loop reads the
 * clock every few ns, and counts all time except gaps in which the thread was preempted. An
 * interrupt may delay the last reading by tens of us. So the function returns the exact time of the
 * end; the time after it, and the time for the mark, belong to the next job. */
static int64_t watch_clock(int64_t duration, int64_t begun)
{
    int64_t before = begun != 0 ? begun : now(), had = 0;
    while (had < duration) {
        const int64_t time = now();
        had += time - before < GAP ? time - before : 0;
        before = time;
    }
    return before - (had - duration);
}

/* Runs one step of a job. Returns the time at which the step ended; 0: unknown. begun: the time at
 * which the step before ended; 0: unknown, so the current time counts. */
static int64_t step_run(const struct step *step, int thread, struct resources *resources,
                        int64_t begun)
{
    const struct phase *phase = step->phase;
    switch (phase->kind) {
    case PHASE_COMPUTE: compute(phase->loops); break;
    case PHASE_LOCK:
        pthread_mutex_lock(&resources->locks[phase->resource]);
        compute(phase->loops);
        pthread_mutex_unlock(&resources->locks[phase->resource]);
        break;
    case PHASE_MEMORY: use_memory(phase); break;
    case PHASE_SHARED:
        pthread_mutex_lock(&resources->buffer_lock);
        fill(resources->buffer, resources->buffer_doubles, phase->loops);
        pthread_mutex_unlock(&resources->buffer_lock);
        break;
    case PHASE_SLEEP: sleep_for(phase->duration); break;
    case PHASE_BUSY: be_busy(phase->duration); break;
    case PHASE_WATCH: return watch_clock(phase->duration, begun);
    case PHASE_USER: step->user(thread + 1, (long)phase->loops); break;
    }
    return 0;
}

int64_t body_run(const struct body *body, struct resources *resources, int64_t begun)
{
    for (size_t i = 0; i < body->count; i++)
        begun = step_run(&body->steps[i], body->thread, resources, begun);
    return begun;
}

/* Measures the cost of a job before the load starts. Then no other thread of the load competes for
 * the CPU, and the shortest of some tries is the undisturbed cost. */
int64_t body_cost(const struct body *body, struct resources *resources)
{
    const int64_t start = now();
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < body->count; i++)
        if (body->steps[i].phase->kind == PHASE_USER)
            return 0;
    for (int try = 0; try < TRIES && (try < 2 || now() - start < TRY_FOR); try++) {
        const int64_t begin = now();
        for (size_t i = 0; i < body->count; i++)
            if (body->steps[i].phase->kind != PHASE_SLEEP)
                (void)step_run(&body->steps[i], body->thread, resources, 0);
        const int64_t took = now() - begin;
        least = took < least ? took : least;
    }
    return least;
}
