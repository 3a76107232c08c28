/* Asks for a reservation for its own thread, waits for the answer, and becomes the command. */
#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client.h"
#include "units.h"

/* A broker answers within milliseconds. One that runs but is stuck must not hold up a cron job for ever. */
#define ANSWER_WITHIN UINT64_C(30000000)

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { /* long options without a letter */
    KEY_DESIRED = 256,
    KEY_PRIORITY,
    KEY_PLUGIN,
    KEY_IGNORE,
    KEY_NAME,
    KEY_COMMENT,
    KEY_TIMEOUT,
    KEY_SPOOL,
    KEY_DRY_RUN,
    KEY_FALLBACK
};

struct options {
    uint64_t runtime, desired_runtime, period, deadline, priority, timeout; /* 0: not stated */
    const char *plugin, *name, *comment, *spool;
    bool ignore_admission, dry_run, fallback, verbose;
    char **command;
};

/* A wish of ours in the spool. */
struct wish {
    char name[RTF_NAME_MAX + 1];
    char token[RTF_TOKEN];
    ino_t inode; /* 0: not there */
};

struct signals {
    sigset_t inherited;
    int fd;
};

const char *argp_program_version = "rtf-run " RTF_VERSION;

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "What CMD needs. A TIME is a whole number and a unit: 800us, 5ms, 1s", 1},
    {"runtime", 'T', "TIME", 0, "CPU time it uses in each period", 1},
    {"sched-runtime", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"period", 'P', "TIME", 0, "Time from one activation to the next", 1},
    {"sched-period", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"deadline", 'D', "TIME", 0, "Time within which the runtime must be had (default: the period)", 1},
    {"sched-deadline", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"desired-runtime", KEY_DESIRED, "TIME", 0, "Take up to this much runtime if there is room", 1},
    {"priority", KEY_PRIORITY, "N", 0, "Priority, 1 to 99; higher runs first", 1},
    {"plugin", KEY_PLUGIN, "NAME", 0, "Ask only this plugin", 1},
    {"ignore-admission", KEY_IGNORE, NULL, 0, "Wish to be let in even if the test fails", 1},
    {NULL, 0, NULL, 0, "How to ask", 2},
    {"name", KEY_NAME, "NAME", 0, "Name of the wish (default: run-PID)", 2},
    {"comment", KEY_COMMENT, "TEXT", 0, "A note to put into the wish", 2},
    {"timeout", KEY_TIMEOUT, "TIME", 0, "Wait no longer than this for the answer (default: 30s)", 2},
    {"fallback", KEY_FALLBACK, NULL, 0, "Run CMD without a reservation if there is none to be had", 2},
    {"spool", KEY_SPOOL, "DIR", 0, "The spool (default: " RTF_SPOOL ")", 2},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Print the wish and do nothing", 2},
    {"verbose", 'v', NULL, 0, "Print the broker's answer on standard error", 2},
    {0}};

static void take_time(struct argp_state *state, const char *option, const char *text, uint64_t *time)
{
    const char *wrong = rtf_take_time(text, time);
    if (wrong != NULL)
        argp_failure(state, EXIT_OURS, 0, "%s %s: %s", option, text, wrong);
}

static void take_priority(struct argp_state *state, const char *text, uint64_t *priority)
{
    if (!parse_number(text, PRIORITY_MAX, priority) || *priority == 0)
        argp_failure(state, EXIT_OURS, 0, "--priority %s: a priority is 1 to %d", text, PRIORITY_MAX);
}

static void take_name(struct argp_state *state, const char *text, const char **name)
{
    if (!rtf_name_ok(text))
        argp_failure(state, EXIT_OURS, 0, "--name %s: " RTF_NAME_RULE, text);
    *name = text;
}

/* JSON is UTF-8; better said here, with the option's name, than by the broker. */
static void take_text(struct argp_state *state, const char *option, const char *text, const char **value)
{
    json_t *string = json_string(text);
    if (string == NULL)
        argp_failure(state, EXIT_OURS, 0, "%s: this is not UTF-8 text", option);
    json_decref(string);
    *value = text;
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'T': take_time(state, "-T", argument, &options->runtime); break;
    case 'P': take_time(state, "-P", argument, &options->period); break;
    case 'D': take_time(state, "-D", argument, &options->deadline); break;
    case KEY_DESIRED: take_time(state, "--desired-runtime", argument, &options->desired_runtime); break;
    case KEY_PRIORITY: take_priority(state, argument, &options->priority); break;
    case KEY_PLUGIN: take_text(state, "--plugin", argument, &options->plugin); break;
    case KEY_IGNORE: options->ignore_admission = true; break;
    case KEY_NAME: take_name(state, argument, &options->name); break;
    case KEY_COMMENT: take_text(state, "--comment", argument, &options->comment); break;
    case KEY_TIMEOUT: take_time(state, "--timeout", argument, &options->timeout); break;
    case KEY_FALLBACK: options->fallback = true; break;
    case KEY_SPOOL: options->spool = argument; break;
    case KEY_DRY_RUN: options->dry_run = true; break;
    case 'v': options->verbose = true; break;
    case ARGP_KEY_ARG: /* the command: all that follows is its own */
        options->command = state->argv + state->next - 1;
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (options->command == NULL && !options->dry_run)
            argp_error(state, "a command is missing");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void add_number(json_t *wish, const char *key, uint64_t number)
{
    if (number != 0)
        json_object_set_new(wish, key, json_integer((json_int_t)number));
}

static void add_text(json_t *wish, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(wish, key, json_string(text));
}

/* The wish as one line, to be freed; NULL without memory. */
static char *make_wish(const struct options *options, const char *token)
{
    json_t *wish = json_object();
    add_number(wish, "runtime", options->runtime);
    add_number(wish, "desired_runtime", options->desired_runtime);
    add_number(wish, "period", options->period);
    add_number(wish, "deadline", options->deadline);
    add_number(wish, "priority", options->priority);
    add_text(wish, "plugin", options->plugin);
    if (options->ignore_admission)
        json_object_set_new(wish, "ignore_admission", json_true());
    add_number(wish, "attach", (uint64_t)getpid());
    add_text(wish, "lifetime", "thread");
    add_text(wish, "token", token);
    add_text(wish, "comment", options->comment);
    char *text = json_dumps(wish, JSON_COMPACT);
    json_decref(wish);
    return text;
}

static int dry_run(const struct options *options)
{
    char token[RTF_TOKEN];
    char *text = rtf_make_token(token) ? make_wish(options, token) : NULL;
    bool printed = text != NULL && puts(text) >= 0 && fflush(stdout) == 0;
    free(text);
    if (!printed)
        fprintf(stderr, "rtf-run: cannot print the wish: %s\n", strerror(errno));
    return printed ? 0 : EXIT_OURS;
}

/* Holds back the signals that would end us, as a wish must not be left behind. One that we inherited as
 * ignored or blocked is not ours to see: it stays so for the command. */
static bool hold_signals(struct signals *signals)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGPIPE, SIGUSR1, SIGUSR2};
    sigset_t held;
    sigemptyset(&held);
    sigprocmask(SIG_BLOCK, NULL, &signals->inherited);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        struct sigaction action;
        if (sigaction(fatal[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
            sigismember(&signals->inherited, fatal[i]) == 0)
            sigaddset(&held, fatal[i]);
    }
    sigprocmask(SIG_BLOCK, &held, NULL);
    signals->fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

/* A signal that came meanwhile is pending, not read: here we die of it, as if nothing had held it back. */
static void release_signals(struct signals *signals)
{
    sigprocmask(SIG_SETMASK, &signals->inherited, NULL);
}

static enum rtf_outcome put_wish(struct rtf_client *client, const struct options *options, struct wish *wish)
{
    enum rtf_outcome outcome = RTF_ERROR;
    char *text = rtf_make_token(wish->token) ? make_wish(options, wish->token) : NULL;
    if (text == NULL) {
        snprintf(client->why, sizeof client->why, "cannot make a wish: %s", strerror(errno));
        return RTF_ERROR;
    }
    if (options->name != NULL) {
        snprintf(wish->name, sizeof wish->name, "%s", options->name);
        outcome = rtf_put(client, wish->name, text, &wish->inode);
    } else {
        snprintf(wish->name, sizeof wish->name, "run-%d", getpid());
        outcome = rtf_put(client, wish->name, text, &wish->inode);
        if (outcome == RTF_TAKEN) { /* rtf-run under rtf-run, or what a killed one with this pid has left */
            snprintf(wish->name, sizeof wish->name, "run-%d-%s", getpid(), wish->token);
            outcome = rtf_put(client, wish->name, text, &wish->inode);
        }
    }
    free(text);
    if (outcome != RTF_OK)
        wish->inode = 0;
    return outcome;
}

/* The verdict speaks of a thread by its number. In another pid namespace than the broker's our number is some
 * other thread's; the kernel knows which one has the policy. */
static bool runs_as(const char *policy)
{
    int own = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (strcmp(policy, "deadline") == 0)
        return own == SCHED_DEADLINE;
    if (strcmp(policy, "fifo") == 0)
        return own == SCHED_FIFO;
    return strcmp(policy, "rr") != 0 || own == SCHED_RR;
}

/* "EDF refused: CPU 1 has 0.12 of 0.95 left, 0.2 asked; runtime 1200us would fit". The reason of a plugin's
 * refusal comes with its first words, other reasons come without. */
static void describe_refusal(const json_t *verdict, char why[static RTF_WHY])
{
    const json_t *refusal = json_object_get(verdict, "refusal");
    const json_t *nearest = json_object_get(refusal, "nearest");
    const char *by = rtf_string(refusal, "by");
    const char *rule = rtf_string(refusal, "rule");
    const char *reason = rtf_string(verdict, "reason");
    if (reason == NULL)
        reason = "no reason given";
    char who[64] = "", fits[64] = "";
    if (strstr(reason, "refused") == NULL)
        snprintf(who, sizeof who, "%.40s%srefused: ", by != NULL ? by : "", by != NULL ? " " : "");
    if (json_is_integer(nearest))
        snprintf(fits, sizeof fits, "; runtime %lldus would fit", (long long)json_integer_value(nearest));
    bool show_rule = rule != NULL && strstr(reason, rule) == NULL;
    snprintf(why, RTF_WHY, "%s%s%s%s%s%s", who, reason, show_rule ? " (" : "", show_rule ? rule : "",
             show_rule ? ")" : "", fits);
}

/* Whether this verdict gives us what we asked for; else why not. */
static bool granted(const json_t *verdict, char why[static RTF_WHY])
{
    const char *result = rtf_string(verdict, "result");
    const char *policy = rtf_string(json_object_get(verdict, "grant"), "policy");
    if (result == NULL || strcmp(result, "OK") != 0 || !json_is_object(json_object_get(verdict, "thread"))) {
        describe_refusal(verdict, why);
        return false;
    }
    if (policy != NULL && !runs_as(policy)) {
        snprintf(why, RTF_WHY, "thread %d is not this one: the broker is in another pid namespace", getpid());
        return false;
    }
    return true;
}

/* From nothing to an attached thread, or to a reason in client->why. The caller withdraws the wish. */
static enum rtf_outcome reserve(struct rtf_client *client, const struct options *options,
                                struct signals *signals, struct wish *wish)
{
    enum rtf_outcome outcome = rtf_open(client, options->spool);
    if (outcome == RTF_OK)
        outcome = rtf_connect(client);
    if (outcome == RTF_OK)
        outcome = rtf_enter(client, true);
    if (outcome != RTF_OK)
        return outcome;
    if (!hold_signals(signals)) {
        snprintf(client->why, sizeof client->why, "signalfd: %s", strerror(errno));
        return RTF_ERROR;
    }
    outcome = put_wish(client, options, wish);
    if (outcome != RTF_OK)
        return outcome;
    struct rtf_wait wait = {.name = wish->name, .token = wish->token, .inode = wish->inode, .attached = true,
                            .timeout = options->timeout, .interrupt = signals->fd};
    struct rtf_verdict verdict;
    outcome = rtf_wait(client, &wait, &verdict);
    if (outcome != RTF_OK)
        return outcome;
    if (options->verbose)
        fprintf(stderr, "%.*s\n", (int)strcspn(verdict.text, "\n"), verdict.text);
    outcome = granted(verdict.json, client->why) ? RTF_OK : RTF_DENIED;
    rtf_free_verdict(&verdict);
    return outcome;
}

static int run(const struct options *options)
{
    struct rtf_client client;
    struct signals signals = {.fd = -1};
    struct wish wish = {.inode = 0};
    int status = EXIT_OURS;
    sigprocmask(SIG_BLOCK, NULL, &signals.inherited);
    enum rtf_outcome outcome = reserve(&client, options, &signals, &wish);
    bool fallback = options->fallback && outcome != RTF_OK && outcome != RTF_INTERRUPTED;
    if (outcome != RTF_OK && wish.inode != 0)
        rtf_withdraw(&client, wish.name, wish.inode);
    if (fallback)
        fprintf(stderr, "rtf-run: %s; running %s without a reservation\n", client.why, options->command[0]);
    else if (outcome != RTF_OK && outcome != RTF_INTERRUPTED)
        fprintf(stderr, "rtf-run: %s\n", client.why);
    release_signals(&signals);
    if (outcome == RTF_OK || fallback) {
        execvp(options->command[0], options->command);
        status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
        fprintf(stderr, "rtf-run: %s: %s\n", options->command[0], strerror(errno));
        if (outcome == RTF_OK)
            rtf_withdraw(&client, wish.name, wish.inode);
    }
    if (signals.fd >= 0)
        close(signals.fd);
    rtf_close(&client);
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "CMD [ARG...]",
        .doc = "Run CMD with real-time scheduling that the rtf broker has reserved for it.\v"
               "Exit status: 125 if rtf-run fails or is refused, 126 if CMD cannot be run, 127 if it is not "
               "found, else CMD's own."};
    struct options options = {.spool = RTF_SPOOL, .timeout = ANSWER_WITHIN};
    rtf_hold_standard_fds();
    argp_err_exit_status = EXIT_OURS;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options) != 0)
        return EXIT_OURS;
    return options.dry_run ? dry_run(&options) : run(&options);
}
