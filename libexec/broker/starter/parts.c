#include "parts.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uthash.h>

#include "run-directory.h"
#include "timers.h"

static struct part *parts;
static int parts_count;
static int run_directory = -1; /* the starter's, for it ends last, and under no rules for files */
static cpu_set_t anywhere, here; /* where the broker was when the starter was forked, and where it is to be now */

/* A reader runs above all that is granted, and its user decides how much it has to do. So of READER_BUDGET of CPU time, as the kernel's tick counts
 * it, it is ordinary for READER_PAUSE: then what it does costs others no more of their reservations than its user could by himself. */
enum { READER_BUDGET = 5000000, READER_PAUSE = 100000000, READER_SIGNAL = 0x40000000 }; /* ns; READER_SIGNAL: and the slot, in a timer's value */
struct reader_part {
    pid_t pid; /* as struct part's */
    timer_t timer;
    bool is_timed;
    struct timer ordinary; /* set: until then it is */
    UT_hash_handle hh; /* by pid, if it is not 0 */
};
static struct reader_part **readers; /* by slot */
static int readers_count;
static struct reader_part *running; /* by pid */
int parts_add(enum part_kind kind, char *const argv[], struct identity_to_run_as as)
{
    int words = 0;
    while (argv[words] != NULL)
        words++;
    parts = realloc(parts, (size_t)(parts_count + 1) * sizeof *parts);
    char **copy = parts == NULL ? NULL : calloc((size_t)words + 1, sizeof *copy);
    if (copy == NULL)
        abort();
    for (int i = 0; i < words; i++)
        if ((copy[i] = strdup(argv[i])) == NULL)
            abort();
    parts[parts_count] = (struct part){.kind = kind, .argv = copy, .as = as};
    return parts_count++;
}

bool parts_has(int number)
{
    return number >= 0 && number < parts_count;
}

const struct part *parts_of_kind(enum part_kind kind)
{
    for (int i = 0; i < parts_count; i++)
        if (parts[i].kind == kind)
            return &parts[i];
    return NULL;
}

/* A plugin runs above all that is granted, and has nothing to do when nothing is asked: for each PART_USES of CPU time that it
 * uses the kernel sends a signal, and the broker knows whether somebody had asked. Who sleeps costs nothing. */
static void time_it(struct part *part)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = (int)(part - parts)};
    const struct itimerspec each = {.it_value.tv_nsec = PART_USES, .it_interval.tv_nsec = PART_USES};
    clockid_t clock;
    part->is_timed = part->kind == PART_PLUGIN && part->pid > 0 && clock_getcpuclockid(part->pid, &clock) == 0 &&
                     timer_create(clock, &event, &part->timer) == 0;
    if (part->is_timed)
        (void)timer_settime(part->timer, 0, &each, NULL);
}

/* Timers may have been late: so many times the time it is, and the broker may be behind with reading. */
static void tell_used(int socket, const struct signalfd_siginfo *info)
{
    if (info->ssi_int < 0 || info->ssi_int >= parts_count || !parts[info->ssi_int].is_timed)
        return;
    const struct part_used used = {.part = info->ssi_int, .at = monotonic_now(), .nanoseconds = (int64_t)PART_USES * (1 + info->ssi_overrun)};
    (void)send(socket, &used, sizeof used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void kill_it(pid_t *pid)
{
    if (*pid == 0)
        return;
    if (kill(-*pid, SIGKILL) != 0)
        (void)kill(*pid, SIGKILL); /* it had not come to setsid yet */
    *pid = 0;
}

static void end(struct part *part)
{
    if (part->is_timed)
        (void)timer_delete(part->timer);
    part->is_timed = false;
    kill_it(&part->pid);
}

void parts_end(int number)
{
    end(&parts[number]);
}

/* Who has been given another place by somebody else keeps that; and where one may not go it stays elsewhere, and is only slower. */
static void place(pid_t pid, const cpu_set_t *before)
{
    cpu_set_t now;
    if (pid > 0 && sched_getaffinity(pid, sizeof now, &now) == 0 && CPU_EQUAL(&now, before))
        (void)sched_setaffinity(pid, sizeof here, &here);
}

void parts_place(int cpu, pid_t broker)
{
    const cpu_set_t before = here;
    here = anywhere;
    if (cpu >= 0) {
        CPU_ZERO(&here);
        CPU_SET((size_t)cpu, &here);
    }
    if (getppid() == broker) /* it has not ended meanwhile */
        place(broker, &before);
    for (int i = 0; i < parts_count; i++)
        if (parts[i].kind != PART_GUARD)
            place(parts[i].pid, &before);
    for (int i = 0; i < readers_count; i++)
        place(readers[i]->pid, &before);
}

/* Again each time: somebody may have removed it. */
static void hold_run_directory(void)
{
    const int before = run_directory;
    run_directory = run_directory_hold();
    if (before >= 0)
        close(before);
}

void parts_start(int number, const int fds[DESCRIPTORS])
{
    struct part *part = &parts[number];
    end(part); /* its end may have been an order that did not get here */
    if (fds[0] < 0 || fds[1] < 0)
        return;
    if (part->kind == PART_HELPER)
        hold_run_directory();
    pid_t pid = fork();
    if (pid == 0)
        part_run(part, fds);
    part->pid = pid > 0 ? pid : 0;
    time_it(part);
    if (part->kind != PART_GUARD)
        place(part->pid, &anywhere);
}

/* ---- readers ---- */

/* Below the broker; or as any program, but one that preempts nobody when it is woken: so it finds more to do at once. */
static void rank_reader(pid_t pid, bool ordinary)
{
    struct sched_param param = {0};
    const bool ranked = sched_getscheduler(0) == SCHED_FIFO && sched_getparam(0, &param) == 0;
    param.sched_priority = ordinary ? 0 : param.sched_priority - 1;
    if (ranked && pid > 0)
        (void)sched_setscheduler(pid, (ordinary ? SCHED_BATCH : SCHED_FIFO) | SCHED_RESET_ON_FORK, &param);
}

static void arm(const struct reader_part *reader)
{
    static const struct itimerspec once = {.it_value.tv_nsec = READER_BUDGET};
    if (reader->is_timed)
        (void)timer_settime(reader->timer, 0, &once, NULL);
}

static void give_budget(int slot)
{
    struct reader_part *reader = readers[slot];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = READER_SIGNAL + slot};
    clockid_t clock;
    reader->is_timed = reader->pid > 0 && clock_getcpuclockid(reader->pid, &clock) == 0 && timer_create(clock, &event, &reader->timer) == 0;
    arm(reader);
}

static void end_reader(struct reader_part *reader)
{
    if (reader->is_timed)
        (void)timer_delete(reader->timer);
    reader->is_timed = false;
    timer_end(&reader->ordinary);
    if (reader->pid != 0)
        HASH_DEL(running, reader);
    kill_it(&reader->pid);
}

void parts_end_reader(int slot)
{
    if (slot < readers_count)
        end_reader(readers[slot]);
}

static void take_budget(int slot)
{
    if (slot >= readers_count || !readers[slot]->is_timed || readers[slot]->ordinary.at != 0)
        return;
    rank_reader(readers[slot]->pid, true);
    timer_set(&readers[slot]->ordinary, monotonic_now() + READER_PAUSE);
}

static void give_rank_back(struct timer *timer)
{
    const struct reader_part *reader = container_of(timer, struct reader_part, ordinary);
    rank_reader(reader->pid, false);
    arm(reader);
}

static bool have_slot(int slot)
{
    const int count = slot + 64;
    if (slot < readers_count)
        return true;
    struct reader_part **more = realloc(readers, (size_t)count * sizeof(struct reader_part *));
    if (more == NULL)
        return false;
    readers = more;
    for (; readers_count < count; readers_count++)
        if ((readers[readers_count] = calloc(1, sizeof **readers)) == NULL)
            return false;
    return true;
}

void parts_start_reader(int slot, uid_t uid, const int fds[DESCRIPTORS])
{
    const struct part *part = parts_of_kind(PART_READER);
    if (!have_slot(slot))
        return;
    struct reader_part *reader = readers[slot];
    end_reader(reader);
    reader->ordinary.due = give_rank_back;
    if (part == NULL || fds[0] < 0 || fds[1] < 0)
        return;
    const pid_t pid = part_fork_reader(part, uid, fds);
    reader->pid = pid > 0 ? pid : 0;
    if (reader->pid != 0)
        HASH_ADD(hh, running, pid, sizeof reader->pid, reader);
    place(reader->pid, &anywhere);
    give_budget(slot);
}

/* ---- all of them ---- */

void parts_begin(void)
{
    (void)sched_getaffinity(0, sizeof anywhere, &anywhere);
    here = anywhere;
}

void parts_time_used(const struct signalfd_siginfo *info, int socket)
{
    if (info->ssi_int >= READER_SIGNAL)
        take_budget(info->ssi_int - READER_SIGNAL);
    else
        tell_used(socket, info);
}

static bool is_running(pid_t pid)
{
    const struct reader_part *reader;
    HASH_FIND(hh, running, &pid, sizeof pid, reader);
    if (reader != NULL)
        return true;
    for (int i = 0; i < parts_count; i++)
        if (parts[i].pid == pid)
            return true;
    return false;
}

void parts_reap(void)
{
    siginfo_t info;
    pid_t waits = 0;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || info.si_pid == waits)
            return;
        if (is_running(info.si_pid))
            waits = info.si_pid;
        else
            (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* Whoever waits for the broker's end may want to unmount its spool then. But one that hangs in a file system is waited for no longer than so long. */
static void wait_for_end(pid_t pid, const sigset_t *children, int64_t until)
{
    while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        const int64_t left = until - monotonic_now();
        const struct timespec at_most = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (left <= 0 || sigtimedwait(children, NULL, &at_most) < 0)
            return;
    }
}

/* Not those that end at end-of-file: the broker, which waits for us, is the other end. The others are waited for: left to be reaped by init, they
 * would go on counting among the processes of the plugins' user, of which he may have so many (RLIMIT_NPROC). */
void parts_end_all(const sigset_t *children)
{
    const int64_t until = monotonic_now() + 1000000000;
    for (int i = 0; i < parts_count; i++) {
        const pid_t pid = parts[i].pid;
        const enum part_kind kind = parts[i].kind;
        if (kind == PART_HELPER || kind == PART_NET || kind == PART_DISK || kind == PART_GUARD || kind == PART_LOG)
            continue;
        end(&parts[i]);
        wait_for_end(pid, children, until);
    }
    for (int i = 0; i < readers_count; i++) {
        const pid_t reader = readers[i]->pid;
        end_reader(readers[i]);
        wait_for_end(reader, children, until);
    }
}

void parts_leave(void)
{
    run_directory_leave(run_directory);
}
