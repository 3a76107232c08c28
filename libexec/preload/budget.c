#include "budget.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "default-budget.h"
#include "priority.h"
#include "profile.h"
#include "refusals.h"
#include "rtf.h"
#include "units.h"

/* USUAL_PRIORITIES: the rules as shipped allow no higher priority, because the kernel's interrupt
 * threads have priority 50. */
enum {
    THREAD_NAME = 16,
    RESERVATION = 48,
    SENTENCE = 1024,
    POLICY_AND_PRIORITY = 32,
    USUAL_PRIORITIES = 49
};

static const char *policy_name(int policy)
{
    return policy == SCHED_FIFO ? "SCHED_FIFO" : policy == SCHED_RR ? "SCHED_RR" : "SCHED_DEADLINE";
}

static void name_of_thread(pid_t thread, char name[static THREAD_NAME + 1])
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)thread);
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(name, THREAD_NAME + 1, file) == NULL)
        name[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    name[strcspn(name, "\n")] = '\0';
}

/* Writes one line in one write, because the program may write to standard error, too. */
static void say(pid_t thread, const struct wanted *wanted, const char *name, const char *reason)
{
    char line[SENTENCE];
    const int length = snprintf(line, sizeof line, "rtf-preload: %s (%d) does not get %s: %.800s\n",
                                name, (int)thread, policy_name(wanted->policy), reason);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* there is no standard error: the line is dropped */
}

/* Tells why the call fails with `error`. */
static void refuse(pid_t thread, const struct wanted *wanted, int error, const char *reason)
{
    char name[THREAD_NAME + 1], call[POLICY_AND_PRIORITY];
    name_of_thread(thread, name);
    say(thread, wanted, name, reason);
    if (wanted->policy == SCHED_DEADLINE)
        snprintf(call, sizeof call, "%s", policy_name(wanted->policy));
    else
        snprintf(call, sizeof call, "%s %d", policy_name(wanted->policy), wanted->priority);
    refusals_note(thread, error, name, call, reason);
}

void budget_warn(int policy)
{
    char line[SENTENCE];
    const int length = snprintf(
        line, sizeof line,
        "rtf-preload: %s (%d) creates a thread with %s in its attributes, which libc ignores: the program does not set PTHREAD_EXPLICIT_SCHED\n",
        program_invocation_short_name, (int)getpid(), policy_name(policy & ~SCHED_RESET_ON_FORK));
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* there is no standard error: the line is dropped */
}

static const char *setting(const char *name)
{
    const char *value = secure_getenv(name);
    return value == NULL ? "" : value;
}

/* Finds the profile for the thread in the files of preload.d. Words of rtf-preload's command line
 * (RTF_PRELOAD) override the files. */
static void find_profile(pid_t thread, struct profile *profile)
{
    char name[THREAD_NAME + 1], wrong[PROFILE_WRONG], words[SENTENCE], *rest = NULL;
    *profile = (struct profile){0};
    name_of_thread(thread, name);
    (void)profile_find(setting("RTF_PRELOAD_PROFILES"), program_invocation_short_name, name,
                       profile, wrong);
    snprintf(words, sizeof words, "%s", setting("RTF_PRELOAD"));
    for (const char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        (void)profile_take(profile, word);
}

static bool gives(const struct rtf_status *status, size_t plugin, int policy)
{
    if (policy == SCHED_DEADLINE)
        return strcmp(rtf_plugin_policy(status, plugin), "deadline") == 0;
    return strcmp(rtf_plugin_program(status, plugin), policy == SCHED_FIFO ? "fp" : "rr") == 0;
}

/* Returns the highest priority of the plugin's range; 0: the plugin has no priorities. */
static int highest_of(const struct rtf_status *status, size_t plugin)
{
    uint64_t highest;
    const char *range = rtf_plugin_priorities(status, plugin), *dash = strchr(range, '-');
    return parse_number(dash == NULL ? range : dash + 1, PRIORITY_MAX, &highest) ? (int)highest : 0;
}

/* Chooses a plugin of the policy. Without a plugin in the spec, another plugin could grant the
 * budget, and the thread would get another policy than the program asked for. If the profile states
 * no max_priority, and the plugin has higher priorities than usual, the thread may get these
 * priorities, too. */
static bool choose_plugin(struct rtf_connection *connection, int policy, struct profile *profile)
{
    struct rtf_status *status = rtf_status_read(connection);
    const bool is_stated = profile->max_priority != 0;
    if (!is_stated)
        profile->max_priority = USUAL_PRIORITIES;
    for (size_t i = 0; status != NULL && i < rtf_status_plugins(status); i++) {
        const char *name = rtf_plugin_name(status, i);
        if (profile->plugin[0] == '\0' && gives(status, i, policy))
            snprintf(profile->plugin, sizeof profile->plugin, "%s", name);
        if (!is_stated && strcmp(name, profile->plugin) == 0 &&
            highest_of(status, i) > profile->max_priority)
            profile->max_priority = highest_of(status, i);
    }
    rtf_status_free(status);
    return profile->plugin[0] != '\0';
}

/* Keeps a restricted affinity: if the thread may use fewer CPUs than init, the program or the user
 * restricted it. (Not under SCHED_DEADLINE, where the kernel refuses a restricted affinity.) */
static void add_cpus(pid_t thread, struct rtf_params *params)
{
    cpu_set_t own, usual;
    char text[CPU_LIST_TEXT];
    if (sched_getaffinity(thread, sizeof own, &own) == 0 &&
        sched_getaffinity(1, sizeof usual, &usual) == 0 && CPU_COUNT(&own) < CPU_COUNT(&usual))
        (void)rtf_params_set_cpus(params, format_cpus(&own, text));
}

/* Adds the times that the program states, for SCHED_DEADLINE; else the times of the profile, or the
 * default ones. */
static void add_times(const struct wanted *wanted, const struct profile *profile,
                      struct rtf_params *params)
{
    const bool has_times = wanted->policy == SCHED_DEADLINE,
               is_stated = profile->runtime != 0 || profile->period != 0;
    const uint64_t runtime = is_stated ? profile->runtime : DEFAULT_RUNTIME,
                   period = is_stated ? profile->period : DEFAULT_PERIOD;
    rtf_params_set_runtime(params, has_times ? wanted->runtime : runtime);
    rtf_params_set_period(params, has_times ? wanted->period : period);
    rtf_params_set_deadline(params, wanted->deadline);
}

static void make_params(const struct wanted *wanted, const struct profile *profile,
                        struct rtf_params *params)
{
    add_times(wanted, profile, params);
    if (wanted->priority != 0)
        rtf_params_set_priority(params,
                                (unsigned)priority_within(wanted->priority, profile->max_priority));
    (void)rtf_params_set_scheduler(params, profile->plugin);
}

/* True if the same request may succeed when other reservations are released. The call then fails
 * with EBUSY, because a program that gets EPERM never asks again. */
static bool becomes_free(const char *code)
{
    static const char *const codes[] = {
        "full",           "neighbour",  "rule-used-up", "too-many-specs", "attached-elsewhere",
        "still-attached", "restarting", "draining",     "taken",          "busy"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

/* Returns the errno with which the program's call fails for this result; 0: RTF_OK. */
static int error_of(enum rtf_result result, int policy, const char *code)
{
    if (result != RTF_OK && becomes_free(code))
        return EBUSY;
    switch (result) {
    case RTF_OK: return 0;
    case RTF_SCHEDULE_FAIL: return policy == SCHED_DEADLINE ? EBUSY : EPERM;
    case RTF_BAD_SPEC: return EINVAL;
    case RTF_ATTACH_FAIL: return strcmp(code, "no-thread") == 0 ? ESRCH : EPERM;
    case RTF_ACL_FAIL:
    case RTF_CONNECTION_ERR:
    case RTF_PENDING:
    case RTF_TIMEOUT:
    case RTF_GONE:
    case RTF_ERROR: break;
    }
    return EPERM;
}

/* Makes the name of the reservation. True: no other thread can have this name, because the name has
 * the inode of the thread's pidfd. The thread id alone is not enough: threads in two containers of
 * a user may have the same id. */
static bool name_of_reservation(pid_t thread, char name[static RESERVATION])
{
    const uint64_t inode = client_thread_inode(thread);
    if (inode == 0)
        snprintf(name, RESERVATION, "preload-%d", (int)thread);
    else
        snprintf(name, RESERVATION, "preload-%d-%llu", (int)thread, (unsigned long long)inode);
    return inode != 0;
}

/* Asks for the reservation, or for a change of the thread's reservation. A spec with this name may
 * belong to an earlier thread with the same id; then that spec is released first. */
static enum rtf_result ask(struct rtf_connection *connection, struct rtf_spec *spec,
                           struct rtf_params *params, pid_t thread, const struct wanted *wanted)
{
    char name[RESERVATION];
    const bool is_unique = name_of_reservation(thread, name);
    if (rtf_spec_find(connection, spec, name) == RTF_OK &&
        (is_unique ? rtf_spec_is_attached(spec) : rtf_spec_get_thread(spec) == thread))
        return rtf_spec_change(spec, params);
    if (rtf_spec_result(spec) != RTF_GONE)
        (void)rtf_spec_release(spec);
    if (wanted->policy != SCHED_DEADLINE)
        add_cpus(thread, params);
    (void)rtf_params_set_name(params, name);
    return rtf_spec_create_attached(connection, spec, params, thread);
}

int budget_reserve(pid_t thread, const struct wanted *wanted)
{
    struct rtf_connection connection = RTF_CONNECTION_INIT;
    struct rtf_spec spec = RTF_SPEC_INIT;
    struct rtf_params params = RTF_PARAMS_INIT;
    struct profile profile;
    int error = EPERM;
    find_profile(thread, &profile);
    if (rtf_connect(&connection, NULL) != RTF_OK)
        refuse(thread, wanted, error, rtf_reason(&connection));
    else if (!choose_plugin(&connection, wanted->policy, &profile))
        refuse(thread, wanted, error, "no plugin has this policy (see rtf plugins)");
    else {
        make_params(wanted, &profile, &params);
        const enum rtf_result result = ask(&connection, &spec, &params, thread, wanted);
        error = error_of(result, wanted->policy, rtf_spec_code(&spec));
        if (error != 0)
            refuse(thread, wanted, error, rtf_spec_reason(&spec));
        else
            refusals_end(thread);
    }
    rtf_disconnect(&connection);
    return error;
}

void budget_release(pid_t thread)
{
    struct rtf_connection connection = RTF_CONNECTION_INIT;
    struct rtf_spec spec = RTF_SPEC_INIT;
    char name[RESERVATION];
    (void)name_of_reservation(thread, name);
    if (rtf_connect(&connection, NULL) == RTF_OK &&
        rtf_spec_find(&connection, &spec, name) == RTF_OK)
        (void)rtf_spec_release(&spec);
    rtf_disconnect(&connection);
}
