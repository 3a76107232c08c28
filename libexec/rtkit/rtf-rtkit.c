/* rtf-rtkit(8): serves org.freedesktop.RealtimeKit1 on the system bus, for desktops that do not
 * know rtf. A request becomes a spec of the caller's user. The spec is written with that user's
 * rights, and acl.conf limits the spec like any other.
 *
 *     method call ──► who calls? ──► that user's worker ──► spool ──► verdict ──► reply or error
 *
 * Attack surface: this process parses messages from every user, and only this process can become
 * any user. So it reads no file of a user, gives up root before it serves, and cannot become root
 * again. A thread number in a message proves nothing: the broker's attach helper checks whose
 * thread it is. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include <uthash.h>
#include <cap-ng.h>

#include "client.h"
#include "confine.h"
#include "default-budget.h"
#include "extras.h"
#include "options.h"
#include "capabilities.h"
#include "thread.h"
#include "units.h"
#include "version.h"
#include "worker.h"

#define BUS_NAME "org.freedesktop.RealtimeKit1"
#define BUS_PATH "/org/freedesktop/RealtimeKit1"

enum { CALLERS_MOST = 1024, JOBS_MOST = 64, WORKERS_MOST = 256 };
static const uint64_t idle_after = 10000000; /* us */

const char *argp_program_version = "rtf-rtkit " RTF_VERSION;

struct options {
    struct terms terms;
    const char *user;
    uint32_t highest;
};
static struct options options = {.terms = {.spool = "/var/spool/rtf",
                                           .runtime = DEFAULT_RUNTIME,
                                           .period = DEFAULT_PERIOD},
                                 .highest = 20};

struct caller {
    uid_t uid;
    pid_t process;
    /* identifies the process together with its id (thread.h), because the process may end and its
     * id may be reused while a child keeps the connection */
    uint64_t started_by;
};

/* A caller whose process and user are known, by its unique name on the bus. The bus never reuses a
 * unique name, so an entry stays valid. */
struct known {
    char *name;
    struct caller caller;
    UT_hash_handle hh;
};
static struct known *known;

/* A call that waits for its worker's answer. */
struct call {
    uint64_t id;
    sd_bus_message *message;
    UT_hash_handle hh;
};

struct worker {
    uid_t uid;
    int socket;
    struct call *calls;
    uint64_t used; /* the time of the last use, us of CLOCK_MONOTONIC */
    sd_event_source *answers, *idle;
    UT_hash_handle hh;
};
static struct worker *workers;
static sd_event *event;
static uint64_t last_id;

/* ---- the caller ---- */

static void forget_all(void)
{
    struct known *one, *next;
    HASH_ITER (hh, known, one, next) {
        HASH_DEL(known, one);
        free(one->name);
        free(one);
    }
}

/* Returns the present clock tick if the process lives. The process started at this tick or before,
 * and a later process with the same id starts after this tick. This time is needed because the bus
 * tells the id of a process, but not the time at which the process started or connected. */
static uint64_t alive_now(pid_t process)
{
    const uint64_t now = thread_now();
    const int pidfd = thread_open(process);
    if (pidfd < 0)
        /* the process has ended; with the time 0, thread_is returns false for any process */
        return 0;
    close(pidfd);
    return now;
}

static int ask_bus(sd_bus_message *message, struct caller *caller)
{
    sd_bus_creds *creds = NULL;
    int error = sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &creds);
    if (error >= 0)
        error = sd_bus_creds_get_euid(creds, &caller->uid);
    if (error >= 0)
        error = sd_bus_creds_get_pid(creds, &caller->process);
    sd_bus_creds_unref(creds);
    if (error >= 0)
        caller->started_by = alive_now(caller->process);
    return error;
}

static int find_caller(sd_bus_message *message, struct caller *caller)
{
    const char *name = sd_bus_message_get_sender(message);
    struct known *one;
    if (name == NULL)
        return -EINVAL;
    HASH_FIND_STR(known, name, one);
    if (one != NULL) {
        *caller = one->caller;
        return 0;
    }
    int error = ask_bus(message, caller);
    if (error < 0)
        return error;
    if (HASH_COUNT(known) >= CALLERS_MOST)
        forget_all();
    one = calloc(1, sizeof *one);
    if (one == NULL || (one->name = strdup(name)) == NULL) {
        free(one);
        return -ENOMEM;
    }
    one->caller = *caller;
    HASH_ADD_KEYPTR(hh, known, one->name, strlen(one->name), one);
    return 0;
}

/* ---- workers ---- */

static void reply(sd_bus_message *message, enum job_result result, const char *why)
{
    static const char *const errors[] = {[JOB_REFUSED] = SD_BUS_ERROR_ACCESS_DENIED,
                                         [JOB_FULL] = SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         [JOB_NO_BROKER] = SD_BUS_ERROR_FAILED,
                                         [JOB_NO_THREAD] = SD_BUS_ERROR_INVALID_ARGS,
                                         [JOB_FAILED] = SD_BUS_ERROR_FAILED};
    if (result == JOB_DONE)
        (void)sd_bus_reply_method_return(message, "");
    else
        (void)sd_bus_reply_method_errorf(message, errors[result], "rtf: %s", why);
}

static void end_call(struct worker *worker, struct call *call, enum job_result result,
                     const char *why)
{
    HASH_DEL(worker->calls, call);
    reply(call->message, result, why);
    sd_bus_message_unref(call->message);
    free(call);
}

static void end_worker(struct worker *worker)
{
    struct call *call, *next;
    HASH_ITER (hh, worker->calls, call, next)
        end_call(worker, call, JOB_FAILED, "the worker for this user has ended");
    HASH_DEL(workers, worker);
    sd_event_source_disable_unref(worker->answers);
    sd_event_source_disable_unref(worker->idle);
    close(worker->socket);
    free(worker);
}

static void use(struct worker *worker)
{
    (void)sd_event_now(event, CLOCK_MONOTONIC, &worker->used);
}

/* Ends a worker that no call has used for idle_after. A call does not set the timer, but notes its
 * time in `used`. If the timer fires too early because of such a call, this function sets the timer
 * for the rest of the time. */
static int is_idle(sd_event_source *source, uint64_t time, void *argument)
{
    struct worker *worker = argument;
    const uint64_t until = (HASH_COUNT(worker->calls) > 0 ? time : worker->used) + idle_after;
    if (until <= time || sd_event_source_set_time(source, until) < 0 ||
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) < 0)
        end_worker(worker);
    return 0;
}

static int take_answer(sd_event_source *source, int fd, uint32_t events, void *argument)
{
    struct worker *worker = argument;
    struct job_answer answer;
    struct call *call;
    (void)source;
    (void)events;
    if (recv(fd, &answer, sizeof answer, MSG_DONTWAIT) != sizeof answer ||
        answer.result > JOB_FAILED) {
        end_worker(worker);
        return 0;
    }
    answer.why[sizeof answer.why - 1] = '\0';
    HASH_FIND(hh, worker->calls, &answer.id, sizeof answer.id, call);
    if (call != NULL)
        end_call(worker, call, answer.result, answer.why);
    use(worker);
    return 0;
}

static struct worker *add_worker(const struct caller *caller)
{
    struct worker *worker = HASH_COUNT(workers) >= WORKERS_MOST ? NULL : calloc(1, sizeof *worker);
    if (worker == NULL)
        return NULL;
    worker->uid = caller->uid;
    worker->socket = worker_start(&options.terms, caller->uid);
    if (worker->socket >= 0 &&
        sd_event_add_io(event, &worker->answers, worker->socket, EPOLLIN, take_answer, worker) >=
            0 &&
        sd_event_add_time_relative(event, &worker->idle, CLOCK_MONOTONIC, idle_after, 0, is_idle,
                                   worker) >= 0) {
        HASH_ADD(hh, workers, uid, sizeof worker->uid, worker);
        use(worker);
        return worker;
    }
    sd_event_source_disable_unref(worker->answers);
    if (worker->socket >= 0)
        close(worker->socket);
    free(worker);
    return NULL;
}

static struct worker *find_worker(const struct caller *caller)
{
    struct worker *worker;
    HASH_FIND(hh, workers, &caller->uid, sizeof caller->uid, worker);
    return worker != NULL ? worker : add_worker(caller);
}

static int give_job(struct worker *worker, sd_bus_message *message, struct job job)
{
    job.id = ++last_id;
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL ||
        send(worker->socket, &job, sizeof job, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof job) {
        free(call);
        return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_FAILED,
                                          "rtf: the worker for this user accepts no request");
    }
    call->id = job.id;
    call->message = sd_bus_message_ref(message);
    HASH_ADD(hh, worker->calls, id, sizeof call->id, call);
    return 1;
}

/* ---- methods ---- */

/* Passes a call to the worker of the caller's user. First finds the caller's uid, because all
 * limits are per uid. The worker looks up the thread, so a slow lookup delays only calls of the
 * same user. */
static int ask_for(sd_bus_message *message, struct job job)
{
    struct caller found;
    const struct caller *caller = &found;
    const int error = find_caller(message, &found);
    if (error < 0)
        return error;
    if (caller->uid == 0)
        return sd_bus_reply_method_errorf(
            message, SD_BUS_ERROR_ACCESS_DENIED,
            "rtf: root does not need this service: use chrt(1) or rtf-run(1)");
    struct worker *worker = find_worker(caller);
    if (worker == NULL)
        return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                          "rtf: no worker can be started for uid %u",
                                          (unsigned)caller->uid);
    if (HASH_COUNT(worker->calls) >= JOBS_MOST)
        return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                          "rtf: %d calls of this user already wait for an answer",
                                          JOBS_MOST);
    job.caller = caller->process;
    job.started_by = caller->started_by;
    return give_job(worker, message, job);
}

static int make_real_time(sd_bus_message *message, uint64_t process, uint64_t thread,
                          uint32_t priority)
{
    if (priority == 0 || priority > options.highest)
        return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_INVALID_ARGS,
                                          "rtf: the priority must be from 1 to %u",
                                          options.highest);
    return ask_for(message,
                   (struct job){.process = process, .thread = thread, .priority = priority});
}

static int make_nice(sd_bus_message *message, uint64_t process, uint64_t thread, int32_t nice)
{
    if (nice < NICE_LEAST || nice > -1)
        return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_INVALID_ARGS,
                                          "rtf: the nice level must be from %d to -1", NICE_LEAST);
    return ask_for(message, (struct job){.process = process, .thread = thread, .nice = nice});
}

static int make_thread_real_time(sd_bus_message *message, void *unused, sd_bus_error *error)
{
    uint64_t thread;
    uint32_t priority;
    (void)unused;
    (void)error;
    const int result = sd_bus_message_read(message, "tu", &thread, &priority);
    return result < 0 ? result : make_real_time(message, 0, thread, priority);
}

static int no_such_thread(sd_bus_message *message)
{
    return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_INVALID_ARGS,
                                      "rtf: the process has no such thread");
}

static int make_thread_real_time_with_pid(sd_bus_message *message, void *unused,
                                          sd_bus_error *error)
{
    uint64_t process, thread;
    uint32_t priority;
    (void)unused;
    (void)error;
    const int result = sd_bus_message_read(message, "ttu", &process, &thread, &priority);
    if (result < 0)
        return result;
    return process == 0 ? no_such_thread(message)
                        : make_real_time(message, process, thread, priority);
}

static int make_high_priority(sd_bus_message *message, void *unused, sd_bus_error *error)
{
    uint64_t thread;
    int32_t nice;
    (void)unused;
    (void)error;
    const int result = sd_bus_message_read(message, "ti", &thread, &nice);
    return result < 0 ? result : make_nice(message, 0, thread, nice);
}

static int make_high_priority_with_pid(sd_bus_message *message, void *unused, sd_bus_error *error)
{
    uint64_t process, thread;
    int32_t nice;
    (void)unused;
    (void)error;
    const int result = sd_bus_message_read(message, "tti", &process, &thread, &nice);
    if (result < 0)
        return result;
    return process == 0 ? no_such_thread(message) : make_nice(message, process, thread, nice);
}

/* Looks up the caller's uid, and starts the worker, when a client reads the properties: such a
 * client is about to make a call. */
static int make_ready(sd_event_source *source, void *message)
{
    struct caller caller;
    if (find_caller(message, &caller) >= 0 && caller.uid != 0)
        (void)find_worker(&caller);
    sd_bus_message_unref(message);
    sd_event_source_unref(source);
    return 0;
}

/* Prepares for the call that the client will make. Runs after the answer to the client, so that it
 * does not delay the answer. */
static void expect_call(sd_bus *bus)
{
    sd_bus_message *message = sd_bus_get_current_message(bus);
    struct known *one = NULL;
    if (message == NULL || sd_bus_message_get_sender(message) == NULL)
        return;
    HASH_FIND_STR(known, sd_bus_message_get_sender(message), one);
    if (one == NULL && sd_event_add_defer(event, &(sd_event_source *){NULL}, make_ready,
                                          sd_bus_message_ref(message)) < 0)
        sd_bus_message_unref(message);
}

static int get_rttime(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *answer, void *unused, sd_bus_error *error)
{
    (void)bus, (void)path, (void)interface, (void)property, (void)unused, (void)error;
    return sd_bus_message_append(answer, "x", (int64_t)200000);
}

static int get_highest(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *answer, void *unused, sd_bus_error *error)
{
    (void)path, (void)interface, (void)property, (void)unused, (void)error;
    expect_call(bus);
    return sd_bus_message_append(answer, "i", (int32_t)options.highest);
}

static int get_nice(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *answer, void *unused, sd_bus_error *error)
{
    (void)bus, (void)path, (void)interface, (void)property, (void)unused, (void)error;
    return sd_bus_message_append(answer, "i", (int32_t)NICE_LEAST);
}

static const sd_bus_vtable methods[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("MakeThreadRealtime", "tu", "", make_thread_real_time,
                  SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("MakeThreadRealtimeWithPID", "ttu", "", make_thread_real_time_with_pid,
                  SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("MakeThreadHighPriority", "ti", "", make_high_priority,
                  SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("MakeThreadHighPriorityWithPID", "tti", "", make_high_priority_with_pid,
                  SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_PROPERTY("RTTimeUSecMax", "x", get_rttime, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("MaxRealtimePriority", "i", get_highest, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("MinNiceLevel", "i", get_nice, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END};

/* ---- beginning ---- */

static void die(int code, const char *what, int error)
{
    fprintf(stderr, "rtf-rtkit: %s: %s\n", what, strerror(error));
    exit(code);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    uint64_t number;
    const char *wrong = NULL;
    switch (key) {
    case 's': options.terms.spool = argument; return 0;
    case 'p': options.terms.plugin = argument; return 0;
    case 'u': options.user = argument; return 0;
    case 'T': wrong = client_take_time(argument, &options.terms.runtime); break;
    case 'P': wrong = client_take_time(argument, &options.terms.period); break;
    case 'm':
        if (!parse_number(argument, 99, &number) || number == 0)
            wrong = "must be from 1 to 99";
        else
            options.highest = (uint32_t)number;
        break;
    case ARGP_KEY_ARG: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (wrong != NULL)
        argp_error(state, "%s: %s", argument, wrong);
    return 0;
}

static const struct argp_option argp_options[] = {
    {"spool", 's', "DIR", 0, "The spool (default /var/spool/rtf)", 0},
    {"runtime", 'T', "TIME", 0, "The runtime of each thread (default 1ms)", 0},
    {"period", 'P', "TIME", 0, "The period of each thread (default 10ms)", 0},
    {"plugin", 'p', "NAME", 0, "The plugin to ask (default: all, in the order of plugins.conf)", 0},
    {"max-priority", 'm', "N", 0, "The highest allowed priority (default 20)", 0},
    {"user", 'u', "USER", 0, "The account to run as (default rtf-reader, else nobody)", 0},
    {0}};

static struct passwd *account_to_be(void)
{
    const uid_t nobody = 65534;
    static struct passwd numbered;
    uint64_t number;
    struct passwd *account = getpwnam(options.user == NULL ? "rtf-reader" : options.user);
    if (account == NULL && options.user == NULL)
        account = getpwnam("nobody");
    if (account == NULL && options.user != NULL &&
        parse_number(options.user, UINT32_MAX - 1, &number)) {
        numbered.pw_uid = (uid_t)number;
        numbered.pw_gid = (gid_t)number;
        account = &numbered;
    }
    if (account == NULL && options.user == NULL) {
        numbered.pw_uid = numbered.pw_gid = nobody;
        account = &numbered;
    }
    if (account == NULL || account->pw_uid == 0) {
        fprintf(stderr, "rtf-rtkit: --user must name an unprivileged account or uid\n");
        exit(EX_CONFIG);
    }
    return account;
}

/* Forbids the system calls by which a taken-over process could become root again. */
static bool forbid_root(void)
{
    static const int calls[] = {SCMP_SYS(setuid), SCMP_SYS(setreuid), SCMP_SYS(setfsuid),
                                SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool good = filter != NULL;
    for (size_t i = 0; good && i < sizeof calls / sizeof *calls; i++)
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0) == 0;
    for (unsigned argument = 0; good && argument < 3; argument++)
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setresuid), 1,
                                SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, 0)) == 0;
    good = good && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return good;
}

/* Makes the capabilities effective again, because after the change of the uid they are only
 * permitted. */
static bool take_up(const int powers[])
{
    if (capng_get_caps_process() != 0)
        return false;
    for (int i = 0; powers[i] >= 0; i++)
        if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, (unsigned)powers[i]) != 0)
            return false;
    return capng_apply(CAPNG_SELECT_CAPS) == 0;
}

/* Keeps only the rights to become another user, and to set the groups of this user. */
static bool confine(void)
{
    const struct passwd *account = account_to_be();
    const uid_t uid = account->pw_uid;
    const gid_t gid = account->pw_gid;
    static const int powers[] = {CAP_SETUID, CAP_SETGID, -1};
    const struct confine_path files[] = {{"/proc", MAY_READ},
                                         {"/etc", MAY_READ},
                                         {"/usr", MAY_READ},
                                         {"/lib", MAY_READ},
                                         {"/run", MAY_WRITE},
                                         {"/dev", MAY_WRITE},
                                         {options.terms.spool, MAY_CHANGE},
                                         {0}};
    if (!confine_for_good() || setgroups(0, NULL) != 0 || !capabilities_keep(powers))
        return false;
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || setresgid(gid, gid, gid) != 0 ||
        setresuid(uid, uid, uid) != 0 || !take_up(powers))
        return false;
    (void)confine_files(files);
    return forbid_root() && prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* Like sd_bus_open_system(3), but accepts no descriptors in messages. A user could send a file on
 * their FUSE file system, and close(2) of this file takes as long as the user likes. */
static int open_bus(sd_bus **bus)
{
    const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
    int error = sd_bus_new(bus);
    if (error >= 0)
        error = sd_bus_set_address(*bus, address != NULL ? address
                                                         : "unix:path=/run/dbus/system_bus_socket");
    if (error >= 0)
        error = sd_bus_set_bus_client(*bus, true);
    if (error >= 0)
        error = sd_bus_negotiate_fds(*bus, false);
    return error >= 0 ? sd_bus_start(*bus) : error;
}

static sd_bus *take_bus(void)
{
    sd_bus *bus = NULL;
    int error = open_bus(&bus);
    if (error < 0)
        die(EX_UNAVAILABLE, "the system bus", -error);
    /* a restarted bus does not know this program; so the program ends when the bus ends, and a
     * supervisor sees that it no longer serves */
    (void)sd_bus_set_exit_on_disconnect(bus, true);
    error = sd_bus_add_object_vtable(bus, NULL, BUS_PATH, BUS_NAME, methods, NULL);
    if (error < 0)
        die(EX_SOFTWARE, BUS_PATH, -error);
    return bus;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options, parse_option,
        NULL,         "Serve RealtimeKit's interface on the system bus from rtf's spool.",
        NULL,         NULL,
        NULL};
    client_hold_standard_fds();
    parse_options(&argp, argc, argv, 0, NULL, EX_USAGE, EX_IOERR);
    if (geteuid() != 0)
        die(EX_NOPERM, "only root can start it, because it acts as its callers", EPERM);
    signal(SIGCHLD, SIG_IGN);
    sd_bus *bus = take_bus();
    if (!confine())
        die(EX_OSERR, "privileges cannot be dropped", errno);
    int error = sd_event_default(&event);
    if (error >= 0)
        error = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
    /* The name is requested last, so that the service is complete when clients find it. */
    if (error >= 0)
        error = sd_bus_request_name(bus, BUS_NAME, 0);
    if (error < 0)
        die(EX_UNAVAILABLE, BUS_NAME, -error);
    error = sd_event_loop(event);
    die(EX_OSERR, "the bus", error < 0 ? -error : ECONNRESET);
}
