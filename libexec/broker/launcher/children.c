#include "children.h"

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

/* When the budget of a reader is used up, the signal has this value: READER_SIGNAL plus the slot of
 * the reader. Lower values are the numbers of other children. */
enum { READER_SIGNAL = 0x40000000 };
struct reader_child {
    pid_t pid; /* as in struct child */
    struct budget budget;
    UT_hash_handle hh; /* key: pid, if it is not 0 */
};

static struct {
    struct child *child;
    int count;
    struct reader_child **reader; /* index: slot */
    int reader_count;
    struct reader_child *running; /* key: pid */
    /* the directory of the children in /run, open in the launcher, which ends last and is under no
     * Landlock rules */
    int run_directory;
    /* the CPUs of the broker at the fork of the launcher, and its CPUs now */
    cpu_set_t anywhere, here;
} children = {.run_directory = -1};

int children_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as)
{
    int words = 0;
    while (argv[words] != NULL)
        words++;
    children.child = realloc(children.child, (size_t)(children.count + 1) * sizeof *children.child);
    char **copy = children.child == NULL ? NULL : calloc((size_t)words + 1, sizeof *copy);
    if (copy == NULL)
        abort();
    for (int i = 0; i < words; i++)
        if ((copy[i] = strdup(argv[i])) == NULL)
            abort();
    children.child[children.count] = (struct child){.kind = kind, .argv = copy, .as = as};
    return children.count++;
}

bool children_has(int number)
{
    return number >= 0 && number < children.count;
}

const struct child *children_of_kind(enum child_kind kind)
{
    for (int i = 0; i < children.count; i++)
        if (children.child[i].kind == kind)
            return &children.child[i];
    return NULL;
}

/* Has the kernel send a signal for each CHILD_USES of CPU time that the plugin uses. A plugin runs
 * above all grants, so it should work only when the broker asks it. The broker compares the CPU
 * time with the questions that it has asked the plugin. A sleeping plugin causes no signals. */
static void time_it(struct child *child)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGRTMIN,
                             .sigev_value.sival_int = (int)(child - children.child)};
    const struct itimerspec each = {.it_value.tv_nsec = CHILD_USES,
                                    .it_interval.tv_nsec = CHILD_USES};
    clockid_t clock;
    child->is_timed = child->kind == CHILD_PLUGIN && child->pid > 0 &&
                      clock_getcpuclockid(child->pid, &clock) == 0 &&
                      timer_create(clock, &event, &child->timer) == 0;
    if (child->is_timed)
        (void)timer_settime(child->timer, 0, &each, NULL);
}

/* Reports the CPU time to the broker. The report has the present time, because the broker may read
 * the report late. A late signal stands for several periods of the timer. */
static void tell_used(int socket, const struct signalfd_siginfo *info)
{
    if (info->ssi_int < 0 || info->ssi_int >= children.count ||
        !children.child[info->ssi_int].is_timed)
        return;
    const struct child_used used = {.child = info->ssi_int,
                                    .at = monotonic_now(),
                                    .nanoseconds = (int64_t)CHILD_USES * (1 + info->ssi_overrun)};
    (void)send(socket, &used, sizeof used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void signal_end(pid_t pid)
{
    if (pid > 0 && kill(-pid, SIGKILL) != 0)
        (void)kill(pid, SIGKILL); /* the child has not called setsid yet */
}

static void children_kill(pid_t *pid)
{
    signal_end(*pid);
    *pid = 0;
}

static void end(struct child *child)
{
    if (child->is_timed)
        (void)timer_delete(child->timer);
    child->is_timed = false;
    budget_end(&child->budget);
    if (child->kind == CHILD_DISK && child->pid != 0)
        child->ending = child->pid;
    children_kill(&child->pid);
}

void children_end(int number)
{
    end(&children.child[number]);
}

/* Moves the process to the present CPUs, unless an administrator has moved it elsewhere. If the
 * process cannot be moved, requests only take longer. */
static void place(pid_t pid, const cpu_set_t *before)
{
    cpu_set_t now;
    if (pid > 0 && sched_getaffinity(pid, sizeof now, &now) == 0 && CPU_EQUAL(&now, before))
        (void)sched_setaffinity(pid, sizeof children.here, &children.here);
}

void children_place(int cpu, pid_t broker)
{
    const cpu_set_t before = children.here;
    children.here = children.anywhere;
    if (cpu >= 0) {
        CPU_ZERO(&children.here);
        CPU_SET((size_t)cpu, &children.here);
    }
    if (getppid() == broker) /* only if the broker has not ended meanwhile */
        place(broker, &before);
    for (int i = 0; i < children.count; i++)
        if (children.child[i].kind != CHILD_GUARD)
            place(children.child[i].pid, &before);
    for (int i = 0; i < children.reader_count; i++)
        place(children.reader[i]->pid, &before);
}

/* Makes the directory again for each start of a helper, because an administrator may have removed
 * it. */
static void hold_run_directory(void)
{
    const int before = children.run_directory;
    children.run_directory = run_directory_hold();
    if (before >= 0)
        close(before);
}

void children_start(int number, const int fds[DESCRIPTORS])
{
    struct child *child = &children.child[number];
    end(child); /* the order to end the old child may have been lost */
    if (fds[0] < 0 || fds[1] < 0)
        return;
    if (child->kind == CHILD_HELPER)
        hold_run_directory();
    pid_t pid = fork();
    if (pid == 0)
        child_run(child, fds);
    child->pid = pid > 0 ? pid : 0;
    time_it(child);
    if (child->kind == CHILD_ADOPTER)
        budget_begin(&child->budget, child->pid, number);
    if (child->kind != CHILD_GUARD)
        place(child->pid, &children.anywhere);
}

/* ---- readers ---- */

static void end_reader(struct reader_child *reader)
{
    budget_end(&reader->budget);
    if (reader->pid != 0)
        HASH_DEL(children.running, reader);
    children_kill(&reader->pid);
}

void children_end_reader(int slot)
{
    if (slot < children.reader_count)
        end_reader(children.reader[slot]);
}

static bool have_slot(int slot)
{
    const int count = slot + 64;
    if (slot < children.reader_count)
        return true;
    struct reader_child **more =
        realloc(children.reader, (size_t)count * sizeof(struct reader_child *));
    if (more == NULL)
        return false;
    children.reader = more;
    for (; children.reader_count < count; children.reader_count++)
        if ((children.reader[children.reader_count] = calloc(1, sizeof **children.reader)) == NULL)
            return false;
    return true;
}

void children_start_reader(int slot, uid_t uid, const int fds[DESCRIPTORS])
{
    const struct child *child = children_of_kind(CHILD_READER);
    if (!have_slot(slot))
        return;
    struct reader_child *reader = children.reader[slot];
    end_reader(reader);
    if (child == NULL || fds[0] < 0 || fds[1] < 0)
        return;
    const pid_t pid = child_fork_reader(child, uid, fds);
    reader->pid = pid > 0 ? pid : 0;
    if (reader->pid != 0)
        HASH_ADD(hh, children.running, pid, sizeof reader->pid, reader);
    place(reader->pid, &children.anywhere);
    budget_begin(&reader->budget, reader->pid, READER_SIGNAL + slot);
}

/* ---- all children ---- */

void children_begin(void)
{
    (void)sched_getaffinity(0, sizeof children.anywhere, &children.anywhere);
    children.here = children.anywhere;
}

void children_time_used(const struct signalfd_siginfo *info, int socket)
{
    if (info->ssi_int >= READER_SIGNAL + children.reader_count)
        return;
    if (info->ssi_int >= READER_SIGNAL)
        budget_used_up(&children.reader[info->ssi_int - READER_SIGNAL]->budget);
    else if (children_has(info->ssi_int) && children.child[info->ssi_int].kind == CHILD_ADOPTER)
        budget_used_up(&children.child[info->ssi_int].budget);
    else
        tell_used(socket, info);
}

static bool is_running(pid_t pid)
{
    const struct reader_child *reader;
    HASH_FIND(hh, children.running, &pid, sizeof pid, reader);
    if (reader != NULL)
        return true;
    for (int i = 0; i < children.count; i++)
        if (children.child[i].pid == pid)
            return true;
    return false;
}

void children_reap(void)
{
    siginfo_t info;
    pid_t waits = 0;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == waits)
            return;
        if (is_running(info.si_pid))
            waits = info.si_pid;
        else
            (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* Waits for the end of the process, because an administrator who waits for the broker's end may
 * want to unmount the spool next. The wait ends at `until`, because a child may hang in a file
 * system. */
static void wait_for_end(pid_t pid, const sigset_t *ended, int64_t until)
{
    while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        const int64_t left = until - monotonic_now();
        const struct timespec at_most = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (left <= 0 || sigtimedwait(ended, NULL, &at_most) < 0)
            return;
    }
}

static bool ends_by_itself(const struct child *child)
{
    return child->kind == CHILD_HELPER || child->kind == CHILD_NET || child->kind == CHILD_GUARD ||
           child->kind == CHILD_LOG;
}

/* All children get the signal before the first one is waited for: the kernel takes 10 ms and more
 * to end a process with inotify watches, and ends several at the same time. */
static void signal_all(void)
{
    for (int i = 0; i < children.count; i++)
        if (!ends_by_itself(&children.child[i]) && children.child[i].kind != CHILD_DISK)
            signal_end(children.child[i].pid);
    for (int i = 0; i < children.reader_count; i++)
        signal_end(children.reader[i]->pid);
}

/* Leaves out the children that end at end-of-file: the broker has the other end of their sockets,
 * and waits for the launcher now. Waits for rtf-disk, because rtf-disk has a lock file in /run/rtf,
 * and /run/rtf has to be empty in the end. Waits for the other children, too: otherwise they would
 * be zombies of init for a time, and would count among the processes of the plugins' user
 * (RLIMIT_NPROC). */
void children_end_all(const sigset_t *ended)
{
    const int64_t until = monotonic_now() + 1000000000;
    signal_all();
    for (int i = 0; i < children.count; i++) {
        const pid_t pid = children.child[i].pid;
        if (ends_by_itself(&children.child[i]))
            continue;
        if (children.child[i].kind == CHILD_DISK)
            wait_for_end(children.child[i].ending, ended, until);
        else
            end(&children.child[i]);
        wait_for_end(pid, ended, until);
    }
    for (int i = 0; i < children.reader_count; i++) {
        const pid_t reader = children.reader[i]->pid;
        end_reader(children.reader[i]);
        wait_for_end(reader, ended, until);
    }
}

void children_leave(void)
{
    run_directory_leave(children.run_directory);
}
