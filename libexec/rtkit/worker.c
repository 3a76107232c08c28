#include "worker.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <jansson.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "callers.h"
#include "client.h"
#include "thread.h"

/* The time to wait for the broker's answer. D-Bus clients give up after 25 s, but a program that
 * sets up its sound thread should not wait so long. */
static const uint64_t answer_within = 5000000; /* us */

static struct client client;
static bool is_open;
/* one watch for all waits of this worker */
static struct client_watch watch = {.events = -1, .directory = -1, .spec = -1};

static enum client_outcome open_spool(const struct terms *terms, bool create)
{
    if (is_open)
        return CLIENT_OK;
    enum client_outcome outcome = client_open(&client, terms->spool);
    is_open = true;
    client.watch = watch;
    if (outcome == CLIENT_OK)
        outcome = client_connect(&client, client_until(answer_within));
    return outcome == CLIENT_OK ? client_enter(&client, create) : outcome;
}

static void close_spool(void)
{
    if (is_open) {
        watch = client.watch;
        client_close(&client);
    }
    is_open = false;
}

static char *write_spec(const struct terms *terms, const struct job *job, pid_t tid,
                        const char *token)
{
    json_t *spec =
        job->nice != 0
            ? json_pack("{s:i}", "nice", job->nice)
            : json_pack("{s:I, s:I, s:I}", "runtime", (json_int_t)terms->runtime, "period",
                        (json_int_t)terms->period, "priority", (json_int_t)job->priority);
    if (spec != NULL && job->nice == 0 && terms->plugin != NULL)
        json_object_set_new(spec, "plugin", json_string(terms->plugin));
    (void)json_object_update_new(spec, json_pack("{s:I, s:s, s:s, s:s}", "attach", (json_int_t)tid,
                                                 "lifetime", "thread", "token", token, "comment",
                                                 "asked for by D-Bus"));
    char *text = json_dumps(spec, JSON_COMPACT);
    json_decref(spec);
    return text;
}

/* Writes the spec. If the thread already has a spec, it asks for another priority, and the spec is
 * changed. */
static enum client_outcome put(const char *name, const char *text, ino_t *inode)
{
    enum client_outcome outcome = client_put(&client, name, text, inode);
    if (outcome != CLIENT_TAKEN)
        return outcome;
    outcome = client_find_abandoned(&client, name, inode);
    return outcome == CLIENT_OK || outcome == CLIENT_TAKEN
               ? client_change(&client, name, text, inode)
               : outcome;
}

static enum job_result result_of(const json_t *verdict)
{
    const char *result = client_string(verdict, "result");
    if (result == NULL)
        return JOB_FAILED;
    return strcmp(result, "OK") == 0              ? JOB_DONE
           : strcmp(result, "ACL_FAIL") == 0      ? JOB_REFUSED
           : strcmp(result, "SCHEDULE_FAIL") == 0 ? JOB_FULL
                                                  : JOB_FAILED;
}

/* Copies the result and the reason to *answer. A refused new spec is removed, because the log has
 * the refusal. After a refused change the old grant stays. */
static void take_answer(const char *name, ino_t inode, const struct client_verdict *verdict,
                        struct job_answer *answer)
{
    const char *reason = client_string(verdict->json, "reason");
    answer->result = result_of(verdict->json);
    snprintf(answer->why, sizeof answer->why, "%s", reason == NULL ? "" : reason);
    if (answer->result != JOB_DONE && !json_is_object(json_object_get(verdict->json, "grant")))
        client_withdraw(&client, name, inode);
}

static void say_no_thread(struct job_answer *answer)
{
    answer->result = JOB_NO_THREAD;
    snprintf(answer->why, sizeof answer->why, "the process has no such thread");
}

static enum client_outcome ask(const struct terms *terms, const struct job *job, pid_t tid,
                               int pidfd, struct job_answer *answer)
{
    char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN];
    struct client_wait wait = {.name = name,
                               .token = token,
                               .until = client_until(answer_within),
                               .interrupt = -1};
    struct client_verdict verdict;
    enum client_outcome outcome = open_spool(terms, true);
    if (outcome != CLIENT_OK)
        return outcome;
    (void)client_begin_watch(&client, false);
    snprintf(name, sizeof name, "rtkit-%d", (int)tid);
    char *text = client_make_token(token) ? write_spec(terms, job, tid, token) : NULL;
    outcome = text == NULL ? CLIENT_ERROR : put(name, text, &wait.inode);
    free(text);
    if (outcome != CLIENT_OK)
        return outcome;
    outcome = client_wait(&client, &wait, &verdict);
    if (outcome != CLIENT_OK) {
        client_withdraw(&client, name, wait.inode);
        return outcome;
    }
    take_answer(name, wait.inode, &verdict, answer);
    client_free_verdict(&verdict);
    if (answer->result == JOB_DONE && thread_has_ended(pidfd)) {
        client_withdraw(&client, name, wait.inode);
        say_no_thread(answer);
    }
    return CLIENT_OK;
}

static enum job_result result_without_verdict(enum client_outcome outcome)
{
    return outcome == CLIENT_NO_BROKER ? JOB_NO_BROKER
           : outcome == CLIENT_DENIED  ? JOB_REFUSED
                                       : JOB_FAILED;
}

/* Looks up the thread, and asks the broker for a reservation for it. Before the spec is written,
 * the thread may end, and another thread may get its id. (The broker itself only refuses a spec
 * that is older than its thread.) So ask() checks by the pidfd whether the thread has ended, and
 * then withdraws the spec. */
static enum client_outcome ask_for(const struct terms *terms, const struct job *job,
                                   struct job_answer *answer)
{
    const pid_t tid = caller_thread(job->caller, job->process, job->thread);
    const int pidfd = tid == 0 ? -1 : thread_open(tid);
    enum client_outcome outcome = CLIENT_OK;
    /* checks the caller after the look-up, so that the look-up has surely used the right process */
    if (pidfd < 0 || !thread_is(job->caller, job->started_by))
        say_no_thread(answer);
    else
        outcome = ask(terms, job, tid, pidfd, answer);
    if (pidfd >= 0)
        close(pidfd);
    return outcome;
}

/* Serves one job. The open spool may have another broker by now, or may have been replaced. So
 * after a failure the worker opens the spool anew, and tries again. */
static void serve(const struct terms *terms, const struct job *job, struct job_answer *answer)
{
    const bool was_open = is_open;
    enum client_outcome outcome = ask_for(terms, job, answer);
    if (was_open && outcome != CLIENT_OK && outcome != CLIENT_TIMEOUT) {
        close_spool();
        outcome = ask_for(terms, job, answer);
    }
    if (outcome == CLIENT_OK)
        return;
    answer->result = result_without_verdict(outcome);
    snprintf(answer->why, sizeof answer->why, "%s", client.why);
    close_spool();
}

/* Changes this process to the user for ever. A uid without an account gets no groups, because a
 * group with the same number may belong to other users. */
static bool become(uid_t uid)
{
    const gid_t nogroup = 65534;
    const struct passwd *account = getpwuid(uid);
    const gid_t gid = account == NULL ? nogroup : account->pw_gid;
    if (account == NULL ? setgroups(0, NULL) != 0 : initgroups(account->pw_name, gid) != 0)
        return false;
    if (uid == 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return false;
    /* drops the capabilities; the kernel drops them only when the uid changes from 0, and the uid
     * was not 0 */
    capng_clear(CAPNG_SELECT_CAPS);
    if (capng_apply(CAPNG_SELECT_CAPS) != 0 || setresuid(uid + 1, uid + 1, uid + 1) == 0)
        return false;
    (void)unsetenv("USER");
    return prctl(PR_SET_DUMPABLE, 0) == 0;
}

static void work(const struct terms *terms, int socket)
{
    struct job job;
    ssize_t got;
    watch.events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    /* a failure is not reported, because no request waits yet; the first request tries again */
    if (open_spool(terms, false) != CLIENT_OK)
        close_spool();
    while ((got = recv(socket, &job, sizeof job, 0)) == sizeof job || (got < 0 && errno == EINTR)) {
        struct job_answer answer = {.id = job.id};
        if (got < 0)
            continue;
        serve(terms, &job, &answer);
        if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
            break;
    }
    close_spool();
}

int worker_start(const struct terms *terms, uid_t uid)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGCHLD, SIG_DFL);
        /* The child keeps only its own end of the socket: it closes the bus, and the sockets to the
         * workers of other users. */
        if (dup2(ends[1], 3) != 3 || close_range(4, ~0U, 0) != 0 || !become(uid))
            _exit(EX_OSERR);
        work(terms, 3);
        _exit(EX_OK);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return -1;
    }
    return ends[0];
}
