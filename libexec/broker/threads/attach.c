#include "attach.h"

#include <string.h>
#include <unistd.h>

#include "grants.h"
#include "guard.h"
#include "guard/kernel-loop.h"
#include "placement.h"
#include "plugin-lines.h"
#include "resource-cpu.h"
#include "launcher.h"
#include "process-budget.h"
#include "thread.h"
#include "units.h"

/* The helper gets a message at most TRIES times. If the helper has died so often at a message, the
 * message is probably the cause. The message that restores a thread is tried RESTORE_TRIES times,
 * because the thread would otherwise stay real-time without a reservation. */
enum { TRIES = 2, RESTORE_TRIES = 10 };

static struct {
    struct helper helper;
    /* a thread has been attached, so the guard watches the helper and the broker
     * (attach_watch_again) */
    bool is_watched;
} attach;

void attach_prepare(char *path, void (*event)(const struct helper_event *event),
                    void (*again)(void))
{
    char serve[] = "--serve", processes[] = "--processes"; /* the launcher copies these words */
    char *const argv[] = {path, serve,
                          plugins_have_processes() || budget_record_is_left() ? processes : NULL,
                          NULL};
    helper_prepare(&attach.helper, "the attach helper", CHILD_HELPER, argv, event);
    attach.helper.again = again;
}

bool attach_start(int lock)
{
    return helper_start(&attach.helper, lock);
}

void attach_stop(void)
{
    helper_stop(&attach.helper);
}

bool attach_drain(int seconds, struct helper_event *last)
{
    return helper_drain(&attach.helper, seconds, last);
}

int64_t attach_owed(void)
{
    return helper_owed(&attach.helper);
}

static bool is_to_restore(const char *op)
{
    return strcmp(op, "restore") == 0 || strcmp(op, "give") == 0;
}

static struct message *attach_message(const char *op)
{
    return helper_begin(op, is_to_restore(op) ? RESTORE_TRIES : TRIES);
}

static uint64_t finish(struct message *message, int pidfd)
{
    return helper_finish(&attach.helper, message, pidfd);
}

static struct message *about(const char *op, const struct attachment *attachment)
{
    struct message *message = attach_message(op);
    paragraph_add_number(helper_text(message), "tid", (uint64_t)attachment->tid);
    paragraph_add_number(helper_text(message), "started_by", attachment->started_by);
    if (attachment->group != NULL)
        paragraph_add(helper_text(message), "group", attachment->group);
    return message;
}

static void ask_loops(void)
{
    struct identity own;
    struct message *message = attach_message("loop");
    paragraph_add_number(helper_text(message), "budget", LOOP_AFTER);
    (void)finish(message, -1);
    if (!thread_identify(getpid(), &own))
        return;
    message = attach_message("loop");
    paragraph_add_number(helper_text(message), "tid", (uint64_t)own.tid);
    paragraph_add_number(helper_text(message), "started_by", own.started_by);
    paragraph_add_number(helper_text(message), "budget", LOOP_AFTER);
    (void)finish(message, -1);
}

void attach_watch_again(void)
{
    if (attach.is_watched)
        ask_loops();
}

/* Has the guard watch the helper and the broker for endless loops. This begins with the first
 * attachment, because each switch of a process takes longer while processes have perf events. */
static void watch_once(void)
{
    if (!attach.is_watched)
        ask_loops();
    attach.is_watched = true;
}

/* If the guard enforces the grant, asks for a perf event that reports when the runtime is used up.
 * The answer brings the perf event. If the runtime is for the whole process, also names the CPU of
 * the process, and the period. */
static void budget(struct message *message, struct attachment *attachment,
                   const struct grant *grant)
{
    if (grant_is_enforced(grant))
        paragraph_add_number(helper_text(message), "budget", cpu_in_mode(grant).runtime);
    if (!grant->spec.budget_process)
        return;
    attachment->whole = true;
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)cpu, &grant->plan.cpus))
        cpu++;
    paragraph_add_number(helper_text(message), "whole", (uint64_t)cpu);
    paragraph_add_number(helper_text(message), "every", cpu_window(grant));
}

/* If the runtime was for the whole process, asks that all threads of the process get their former
 * attributes. */
static void end_of_process(struct message *message, const struct attachment *attachment)
{
    if (attachment->whole)
        paragraph_add_number(helper_text(message), "whole", 0);
}

static struct message *about_grant(const char *op, struct attachment *attachment,
                                   const struct grant *grant)
{
    attachment->scheduled = true;
    guard_end(attachment, false);
    guard_expect(attachment, grant);
    placement_expect(&attachment->presence, &grant->plan);
    struct message *message = about(op, attachment);
    budget(message, attachment, grant);
    struct attributes wanted = cpu_in_mode(grant);
    wanted.reset_on_fork = true;
    wanted.domain = plugin_line(grant->plugin)->domains;
    attributes_add(helper_text(message), "", &wanted);
    if (grant->spec.move_process)
        paragraph_add(helper_text(message), "move", "process");
    return message;
}

/* Asks for a watch, a perf event on the thread. The watch of a thread that does not lead its
 * process also reports the thread's execve(2). */
static void watch(struct message *message, const struct attachment *attachment)
{
    paragraph_add(helper_text(message), "watch",
                  attachment->tid != attachment->process ? "exec" : "end");
}

uint64_t attach_apply(struct attachment *attachment, const struct grant *grant, int reservation_fd)
{
    struct message *message = about_grant("apply", attachment, grant);
    helper_carry(message, reservation_fd);
    if (attachment->only_awake)
        paragraph_add(helper_text(message), "awake", "1");
    if (attachment->watch < 0 || attachment->tid != attachment->process)
        watch(message, attachment);
    const uint64_t id = finish(message, attachment->pidfd);
    watch_once();
    return id;
}

uint64_t attach_adjust(struct attachment *attachment, const struct grant *grant)
{
    return finish(about_grant("adjust", attachment, grant), attachment->pidfd);
}

uint64_t attach_apply_again(struct attachment *attachment, const struct grant *grant)
{
    return finish(about_grant("restore", attachment, grant), attachment->pidfd);
}

uint64_t attach_restore(struct attachment *attachment)
{
    guard_end(attachment, true);
    struct message *message = about("restore", attachment);
    attributes_add(helper_text(message), "", &attachment->former);
    end_of_process(message, attachment);
    return finish(message, attachment->pidfd);
}

uint64_t attach_watch(const struct attachment *attachment)
{
    struct message *message = about("watch", attachment);
    watch(message, attachment);
    return finish(message, attachment->pidfd);
}

uint64_t attach_budget(struct attachment *attachment, const struct grant *grant)
{
    struct message *message = about("budget", attachment);
    budget(message, attachment, grant);
    return finish(message, attachment->pidfd);
}

uint64_t attach_count(const struct attachment *attachment, const struct grant *grant)
{
    /* us. With less, the guard itself would use much CPU time. With more, the guard would learn late
     * that the thread has made itself ordinary, and runs with the rank of a waiting FIFO thread. */
    static const uint64_t least = 1000, most = 20000;
    uint64_t each = 2 * cpu_in_mode(grant).runtime;
    each = each < least ? least : each > most ? most : each;
    struct message *message = about("budget", attachment);
    paragraph_add_number(helper_text(message), "budget", each);
    return finish(message, attachment->pidfd);
}

uint64_t attach_sweep(const struct attachment *attachment)
{
    struct message *message = about("sweep", attachment);
    if (attachment->whole)
        attributes_add(helper_text(message), "", &attachment->former);
    end_of_process(message, attachment);
    return finish(message, attachment->pidfd);
}

void attach_repair(void)
{
    (void)finish(attach_message("repair"), -1);
}

struct message *attach_give(const struct attachment *attachment)
{
    return about("give", attachment);
}

uint64_t attach_given(struct message *message)
{
    return finish(message, -1);
}

uint64_t attach_probe(const cpu_set_t *cpus)
{
    char list[CPU_LIST_TEXT];
    struct message *message = attach_message("probe");
    paragraph_add(helper_text(message), "cpus", format_cpus(cpus, list));
    return finish(message, -1);
}

uint64_t attach_domains(const cpu_set_t *cpus, const char *by)
{
    char list[CPU_LIST_TEXT];
    struct message *message = attach_message("domains");
    paragraph_add(helper_text(message), "by", by);
    if (CPU_COUNT(cpus) > 0)
        paragraph_add(helper_text(message), "cpus", format_cpus(cpus, list));
    return finish(message, -1);
}

uint64_t attach_setting(enum which_setting which, bool needed, const char *by)
{
    struct message *message = attach_message(needed ? "set" : "unset");
    paragraph_add(helper_text(message), "by", by);
    paragraph_add(helper_text(message), "setting", which == SETTING_HRTICK ? "hrtick" : "rt-limit");
    return finish(message, -1);
}

uint64_t attach_tick(void)
{
    return finish(attach_message("tick"), -1);
}
