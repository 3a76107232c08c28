/* rows ROW: calls the functions in a row of Tables 2 and 3, and checks their results: from the
 * kernel for threads, from the answer for numbers. Exits with 0 if the row is true; else prints the
 * false condition. RTF_SPOOL names the spool. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rtf.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct rtf_connection connection = RTF_CONNECTION_INIT;
static struct rtf_spec spec = RTF_SPEC_INIT;
static struct rtf_params params = RTF_PARAMS_INIT;

#define IS(condition) is(condition, #condition, __LINE__)
static void is(int condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "rows.c:%d: not so: %s; %s, %s, %s\n", line, text,
            rtf_result_name(rtf_spec_result(&spec)), rtf_spec_code(&spec), rtf_spec_reason(&spec));
    exit(1);
}

static int policy(pid_t thread)
{
    return sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK;
}

static void state(uint64_t runtime, uint64_t period)
{
    rtf_params_set_runtime(&params, runtime);
    rtf_params_set_period(&params, period);
}

static void reserve(uint64_t runtime, uint64_t period)
{
    state(runtime, period);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_OK);
}

static pid_t child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- Table 2 ---- */

static void row_connect(void)
{
    struct rtf_connection none = RTF_CONNECTION_INIT;
    IS(rtf_reason(&connection)[0] == '\0');
    IS(rtf_connect(&none, "/nonexistent") == RTF_CONNECTION_ERR);
    IS(strstr(rtf_reason(&none), "/nonexistent") != NULL);
    IS(rtf_spec_create(&none, &spec, &params) == RTF_CONNECTION_ERR);
    rtf_disconnect(&none);
    rtf_disconnect(&none); /* may be called any number of times */
}

static void row_create(void)
{
    reserve(2000, 20000);
    IS(rtf_spec_is_granted(&spec));
    IS(rtf_spec_get_accepted_runtime(&spec) == 2000);
    IS(strcmp(rtf_spec_get_policy(&spec), "deadline") == 0);
    /* the handle holds a spec already */
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_ERROR);
    IS(strcmp(rtf_spec_code(&spec), "misuse") == 0);
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    state(17000, 20000);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_SCHEDULE_FAIL);
    IS(strcmp(rtf_spec_code(&other), "full") == 0);
    const uint64_t nearest = rtf_spec_nearest(&other);
    IS(nearest > 0 && nearest < 17000 && rtf_spec_nearest_minimum(&other) == 0);
    state(nearest + 1, 20000);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_SCHEDULE_FAIL);
    state(nearest, 20000);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_OK);
    IS(rtf_spec_release(&other) == RTF_OK);
    state(1, 20000); /* the kernel takes no less than 2 us */
    IS(rtf_spec_create(&connection, &other, &params) == RTF_SCHEDULE_FAIL);
    IS(rtf_spec_nearest(&other) == nearest && rtf_spec_nearest_minimum(&other) == 2);
    state(900, 100); /* a runtime above the period is wrong */
    IS(rtf_spec_create(&connection, &other, &params) == RTF_BAD_SPEC);
    rtf_spec_release(&other);
}

static void row_create_attached(void)
{
    state(2000, 20000);
    IS(rtf_spec_create_attached(&connection, &spec, &params, 0) == RTF_OK);
    IS(policy(0) == SCHED_DEADLINE && rtf_spec_is_attached(&spec) &&
       rtf_spec_get_thread(&spec) == gettid());
    IS(rtf_spec_detach(&spec) == RTF_OK);
    IS(policy(0) == SCHED_OTHER && rtf_spec_get_thread(&spec) == 0 && rtf_spec_is_granted(&spec));
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    IS(policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_release(&spec) == RTF_OK);
    IS(policy(0) == SCHED_OTHER);
    /* neither granted nor attached */
    IS(rtf_spec_create_attached(&connection, &spec, &params, 1) == RTF_ATTACH_FAIL);
    IS(!rtf_spec_is_granted(&spec) && strcmp(rtf_spec_code(&spec), "not-yours") == 0);
}

static void row_change(void)
{
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    state(3000, 30000);
    IS(rtf_spec_change(&spec, &params) == RTF_OK);
    IS(rtf_spec_get_accepted_runtime(&spec) == 3000 && rtf_spec_get_period(&spec) == 30000);
    IS(policy(0) == SCHED_DEADLINE);
    state(30000, 30000);
    IS(rtf_spec_change(&spec, &params) == RTF_SCHEDULE_FAIL);
    IS(rtf_spec_is_granted(&spec) && rtf_spec_get_accepted_runtime(&spec) == 3000 &&
       policy(0) == SCHED_DEADLINE);
}

static void row_release(void)
{
    struct timespec now;
    reserve(15000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    IS(rtf_spec_release(&spec) == RTF_OK);
    IS(policy(0) == SCHED_OTHER);
    clock_gettime(CLOCK_MONOTONIC, &now);
    reserve(15000, 20000); /* the capacity is free again, and the handle can be used again */
    IS(rtf_spec_release(&spec) == RTF_OK && rtf_spec_release(&spec) == RTF_OK);
    IS(rtf_spec_attach(&spec, 0) == RTF_ERROR);
}

static void row_attach(void)
{
    const pid_t pid = child();
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 1) == RTF_ATTACH_FAIL &&
       strcmp(rtf_spec_code(&spec), "not-yours") == 0);
    IS(!rtf_spec_is_granted(&spec) && rtf_spec_attach(&spec, pid) == RTF_GONE);
    rtf_params_set_lasting(&params, true);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 1) == RTF_ATTACH_FAIL && rtf_spec_is_granted(&spec));
    IS(rtf_spec_attach(&spec, pid) == RTF_OK);
    IS(policy(pid) == SCHED_DEADLINE && policy(0) == SCHED_OTHER &&
       rtf_spec_get_thread(&spec) == pid);
    IS(rtf_spec_attach(&spec, 0) == RTF_ATTACH_FAIL && policy(pid) == SCHED_DEADLINE);
    IS(rtf_spec_detach(&spec) == RTF_OK && rtf_spec_attach(&spec, 0) == RTF_OK);
    IS(policy(pid) == SCHED_OTHER && policy(0) == SCHED_DEADLINE);
    end(pid);
    IS(rtf_spec_release(&spec) == RTF_OK);
}

/* Takes the reservation `cam` for the calling thread, together with others at once. Returns what
 * happened. */
static pthread_barrier_t takers_are_ready;
static void *take(void *unused)
{
    struct rtf_connection own = RTF_CONNECTION_INIT;
    static _Thread_local struct rtf_spec taken = RTF_SPEC_INIT;
    (void)unused;
    const bool found =
        rtf_connect(&own, NULL) == RTF_OK && rtf_spec_find(&own, &taken, "cam") == RTF_OK;
    pthread_barrier_wait(&takers_are_ready);
    const enum rtf_result result = found ? rtf_spec_attach(&taken, 0) : RTF_ERROR;
    const bool is_busy = result == RTF_ATTACH_FAIL && strcmp(rtf_spec_code(&taken), "busy") == 0;
    pthread_barrier_wait(&takers_are_ready);
    const bool has_it = policy(0) == SCHED_DEADLINE;
    pthread_barrier_wait(&takers_are_ready);
    rtf_disconnect(&own);
    return result == RTF_OK && has_it ? "has it" : is_busy && !has_it ? "busy" : "wrong";
}

static void row_takers(void)
{
    enum { TAKERS = 8, ROUNDS = 10 };
    pthread_t taker[TAKERS];
    int has_it = 0, is_busy = 0;
    pthread_barrier_init(&takers_are_ready, NULL, TAKERS);
    rtf_params_set_lasting(&params, true);
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    reserve(2000, 20000);
    for (int i = 0; i < ROUNDS * TAKERS; i++) {
        void *said;
        for (int j = 0; i % TAKERS == 0 && j < TAKERS; j++)
            IS(pthread_create(&taker[j], NULL, take, NULL) == 0);
        pthread_join(taker[i % TAKERS], &said);
        has_it += strcmp(said, "has it") == 0;
        is_busy += strcmp(said, "busy") == 0;
    }
    IS(has_it == ROUNDS && is_busy == ROUNDS * (TAKERS - 1));
    IS(rtf_spec_release(&spec) == RTF_OK);
}

static void row_busy(void)
{
    static struct rtf_spec other = RTF_SPEC_INIT; /* until rtf_disconnect */
    const pid_t pid = child();
    rtf_params_set_lasting(&params, true);
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && rtf_spec_attach(&spec, 0) == RTF_OK);
    IS(rtf_spec_find(&connection, &other, "cam") == RTF_OK);
    errno = 0;
    IS(rtf_spec_attach(&other, pid) == RTF_ATTACH_FAIL && errno == EBUSY);
    IS(strcmp(rtf_spec_code(&other), "busy") == 0 &&
       strstr(rtf_spec_reason(&other), "detach that thread first") != NULL);
    IS(policy(0) == SCHED_DEADLINE && policy(pid) == SCHED_OTHER && rtf_spec_is_granted(&other));
    IS(rtf_spec_detach(&spec) == RTF_OK && rtf_spec_attach(&other, pid) == RTF_OK);
    IS(policy(0) == SCHED_OTHER && policy(pid) == SCHED_DEADLINE);
    IS(rtf_spec_attach(&spec, 0) == RTF_ATTACH_FAIL && policy(pid) == SCHED_DEADLINE);
    end(pid); /* a thread that has ended has nothing any more */
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_release(&spec) == RTF_OK);
    /* a thread that was attached in one step with the reservation keeps the reservation, too */
    const pid_t second = child();
    IS(rtf_spec_create_attached(&connection, &spec, &params, 0) == RTF_OK);
    IS(rtf_spec_attach(&spec, second) == RTF_ATTACH_FAIL && policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_release(&spec) == RTF_OK);
    end(second);
}

static void row_detach(void)
{
    const pid_t pid = child();
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    IS(rtf_spec_detach(&spec) == RTF_OK);
    IS(policy(0) == SCHED_OTHER && rtf_spec_is_granted(&spec) && !rtf_spec_is_attached(&spec));
    IS(rtf_spec_attach(&spec, pid) == RTF_OK && policy(pid) == SCHED_DEADLINE);
    end(pid);
}

static void row_accepted(void)
{
    rtf_params_set_des_runtime(&params, 4000);
    reserve(2000, 20000);
    IS(rtf_spec_get_accepted_runtime(&spec) == 4000);
}

static void row_start(void)
{
    IS(rtf_task_start(&spec) == RTF_ERROR);
    reserve(2000, 20000);
    IS(rtf_task_start(&spec) == RTF_OK);
    IS(rtf_task_activation(&spec) > 0 && rtf_task_missed(&spec) == 0);
}

/* Counts all calls of malloc in this program. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *__libc_malloc(size_t size);
static unsigned long taken;
void *malloc(size_t size)
{
    taken++;
    return __libc_malloc(size);
}

static void row_loop(void)
{
    reserve(2000, 20000);
    const unsigned long before = taken;
    IS(rtf_spec_get_accepted_runtime(&spec) == 2000);
    IS(taken > before); /* this call of malloc counts, too */
    rtf_spec_release(&spec);
    reserve(2000, 20000);
    IS(rtf_task_start(&spec) == RTF_OK);
    const unsigned long begun = taken;
    for (int i = 0; i < 3; i++) {
        IS(rtf_spec_get_accepted_runtime(&spec) == 2000);
        (void)rtf_task_wait_period(&spec);
    }
    IS(taken == begun);
}

/* A client that misses an answer sleeps for an hour. */
static void row_directory(void)
{
    char own[256], away[300];
    rtf_set_timeout(&connection, 3600000000);
    snprintf(own, sizeof own, "%s/specs/%s", getenv("RTF_SPOOL"), getenv("USER"));
    snprintf(away, sizeof away, "%s-away", own);
    for (int i = 0; i < 10; i++) {
        reserve(2000, 20000);
        IS(rtf_spec_release(&spec) == RTF_OK);
        IS(rmdir(own) == 0);
    }
    reserve(2000, 20000);
    IS(rtf_spec_release(&spec) == RTF_OK);
    IS(rename(own, away) == 0);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_release(&spec) == RTF_OK);
    (void)rmdir(away);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void row_wait_period(void)
{
    reserve(2000, 20000);
    IS(rtf_task_start(&spec) == RTF_OK);
    const int64_t begun = rtf_task_activation(&spec);
    for (int i = 1; i <= 5; i++) {
        const uint64_t missed = rtf_task_wait_period(&spec);
        IS(now() >= rtf_task_activation(&spec) &&
           (rtf_task_activation(&spec) - begun) % 20000000 == 0);
        IS(missed == 0 || rtf_task_missed(&spec) >= missed);
    }
    const int64_t last = rtf_task_activation(&spec);
    const uint64_t before = rtf_task_missed(&spec);
    while (now() < last + 70000000) /* sleeps into the fourth period */
        ;
    const uint64_t missed = rtf_task_wait_period(&spec);
    IS(missed >= 2 && missed == (uint64_t)((rtf_task_activation(&spec) - last) / 20000000 - 1));
    IS(rtf_task_missed(&spec) == before + missed);
    IS(now() < rtf_task_activation(&spec) + 20000000 || missed > 2);
}

/* ---- Table 3 ---- */

static void row_period(void)
{
    rtf_params_set_period(&params, 30000);
    IS(rtf_params_get_period(&params) == 30000);
    reserve(2000, 30000);
    IS(rtf_spec_get_period(&spec) == 30000);
}

static void row_runtime(void)
{
    rtf_params_set_runtime(&params, 2345);
    IS(rtf_params_get_runtime(&params) == 2345);
    reserve(2345, 30000);
    IS(rtf_spec_get_accepted_runtime(&spec) == 2345);
}

static void row_des_runtime(void)
{
    rtf_params_set_des_runtime(&params, 5000);
    IS(rtf_params_get_des_runtime(&params) == 5000);
    reserve(2000, 20000);
    IS(rtf_spec_get_accepted_runtime(&spec) == 5000);
}

static void row_deadline(void)
{
    rtf_params_set_deadline(&params, 10000);
    IS(rtf_params_get_deadline(&params) == 10000);
    reserve(2000, 20000);
    IS(rtf_spec_get_deadline(&spec) == 10000);
}

static void row_priority(void)
{
    struct sched_param param;
    rtf_params_set_priority(&params, 15);
    IS(rtf_params_get_priority(&params) == 15);
    IS(rtf_params_set_scheduler(&params, "FP") == RTF_OK);
    reserve(1000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    IS(policy(0) == SCHED_FIFO && sched_getparam(0, &param) == 0 && param.sched_priority >= 11 &&
       param.sched_priority <= 20);
}

static void row_scheduler(void)
{
    IS(rtf_params_set_scheduler(&params, "RR") == RTF_OK);
    IS(strcmp(rtf_params_get_scheduler(&params), "RR") == 0);
    IS(rtf_params_set_scheduler(&params, "a name of a plugin that is longer than 32 bytes") ==
       RTF_BAD_SPEC);
    IS(strcmp(rtf_params_get_scheduler(&params), "RR") == 0);
    rtf_params_set_priority(&params, 5);
    reserve(1000, 20000);
    IS(strcmp(rtf_spec_get_plugin(&spec), "RR") == 0 &&
       strcmp(rtf_spec_get_policy(&spec), "rr") == 0);
}

static void row_ignore_admission(void)
{
    state(20000, 20000);
    rtf_params_ignore_admission(&params, true);
    /* no rule allows "ignore admission" yet */
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_ACL_FAIL);
    rtf_params_ignore_admission(&params, false);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_SCHEDULE_FAIL);
}

/* ---- beyond the paper ---- */

static void row_more_parameters(void)
{
    IS(rtf_params_set_name(&params, "no/name") == RTF_BAD_SPEC &&
       rtf_params_set_name(&params, "cam") == RTF_OK);
    IS(rtf_params_set_cpus(&params, "none") == RTF_BAD_SPEC &&
       rtf_params_set_cpus(&params, "0") == RTF_OK);
    IS(rtf_params_set_scheduler(&params, "FP") == RTF_OK);
    rtf_params_set_priority(&params, 12);
    rtf_params_set_lasting(&params, true);
    rtf_params_set_expires(&params, 60000000);
    reserve(1000, 20000);
    IS(strcmp(rtf_spec_get_name(&spec), "cam") == 0 && strcmp(rtf_spec_get_cpus(&spec), "0") == 0);
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    IS(rtf_spec_create(&connection, &other, &params) == RTF_ERROR &&
       strcmp(rtf_spec_code(&other), "taken") == 0);
    rtf_disconnect(&connection); /* the grant lasts */
    IS(rtf_connect(&connection, NULL) == RTF_OK);
    IS(rtf_spec_find(&connection, &spec, "cam") == RTF_OK &&
       rtf_spec_get_accepted_runtime(&spec) == 1000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && policy(0) == SCHED_FIFO);
    IS(rtf_spec_find(&connection, &other, "nothing") == RTF_GONE);
    state(30000, 20000);
    /* the refused change does not end the reservation */
    IS(rtf_spec_change(&spec, &params) == RTF_BAD_SPEC);
    IS(rtf_spec_find(&connection, &other, "cam") == RTF_OK && rtf_spec_is_attached(&other));
}

static void row_wait(void)
{
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    rtf_set_timeout(&connection, 200000);
    reserve(12000, 20000);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_SCHEDULE_FAIL);
    rtf_params_set_wait(&params, true);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_TIMEOUT &&
       strcmp(rtf_spec_code(&other), "no-answer") == 0);
    struct rtf_tasks *tasks = rtf_tasks_read(&connection);
    IS(rtf_tasks_count(tasks) == 1); /* the spec no longer waits */
    rtf_tasks_free(tasks);
}

/* Waits until rtf_process has taken the answer; returns its result. */
static enum rtf_result processed(struct rtf_spec *of)
{
    struct pollfd fd = {.fd = rtf_fd(&connection), .events = POLLIN};
    while (rtf_spec_result(of) == RTF_PENDING) {
        if (poll(&fd, 1, 10000) != 1)
            return RTF_TIMEOUT;
        IS(rtf_process(&connection) == RTF_OK);
    }
    return rtf_spec_result(of);
}

static void row_poll(void)
{
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    IS(rtf_fd(&connection) >= 0);
    rtf_set_blocking(&connection, false);
    state(12000, 20000);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_PENDING);
    IS(processed(&spec) == RTF_OK && rtf_spec_get_accepted_runtime(&spec) == 12000);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_PENDING);
    IS(processed(&other) == RTF_SCHEDULE_FAIL && rtf_spec_nearest(&other) > 0);
    IS(rtf_spec_attach(&spec, 0) == RTF_PENDING);
    IS(processed(&spec) == RTF_OK && policy(0) == SCHED_DEADLINE);
    const pid_t pid = child();
    IS(rtf_spec_detach(&spec) == RTF_PENDING && processed(&spec) == RTF_OK);
    IS(rtf_spec_attach(&spec, pid) == RTF_PENDING && processed(&spec) == RTF_OK &&
       policy(pid) == SCHED_DEADLINE);
    end(pid); /* the thread ends without a call of librtf */
    struct pollfd fd = {.fd = rtf_fd(&connection), .events = POLLIN};
    while (rtf_spec_result(&spec) != RTF_GONE && poll(&fd, 1, 10000) == 1)
        IS(rtf_process(&connection) == RTF_OK);
    IS(rtf_spec_result(&spec) == RTF_GONE && !rtf_spec_is_granted(&spec));
}

static void row_queries(void)
{
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    struct rtf_tasks *tasks = rtf_tasks_read(&connection);
    IS(rtf_tasks_count(tasks) == 1 && strcmp(rtf_task_name(tasks, 0), "cam") == 0 &&
       rtf_task_thread(tasks, 0) == gettid());
    IS(strcmp(rtf_task_plugin(tasks, 0), "EDF") == 0 &&
       strcmp(rtf_task_result(tasks, 0), "OK") == 0);
    IS(rtf_task_accepted_runtime(tasks, 0) == 2000 && rtf_task_period(tasks, 0) == 20000 &&
       rtf_task_name(tasks, 1)[0] == '\0');
    rtf_tasks_free(tasks);
    struct rtf_status *status = NULL;
    /* the broker writes this file once a second at most */
    for (int tries = 0; tries < 300; tries++) {
        rtf_status_free(status);
        status = rtf_status_read(&connection);
        IS(status != NULL);
        if (rtf_status_attached(status) == 1)
            break;
        usleep(10000);
    }
    IS(rtf_status_reservations(status) == 1 && rtf_status_attached(status) == 1 &&
       rtf_status_plugins(status) == 3);
    IS(strcmp(rtf_plugin_name(status, 0), "EDF") == 0 &&
       strcmp(rtf_plugin_policy(status, 0), "deadline") == 0);
    IS(strcmp(rtf_plugin_program(status, 1), "fp") == 0 &&
       strcmp(rtf_plugin_priorities(status, 1), "11-20") == 0);
    IS(strcmp(rtf_plugin_state(status, 2), "serving") == 0 &&
       rtf_plugin_cpus(status, 2)[0] == '0' && rtf_plugin_name(status, 3)[0] == '\0');
    const uint64_t is_free = rtf_status_free_on(status, "EDF", 0);
    IS(is_free > 0 && is_free < UINT64_MAX &&
       rtf_status_free_on(status, "EDF", 1000) == UINT64_MAX);
    rtf_status_free(status);
}

/* Waits for a line on standard input; meanwhile the test acts on the broker. */
static void await_test(void)
{
    puts("ready");
    fflush(stdout);
    IS(getchar() == '\n');
}

static int descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

static void row_restart(void)
{
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    const int open = descriptors();
    await_test(); /* the broker is killed */
    IS(policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_CONNECTION_ERR &&
       strcmp(rtf_spec_code(&other), "no-broker") == 0);
    IS(rtf_process(&connection) == RTF_CONNECTION_ERR);
    await_test(); /* the broker is started again */
    IS(rtf_spec_create(&connection, &other, &params) == RTF_OK);
    IS(rtf_process(&connection) == RTF_OK);
    IS(policy(0) == SCHED_DEADLINE);
    state(3000, 20000);
    IS(rtf_spec_change(&spec, &params) == RTF_OK && rtf_spec_get_accepted_runtime(&spec) == 3000);
    IS(rtf_spec_release(&other) == RTF_OK && descriptors() == open);
    IS(rtf_spec_detach(&spec) == RTF_OK && policy(0) == SCHED_OTHER);
    IS(rtf_spec_release(&spec) == RTF_OK);
}

/* Checks sched_yield under SCHED_DEADLINE: the thread gives up the rest of its runtime, and waits
 * for the kernel's next period. */
static void row_yield(void)
{
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    sched_yield();
    const int64_t began = now();
    int64_t last = began, shortest = INT64_MAX, longest = 0;
    for (int i = 0; i < 20; i++) {
        sched_yield();
        const int64_t time = now(), took = time - last;
        last = time;
        shortest = took < shortest ? took : shortest;
        longest = took > longest ? took : longest;
    }
    printf("sched_yield: %lld to %lld us\n", (long long)shortest / 1000, (long long)longest / 1000);
    /* the sum counts, because a thread that wakes late has a short wait next */
    IS(last - began > 19 * 20000000LL && longest < 200000000);
}

/* ---- what happens without a call ---- */

/* Waits until rtf_fd and rtf_process report this result. */
static void tells_of(enum rtf_result result)
{
    struct pollfd fd = {.fd = rtf_fd(&connection), .events = POLLIN};
    while (rtf_spec_result(&spec) != result && poll(&fd, 1, 10000) == 1)
        (void)rtf_process(&connection);
    IS(rtf_spec_result(&spec) == result);
}

static uint64_t missed_in_all;

/* Loops until rtf_task_wait returns this; each turn sleeps. */
static void waits_until(enum rtf_result result)
{
    uint64_t missed;
    const int64_t begun = now();
    int turns = 0;
    while (rtf_task_wait(&spec, &missed) != result && now() - begun < 10000000000LL) {
        turns++;
        missed_in_all += missed;
    }
    IS(rtf_task_wait(&spec, NULL) == result);
    IS(turns <= (now() - begun) / 20000000 + 2);
}

static void row_loses(enum rtf_result result, bool is_granted, enum rtf_result told)
{
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    IS(rtf_task_wait(&spec, NULL) == RTF_ERROR);
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && rtf_task_start(&spec) == RTF_OK);
    IS(rtf_task_wait(&spec, NULL) == RTF_OK);
    IS(rtf_spec_find(&connection, &other, "cam") == RTF_OK && rtf_spec_is_attached(&other));
    await_test();
    waits_until(result);
    IS(rtf_spec_reason(&spec)[0] != '\0');
    IS(!rtf_spec_is_attached(&other) && rtf_spec_is_granted(&other) == is_granted);
    IS(policy(0) == SCHED_OTHER);
    IS(rtf_spec_result(&spec) == told);
    const int64_t begun = now();
    for (int i = 0; i < 5; i++) /* a loop that ignores the result keeps its pace */
        (void)rtf_task_wait_period(&spec);
    IS(now() - begun > 60000000);
}

static void row_gone(void)
{
    row_loses(RTF_GONE, false, RTF_GONE);
    IS(rtf_spec_release(&spec) == RTF_OK);
}

static void row_unruly(void)
{
    row_loses(RTF_GONE, false, RTF_ACL_FAIL);
    IS(rtf_spec_release(&spec) == RTF_OK);
}

static void row_expired(void)
{
    rtf_params_set_expires(&params, 1500000);
    row_gone();
}

static void row_detached(void)
{
    row_loses(RTF_ATTACH_FAIL, true, RTF_ATTACH_FAIL);
    IS(strcmp(rtf_spec_code(&spec), "detached") == 0);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && rtf_task_wait(&spec, NULL) == RTF_OK);
    IS(rtf_spec_release(&spec) == RTF_OK);
}

static void row_stopped(void)
{
    row_loses(RTF_CONNECTION_ERR, true, RTF_CONNECTION_ERR);
    IS(strcmp(rtf_spec_code(&spec), "no-broker") == 0);
    await_test(); /* the broker is started again, and gives the reservation back */
    waits_until(RTF_OK);
    IS(rtf_spec_is_attached(&spec) && policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_result(&spec) == RTF_OK);
    IS(rtf_spec_release(&spec) == RTF_OK && policy(0) == SCHED_OTHER);
}

static void row_told(void)
{
    struct pollfd fd = {.fd = rtf_fd(&connection), .events = POLLIN};
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    await_test(); /* another program changes the spec */
    while (rtf_spec_get_accepted_runtime(&spec) != 3000 && poll(&fd, 1, 10000) == 1)
        IS(rtf_process(&connection) == RTF_OK);
    IS(rtf_spec_get_accepted_runtime(&spec) == 3000 && rtf_spec_result(&spec) == RTF_OK);
    await_test(); /* the broker stops */
    tells_of(RTF_CONNECTION_ERR);
    IS(rtf_spec_get_thread(&spec) == 0);
    await_test(); /* the broker is started again */
    tells_of(RTF_OK);
    IS(rtf_spec_get_thread(&spec) == gettid() && policy(0) == SCHED_DEADLINE);
    await_test(); /* another program removes the spec */
    tells_of(RTF_GONE);
}

/* Another program has changed the spec: this handle releases it all the same. */
static void row_changed(void)
{
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK);
    await_test();
    state(4000, 20000);
    IS(rtf_spec_change(&spec, &params) == RTF_OK && rtf_spec_get_accepted_runtime(&spec) == 4000);
    await_test();
    IS(rtf_spec_release(&spec) == RTF_OK && policy(0) == SCHED_OTHER);
    IS(rtf_spec_find(&connection, &spec, "cam") == RTF_GONE);
}

static void row_refused(void)
{
    state(2000, 20000);
    IS(rtf_spec_create_attached(&connection, &spec, &params, 0) == RTF_OK);
    state(19900, 20000);
    IS(rtf_spec_change(&spec, &params) == RTF_SCHEDULE_FAIL && policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_detach(&spec) == RTF_OK);
    IS(policy(0) == SCHED_OTHER && rtf_spec_get_thread(&spec) == 0 && rtf_spec_is_granted(&spec) &&
       rtf_spec_get_accepted_runtime(&spec) == 2000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_change(&spec, &params) == RTF_SCHEDULE_FAIL);
    IS(rtf_process(&connection) == RTF_OK);
    IS(rtf_spec_result(&spec) == RTF_SCHEDULE_FAIL); /* the answer to the last call stays */
    IS(rtf_spec_detach(&spec) == RTF_OK && policy(0) == SCHED_OTHER);
    IS(rtf_spec_detach(&spec) == RTF_OK); /* there is nothing to detach */
}

static void row_release_pending(void)
{
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    reserve(2000, 20000);
    IS(rtf_spec_attach(&spec, 0) == RTF_OK && policy(0) == SCHED_DEADLINE);
    IS(rtf_fd(&connection) >= 0);
    rtf_set_blocking(&connection, false);
    await_test(); /* the broker is suspended */
    IS(rtf_spec_release(&spec) == RTF_PENDING && rtf_spec_result(&spec) == RTF_PENDING);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_ERROR);
    IS(rtf_spec_release(&spec) == RTF_PENDING && policy(0) == SCHED_DEADLINE);
    await_test(); /* the broker goes on */
    IS(processed(&spec) == RTF_OK && policy(0) == SCHED_OTHER);
    IS(rtf_spec_create(&connection, &other, &params) == RTF_PENDING && processed(&other) == RTF_OK);
    const enum rtf_result result = rtf_spec_release(&other);
    IS(result == RTF_PENDING || result == RTF_OK); /* the broker may have answered already */
    rtf_set_blocking(&connection, true);
    IS(rtf_spec_release(&other) == RTF_OK && rtf_spec_release(&spec) == RTF_OK);
}

/* ---- parameters of rtf-spec(5) ---- */

static void row_from_spec(void)
{
    struct rtf_params read = RTF_PARAMS_INIT, none = RTF_PARAMS_INIT;
    static struct rtf_spec other = RTF_SPEC_INIT; /* the handle is in use until rtf_disconnect */
    IS(rtf_params_from_spec(&read, &spec) == RTF_ERROR);
    IS(rtf_params_set_name(&params, "cam") == RTF_OK);
    rtf_params_set_deadline(&params, 15000);
    rtf_params_set_weight(&params, 7);
    rtf_params_set_des_runtime(&params, 2500);
    IS(rtf_params_set_claim(&params, "units", "{\"count\": 2, \"plugin\": \"CAM\"}") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_params_from_spec(&read, &spec) == RTF_OK);
    IS(rtf_params_get_runtime(&read) == 2000 && rtf_params_get_period(&read) == 20000 &&
       rtf_params_get_deadline(&read) == 15000 && rtf_params_get_des_runtime(&read) == 2500);
    rtf_params_set_des_runtime(&read, 0);
    rtf_params_set_runtime(&read, 3000);
    IS(rtf_spec_change(&spec, &read) == RTF_OK);
    IS(rtf_spec_get_accepted_runtime(&spec) == 3000 && rtf_spec_get_deadline(&spec) == 15000 &&
       rtf_spec_get_accepted_amount(&spec, "units") == 2);
    await_test(); /* another program writes times with units, and a comment */
    IS(rtf_spec_find(&connection, &other, "cam") == RTF_OK);
    IS(rtf_params_from_spec(&read, &other) == RTF_OK && rtf_params_get_runtime(&read) == 4000);
    rtf_params_set_runtime(&read, 19900);
    IS(rtf_spec_change(&other, &read) == RTF_BAD_SPEC);
    IS(rtf_params_from_spec(&read, &other) == RTF_OK && rtf_params_get_runtime(&read) == 4000);
    rtf_params_set_runtime(&read, 5000);
    IS(rtf_spec_change(&other, &read) == RTF_OK);
    await_test(); /* the test reads the file, and removes it */
    IS(rtf_params_from_spec(&none, &other) == RTF_GONE && rtf_params_get_runtime(&none) == 0);
    IS(rtf_spec_release(&other) == RTF_OK && rtf_spec_release(&spec) == RTF_OK);
}

static void row_texts(void)
{
    char text[] = "{\"count\": 3}";
    IS(rtf_params_set_claim(&params, "cake", text) == RTF_BAD_SPEC);
    IS(rtf_params_set_claim(&params, "units", "{\"count\": 3}, \"runtime\": 1") == RTF_BAD_SPEC);
    IS(rtf_params_set_claim(&params, "units", "3") == RTF_BAD_SPEC);
    IS(rtf_params_set_claim(&params, "units", text) == RTF_OK);
    IS(rtf_params_set_modes(&params, "{\"hd\": {\"runtime\": 4000}, \"sd\": {}}") == RTF_OK);
    IS(rtf_params_set_mode(&params, "a mode with more than 31 bytes is refused") == RTF_BAD_SPEC);
    IS(rtf_params_set_mode(&params, "sd") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_spec_get_accepted_runtime(&spec) == 4000 &&
       rtf_spec_get_runtime_in_mode(&spec) == 2000 && strcmp(rtf_spec_get_mode(&spec), "sd") == 0 &&
       rtf_spec_get_accepted_amount(&spec, "units") == 3 &&
       rtf_spec_get_accepted_amount(&spec, "disk") == 0);
    IS(rtf_params_set_mode(&params, "hd") == RTF_OK && rtf_spec_change(&spec, &params) == RTF_OK);
    IS(rtf_spec_get_runtime_in_mode(&spec) == 4000);
    text[10] = '9';
    IS(rtf_spec_change(&spec, &params) == RTF_SCHEDULE_FAIL); /* the text belongs to the caller */
    IS(rtf_params_set_claim(&params, "units", NULL) == RTF_OK &&
       rtf_spec_change(&spec, &params) == RTF_OK &&
       rtf_spec_get_accepted_amount(&spec, "units") == 0);
}

static void row_threads(void)
{
    IS(rtf_params_set_threads(&params,
                              "[{\"name\": \"audio\", \"runtime\": 2000, \"period\": 20000}]") ==
       RTF_OK);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_OK && policy(0) == SCHED_OTHER);
    IS(!rtf_spec_is_granted(&spec) && rtf_spec_get_accepted_amount(&spec, "threads") == 0);
    (void)prctl(PR_SET_NAME, "audio");
    for (int tries = 0; tries < 1000 && !rtf_spec_is_granted(&spec); tries++)
        usleep(10000);
    IS(policy(0) == SCHED_DEADLINE && rtf_spec_get_accepted_amount(&spec, "threads") == 1);
    struct rtf_params read = RTF_PARAMS_INIT;
    IS(rtf_params_from_spec(&read, &spec) == RTF_OK && rtf_spec_change(&spec, &read) == RTF_OK);
    IS(policy(0) == SCHED_DEADLINE);
    IS(rtf_spec_release(&spec) == RTF_OK);
    for (int tries = 0; tries < 1000 && policy(0) != SCHED_OTHER; tries++)
        usleep(10000);
    IS(policy(0) == SCHED_OTHER);
}

static void row_keys(void)
{
    IS(rtf_params_set_keys(&params, "[]") == RTF_BAD_SPEC);
    IS(rtf_params_set_keys(&params, "{}") == RTF_OK);
    reserve(2000, 20000);
    IS(rtf_params_set_keys(&params, " {\"comment\": \"of a test\"}\n") == RTF_OK);
    IS(rtf_spec_change(&spec, &params) == RTF_OK);
    IS(rtf_params_set_keys(&params, "{\"coment\": \"of a test\"}") == RTF_OK);
    IS(rtf_spec_change(&spec, &params) == RTF_BAD_SPEC);
    IS(strstr(rtf_spec_reason(&spec), "did you mean \"comment\"") != NULL);
}

static void row_importance(void)
{
    rtf_params_set_importance(&params, 5);
    state(2000, 20000); /* no rule allows an importance */
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_ACL_FAIL);
    rtf_params_set_importance(&params, 0);
    rtf_params_set_weight(&params, 101);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_BAD_SPEC);
    rtf_params_set_weight(&params, 100);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_OK);
}

static void row_dry_run(void)
{
    rtf_params_set_dry_run(&params, true);
    reserve(2000, 20000);
    IS(!rtf_spec_is_granted(&spec) && rtf_spec_get_accepted_runtime(&spec) == 2000 &&
       strcmp(rtf_spec_get_plugin(&spec), "EDF") == 0);
    IS(rtf_task_start(&spec) == RTF_ERROR && rtf_spec_attach(&spec, 0) == RTF_GONE);
    state(19000, 20000);
    IS(rtf_spec_create(&connection, &spec, &params) == RTF_SCHEDULE_FAIL &&
       rtf_spec_nearest(&spec) > 0);
    rtf_params_set_dry_run(&params, false);
    reserve(2000, 20000);
    rtf_params_set_dry_run(&params, true);
    IS(rtf_spec_change(&spec, &params) == RTF_ERROR && rtf_spec_is_granted(&spec));
    struct rtf_tasks *tasks = rtf_tasks_read(&connection);
    IS(rtf_tasks_count(tasks) == 1);
    rtf_tasks_free(tasks);
    struct rtf_status *status = rtf_status_read(&connection);
    IS(rtf_status_free_on(status, "none", 1000) == RTF_UNBOUNDED);
    rtf_status_free(status);
}

static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {{"rtf_connect", row_connect},
            {"rtf_spec_create", row_create},
            {"rtf_spec_create_attached", row_create_attached},
            {"rtf_spec_change", row_change},
            {"rtf_spec_release", row_release},
            {"rtf_spec_attach", row_attach},
            {"busy", row_busy},
            {"takers", row_takers},
            {"rtf_spec_detach", row_detach},
            {"rtf_spec_get_accepted_runtime", row_accepted},
            {"rtf_task_start", row_start},
            {"rtf_task_wait_period", row_wait_period},
            {"rtf_params_set_period", row_period},
            {"rtf_params_set_runtime", row_runtime},
            {"rtf_params_set_des_runtime", row_des_runtime},
            {"rtf_params_set_deadline", row_deadline},
            {"rtf_params_set_priority", row_priority},
            {"rtf_params_set_scheduler", row_scheduler},
            {"rtf_params_ignore_admission", row_ignore_admission},
            {"more parameters", row_more_parameters},
            {"rtf_params_set_wait", row_wait},
            {"rtf_fd", row_poll},
            {"queries", row_queries},
            {"restart", row_restart},
            {"sched_yield", row_yield},
            {"loop", row_loop},
            {"gone", row_gone},
            {"expired", row_expired},
            {"from spec", row_from_spec},
            {"texts", row_texts},
            {"threads", row_threads},
            {"keys", row_keys},
            {"importance", row_importance},
            {"dry run", row_dry_run},
            {"unruly", row_unruly},
            {"detached", row_detached},
            {"stopped", row_stopped},
            {"told", row_told},
            {"changed", row_changed},
            {"refused", row_refused},
            {"release", row_release_pending},
            {"directory", row_directory}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, argv[1]) == 0) {
            IS(rtf_connect(&connection, NULL) == RTF_OK);
            rows[i].run();
            rtf_disconnect(&connection);
            return 0;
        }
    fprintf(stderr, "rows: no such row\n");
    return 64;
}
