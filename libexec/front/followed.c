#include "followed.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "command-line.h"
#include "learn/adapt-law.h"
#include "units.h"

enum {
    /* a period from 97 % to 110 % of the reserved period counts as the same period */
    SHORTER_PERCENT = 97,
    LONGER_PERCENT = 110,
    WAITS_PERCENT = 10 /* a thread that waits for a CPU for more of its time may hide a period */
};
/* The reservation of a trial, us: half of a CPU. A short period lets jobs begin at once. */
static const struct learned_reservation generous = {.runtime = 5000, .period = 10000};
#define LEAST_TRIAL    UINT64_C(1000)      /* us: the least useful runtime of a trial */
#define TRIAL          UINT64_C(8000000)   /* us: longer than two observations take */
#define SHORTEST       INT64_C(300000000)  /* ns: a shorter observation says nothing */
#define FIRST_BACK_OFF INT64_C(1000000000) /* ns */
#define LAST_BACK_OFF  INT64_C(32000000000)

bool followed_open(struct followed *followed)
{
    return pipe2(followed->grants, O_CLOEXEC | O_NONBLOCK) == 0;
}

/* ---- observations ---- */

static struct followed_thread *find(struct followed *followed, pid_t tid)
{
    for (size_t i = 0; i < followed->count; i++)
        if (followed->threads[i].tid == tid && !followed->threads[i].has_ended)
            return &followed->threads[i];
    return NULL;
}

/* Returns the place of a thread that has ended and never had a period, for a new thread. NULL:
 * there is no such thread. */
static struct followed_thread *recycle(struct followed *followed)
{
    for (size_t i = 0; i < followed->count; i++)
        if (followed->threads[i].has_ended && followed->threads[i].reservation.period == 0)
            return &followed->threads[i];
    return NULL;
}

/* Adds a thread to the list. NULL: there are too many threads, or there is no memory. */
static struct followed_thread *add(struct followed *followed, pid_t tid)
{
    struct followed_thread *thread = NULL;
    if (followed->threads == NULL)
        followed->threads = calloc(OBSERVER_THREADS, sizeof *followed->threads);
    if (followed->threads != NULL && followed->count < OBSERVER_THREADS)
        thread = &followed->threads[followed->count++];
    else if (followed->threads != NULL)
        thread = recycle(followed);
    if (thread != NULL)
        *thread = (struct followed_thread){.tid = tid, .back_off = FIRST_BACK_OFF};
    return thread;
}

static bool is_other_period(uint64_t reserved, uint64_t now)
{
    return now * 100 < reserved * SHORTER_PERCENT || now * 100 > reserved * LONGER_PERCENT;
}

/* Takes the longest job. If the period has changed, begins again, because the former jobs do not
 * show what the thread needs with its new period. */
static void take_times(struct followed_thread *thread, const struct learned_thread *seen)
{
    if (thread->observations > 0 &&
        is_other_period(thread->reservation.period, seen->reserved.period))
        thread->observations = 0;
    if (thread->observations < 2 || seen->times.longest > thread->longest)
        thread->longest = seen->times.longest;
    thread->observations++;
    (void)learned_reservation(thread->longest, seen->period, &thread->reservation);
}

/* Asks for a trial if the thread would perhaps show a period if it did not wait for CPUs. */
static void take_aperiodic(struct followed_thread *thread, const struct observed *observed)
{
    thread->wants_trial = thread->wish.runtime == 0 && !thread->had_trial &&
                          thread->behaviour != BEHAVIOUR_SLEEPING &&
                          (thread->behaviour == BEHAVIOUR_STARVED ||
                           observed->waited * 100 > observed->length * WAITS_PERCENT);
}

static void end_keeper(struct followed_thread *thread)
{
    if (thread->keeper > 0)
        keeper_end(thread->keeper);
    thread->keeper = 0;
}

static void take_period(struct followed_thread *thread, const struct learned_thread *seen)
{
    take_times(thread, seen);
    thread->wants_trial = false;
    thread->least = (uint64_t)(seen->times.percentile_99 / 1000) + 1;
    if (thread->is_granted && is_other_period(thread->wish.period, seen->reserved.period))
        end_keeper(thread); /* a new keeper asks for the new period later */
    if (thread->keeper == 0)
        thread->wish = seen->reserved;
    /* the keeper becomes rtf adapt, which never reserves less than ADAPT_LEAST */
    if (thread->wish.runtime < ADAPT_LEAST && thread->wish.period > ADAPT_LEAST)
        thread->wish.runtime = ADAPT_LEAST;
}

/* True if this is the second observation with the same period. The second observation counts even
 * if it is short, because the first includes the start of the program. */
static bool is_second(const struct followed_thread *thread, const struct learned_thread *seen)
{
    return thread->observations == 1 && seen->reserved.runtime > 0 &&
           !is_other_period(thread->reservation.period, seen->reserved.period);
}

/* Returns the thread that the observation is about. NULL: the observation does not count. */
static struct followed_thread *thread_for(struct followed *followed,
                                          const struct learned_thread *seen, bool is_short)
{
    struct followed_thread *thread = find(followed, seen->watch->tid);
    if (seen->observed.length < SHORTEST)
        return NULL;
    if (is_short && thread != NULL && !is_second(thread, seen))
        return NULL;
    return thread != NULL ? thread : add(followed, seen->watch->tid);
}

static void take_thread(struct followed *followed, const struct learned_thread *seen, bool is_short)
{
    const struct thread_watch *watch = seen->watch;
    struct followed_thread *thread = thread_for(followed, seen, is_short);
    if (thread == NULL)
        return;
    memcpy(thread->name, watch->name, sizeof thread->name);
    thread->behaviour = seen->behaviour;
    thread->has_ended = watch->has_ended;
    if (seen->reserved.runtime > 0)
        take_period(thread, seen);
    else
        take_aperiodic(thread, &seen->observed);
}

void followed_take(struct followed *followed, const struct learned *learned, bool is_short)
{
    for (size_t i = 0; i < learned->count; i++)
        take_thread(followed, &learned->threads[i], is_short);
}

/* ---- keepers ---- */

static void start(const struct followed *followed, struct followed_thread *thread, int64_t now)
{
    const struct keeper_order order = {.process = followed->process,
                                       .thread = thread->tid,
                                       .name = thread->name,
                                       .wish = thread->wants_trial ? generous : thread->wish,
                                       .least = thread->wants_trial ? LEAST_TRIAL : thread->least,
                                       .timeout = followed->timeout,
                                       .trial = thread->wants_trial ? TRIAL : 0,
                                       .is_verbose = followed->is_verbose,
                                       .is_silent = thread->wants_trial || thread->is_refused};
    const pid_t keeper = keeper_start(&order, followed->grants[1]);
    if (keeper > 0)
        thread->keeper = keeper;
    else
        thread->retry = now + thread->back_off;
}

static void tell_grant(const struct followed *followed, const struct followed_thread *thread)
{
    char name[8 * LEARNED_NAME];
    if (followed->is_verbose)
        command_say("thread %d (%s) has the reservation run-%d", (int)thread->tid,
                    client_printable(thread->name, name, sizeof name), (int)thread->tid);
}

static void take_grant(const struct followed *followed, struct followed_thread *thread)
{
    thread->back_off = FIRST_BACK_OFF;
    if (thread->wants_trial) {
        thread->wants_trial = false;
        thread->had_trial = true;
        return;
    }
    if (!thread->is_granted)
        tell_grant(followed, thread);
    thread->is_granted = true;
}

static void take_grants(struct followed *followed)
{
    struct followed_thread *thread;
    for (pid_t tid; (tid = keeper_granted(followed->grants[0])) != 0;)
        if ((thread = find(followed, tid)) != NULL)
            take_grant(followed, thread);
}

static void take_end(struct followed_thread *thread, int status, int64_t now)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : EX_OSERR;
    thread->keeper = 0;
    if (code == EX_OK && thread->had_trial && !thread->is_granted)
        return;
    /* rtf adapt ends with EX_NOINPUT if the user has released the reservation */
    thread->is_released |= thread->is_granted && code == EX_NOINPUT;
    thread->is_refused |= !thread->wants_trial;
    thread->retry = now + thread->back_off;
    if (thread->back_off < LAST_BACK_OFF)
        thread->back_off *= 2;
}

static bool needs_keeper(const struct followed_thread *thread)
{
    return thread->keeper == 0 && (thread->wish.runtime > 0 || thread->wants_trial) &&
           !thread->has_ended && !thread->is_released;
}

int64_t followed_serve(struct followed *followed, int64_t now)
{
    int status;
    int64_t next = INT64_MAX;
    take_grants(followed);
    for (size_t i = 0; i < followed->count; i++) {
        struct followed_thread *thread = &followed->threads[i];
        if (thread->keeper != 0 && keeper_has_ended(thread->keeper, &status))
            take_end(thread, status, now);
        if (needs_keeper(thread) && now >= thread->retry)
            start(followed, thread, now);
        if (needs_keeper(thread) && thread->retry < next)
            next = thread->retry;
    }
    return next;
}

static size_t count_keepers(struct followed *followed)
{
    size_t count = 0;
    int status;
    for (size_t i = 0; i < followed->count; i++) {
        struct followed_thread *thread = &followed->threads[i];
        if (thread->keeper != 0 && keeper_has_ended(thread->keeper, &status))
            thread->keeper = 0;
        count += thread->keeper != 0;
    }
    return count;
}

void followed_end(struct followed *followed, int signals, int64_t end)
{
    struct signalfd_siginfo taken;
    int64_t left;
    while (count_keepers(followed) > 0 && (left = end - monotonic_now()) > 0) {
        struct pollfd fd = {.fd = signals, .events = POLLIN};
        (void)poll(&fd, 1, poll_milliseconds(left));
        while (read(signals, &taken, sizeof taken) == (ssize_t)sizeof taken)
            ;
    }
    for (size_t i = 0; i < followed->count; i++)
        end_keeper(&followed->threads[i]);
}
