/* libexec/attach/inherited-lock-limit.c: no process keeps a raised limit that it has inherited. The
 * processes, their ids and their limits are faked here. */
#include "attach/inherited-lock-limit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"
#include "unit.h"

enum {
    OWNER = 1000,
    OTHER = 1001,
    FIRST = 50,
    WRAPPED = 60,
    HIGHEST = 300,
    RAISED = 32,
    FORMER = 8
};

static struct {
    rlim_t hard;
    uid_t uid;
    bool is;
} processes[HIGHEST + 1];
static int last, position, unreadable, refusals;

/* The number of processes that a fork storm still starts. It has one process at a time, which
 * starts the next and ends just before it is listed. 0: there is no storm. */
static int storm, storms_left;

static void start(int id, rlim_t hard, uid_t uid)
{
    processes[id].hard = hard;
    processes[id].uid = uid;
    processes[id].is = true;
    last = id;
}

static void storm_on(int listed)
{
    if (storm == 0 || listed != storm || storms_left == 0)
        return;
    storms_left--;
    const rlim_t hard = processes[storm].hard;
    const int next = storm == HIGHEST ? WRAPPED : storm + 1;
    processes[storm].is = false;
    start(next, hard, OWNER);
    storm = next;
}

DIR *fake_opendir(const char *path) __asm__("__wrap_opendir");
DIR *fake_opendir(const char *path)
{
    static char stands_for_a_directory;
    (void)path;
    clock_now += MS;
    position = 0;
    errno = EMFILE;
    return unreadable-- > 0 ? NULL : (DIR *)(void *)&stands_for_a_directory;
}

int fake_closedir(DIR *directory) __asm__("__wrap_closedir");
int fake_closedir(DIR *directory)
{
    (void)directory;
    return 0;
}

struct dirent *fake_readdir(DIR *directory) __asm__("__wrap_readdir");
struct dirent *fake_readdir(DIR *directory)
{
    static struct dirent entry;
    (void)directory;
    while (++position <= HIGHEST) {
        if (!processes[position].is)
            continue;
        const int listed = position;
        snprintf(entry.d_name, sizeof entry.d_name, "%d", listed);
        storm_on(listed);
        return &entry;
    }
    return NULL;
}

FILE *true_fopen(const char *path, const char *mode) __asm__("__real_fopen");
FILE *fake_fopen(const char *path, const char *mode) __asm__("__wrap_fopen");
FILE *fake_fopen(const char *path, const char *mode)
{
    static char text[64];
    if (strcmp(path, "/proc/loadavg") != 0)
        return true_fopen(path, mode);
    snprintf(text, sizeof text, "0.00 0.00 0.00 1/1 %d\n", last);
    return fmemopen(text, strlen(text), "r");
}

static bool is_there(pid_t process)
{
    return process > 0 && process <= HIGHEST && processes[process].is;
}

int fake_prlimit(pid_t process, int resource, const struct rlimit *next,
                 struct rlimit *now) __asm__("__wrap_prlimit");
int fake_prlimit(pid_t process, int resource, const struct rlimit *next, struct rlimit *now)
{
    (void)resource;
    errno = ESRCH;
    if (!is_there(process))
        return -1;
    errno = EPERM;
    if (next != NULL && refusals > 0 && process != FIRST && refusals-- > 0)
        return -1;
    if (now != NULL)
        *now = (struct rlimit){processes[process].hard, processes[process].hard};
    if (next != NULL)
        processes[process].hard = next->rlim_max;
    return 0;
}

long fake_syscall(long number, ...) __asm__("__wrap_syscall");
long fake_syscall(long number, ...)
{
    return number == SYS_pidfd_open ? dup(STDERR_FILENO) : -1;
}

bool fake_thread_identify(pid_t tid, struct identity *identity) __asm__("__wrap_thread_identify");
bool fake_thread_identify(pid_t tid, struct identity *identity)
{
    errno = ESRCH;
    if (!is_there(tid))
        return false;
    const uid_t uid = processes[tid].uid;
    *identity = (struct identity){.tid = tid,
                                  .process = tid,
                                  .start = 7,
                                  .real_uid = uid,
                                  .effective_uid = uid,
                                  .saved_uid = uid,
                                  .files_uid = uid};
    return true;
}

bool fake_thread_is(pid_t tid, uint64_t started_by) __asm__("__wrap_thread_is");
bool fake_thread_is(pid_t tid, uint64_t started_by)
{
    (void)started_by;
    return is_there(tid);
}

bool fake_thread_has_ended(int pidfd) __asm__("__wrap_thread_has_ended");
bool fake_thread_has_ended(int pidfd)
{
    (void)pidfd;
    return false;
}

static enum apply_result take_back(void)
{
    char reason[APPLY_REASON];
    const struct limited limited = {.process = FIRST,
                                    .started_by = 7,
                                    .owner = OWNER,
                                    .has_owner = true,
                                    .since = 7,
                                    .limit = {{FORMER, FORMER}, RAISED, 0}};
    return lock_memory_limit(&limited, reason);
}

static int begin(void **state)
{
    (void)state;
    memset(processes, 0, sizeof processes);
    unreadable = refusals = storm = storms_left = 0;
    start(FIRST, RAISED, OWNER);
    return 0;
}

static bool any_is_raised(uid_t uid)
{
    for (int id = 0; id <= HIGHEST; id++)
        if (processes[id].is && processes[id].uid == uid && processes[id].hard > FORMER)
            return true;
    return false;
}

static void only_processes_of_the_owner_lose_the_limit(void **state)
{
    (void)state;
    start(60, RAISED, OWNER);
    start(61, RAISED, OTHER);
    start(62, RAISED + 1, OWNER); /* a limit that is higher than the inherited one */
    assert_int_equal(take_back(), APPLY_DONE);
    assert_int_equal(processes[FIRST].hard, FORMER);
    assert_int_equal(processes[60].hard, FORMER);
    /* another user's process keeps the limit: rtf-spec(5) */
    assert_int_equal(processes[61].hard, RAISED);
    assert_int_equal(processes[62].hard, RAISED + 1);
}

static void a_fork_storm_does_not_escape(void **state)
{
    (void)state;
    for (int forks = 0; forks < 400; forks++) {
        (void)begin(state);
        start(HIGHEST - 3, RAISED, OWNER);
        storm = HIGHEST - 3;
        storms_left = forks;
        const enum apply_result done = take_back();
        check(done == APPLY_REFUSED || !any_is_raised(OWNER), "%d forks", forks);
        storms_left = 0;
        assert_int_equal(take_back(), APPLY_DONE); /* the broker sends the order again */
        assert_false(any_is_raised(OWNER));
    }
}

static void a_list_that_cannot_be_read_is_no_proof(void **state)
{
    (void)state;
    start(60, RAISED, OWNER);
    unreadable = 2;
    assert_int_equal(take_back(), APPLY_DONE);
    assert_false(any_is_raised(OWNER));
    start(61, RAISED, OWNER);
    unreadable = 1 << 20;
    assert_int_equal(take_back(), APPLY_REFUSED);
}

static void a_limit_that_the_kernel_does_not_change_is_no_proof(void **state)
{
    (void)state;
    start(60, RAISED, OWNER);
    refusals = 3;
    assert_int_equal(take_back(), APPLY_DONE);
    assert_false(any_is_raised(OWNER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_processes_of_the_owner_lose_the_limit, begin),
        cmocka_unit_test_setup(a_fork_storm_does_not_escape, begin),
        cmocka_unit_test_setup(a_list_that_cannot_be_read_is_no_proof, begin),
        cmocka_unit_test_setup(a_limit_that_the_kernel_does_not_change_is_no_proof, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
