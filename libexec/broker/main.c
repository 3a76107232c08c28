/* rtf-brokerd(8): options, set-up, the loop. What is done with what happens is in order.c. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "books.h"
#include "acl.h"
#include "attachments.h"
#include "directories.h"
#include "domains.h"
#include "event.h"
#include "guard.h"
#include "home.h"
#include "locked.h"
#include "logging.h"
#include "names.h"
#include "options.h"
#include "shares.h"
#include "judging.h"
#include "order.h"
#include "place.h"
#include "privileges.h"
#include "readers.h"
#include "recover.h"
#include "reload.h"
#include "scans.h"
#include "spool.h"
#include "starter.h"
#include "state.h"
#include "status.h"
#include "threads.h"
#include "tick.h"
#include "units.h"
#include "watchdog.h"
#include "reservations.h"

enum { OPTION_PLUGIN_USER = 256, OPTION_READER_USER, OPTION_MAX_SPECS, OPTION_CHECK, OPTION_PUT_BACK, OPTION_STATE };

struct options {
    bool foreground, check, put_back;
    const char *spool, *config, *state, *group, *plugin_user, *reader_user;
};

static char libexec[3900], acl_path[4096];
static bool is_starting;
static int signals_fd = -1, stop_signal;
static bool starter_is_gone;

/* ---- options ---- */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    uint64_t number;
    switch (key) {
    case 'f':
        options->foreground = true;
        return 0;
    case 's':
        options->spool = argument;
        return 0;
    case 'c':
        options->config = argument;
        return 0;
    case 'g':
        options->group = argument;
        return 0;
    case OPTION_STATE:
        if (argument[0] != '/')
            argp_error(state, "--state takes an absolute path");
        options->state = argument;
        return 0;
    case OPTION_PLUGIN_USER:
        options->plugin_user = argument;
        return 0;
    case OPTION_READER_USER:
        options->reader_user = argument;
        return 0;
    case OPTION_MAX_SPECS:
        if (!parse_number(argument, 10000000, &number) || number == 0)
            argp_error(state, "--max-specs takes a number from 1 to 10000000");
        max_specs = (int)number;
        return 0;
    case OPTION_CHECK:
        options->check = true;
        return 0;
    case OPTION_PUT_BACK:
        options->put_back = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option argp_options[] = {
    {"foreground", 'f', NULL, 0, "Stay in the foreground, and say what concerns no user on standard error, too", 0},
    {"spool", 's', "DIR", 0, "The spool (default /var/spool/rtf)", 0},
    {"config", 'c', "DIR", 0, "Where plugins.conf and acl.conf are (default /etc/rtf)", 0},
    {"group", 'g', "GROUP", 0, "Name or number of the group whose members may use it (default rtf)", 0},
    {"plugin-user", OPTION_PLUGIN_USER, "USER", 0, "As whom plugins run (default rtf-plugin, else nobody)", 0},
    {"reader-user", OPTION_READER_USER, "USER", 0, "Whose identity the programs have that read users' files (default rtf-reader, else as plugins)", 0},
    {"max-specs", OPTION_MAX_SPECS, "N", 0, "The most specs that one user may have (default 1000)", 0},
    {"state", OPTION_STATE, "DIR", 0, "Where what is in force is written down, in a directory of its own (default /run/rtf if it is in memory, else the spool)", 0},
    {"check", OPTION_CHECK, NULL, 0, "Read plugins.conf and acl.conf, say what is wrong with them or may not be meant, and end", 0},
    {"put-back", OPTION_PUT_BACK, NULL, 0, "Put kernel-wide settings back that a broker left changed, and end", 0},
    {0}};

/* Whoever looks into the log after a reboot finds there why nothing is served. Standard error has it already. */
static void last_words(const char *reason)
{
    if (!is_starting)
        return;
    event_echo(false);
    event_broker("error", "it cannot start: %s", reason);
}

static void die(int code, const char *reason)
{
    last_words(reason);
    fprintf(stderr, "rtf-brokerd: %s\n", reason);
    exit(code);
}

static void die_errno(int code, const char *what)
{
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "%.300s: %s", what, strerror(errno));
    die(code, reason);
}

static gid_t find_group(const char *name)
{
    uint64_t number;
    char reason[160];
    if (name == NULL)
        name = "rtf";
    const struct group *group = getgrnam(name);
    if (group != NULL)
        return group->gr_gid;
    if (parse_number(name, UINT32_MAX - 1, &number))
        return (gid_t)number;
    snprintf(reason, sizeof reason, "there is no group \"%.80s\"; make it, or name another with --group", name);
    die(EX_CONFIG, reason);
    return 0;
}

/* NULL: the usual account, if there is one, else the other. */
static struct identity_to_run_as find_unprivileged(const char *option, const char *name, const char *usual, const char *other)
{
    char reason[160];
    uint64_t number;
    const struct passwd *account = getpwnam(name == NULL ? usual : name);
    if (account == NULL && name == NULL)
        account = getpwnam(other);
    if (account != NULL && account->pw_uid != 0)
        return (struct identity_to_run_as){account->pw_uid, account->pw_gid};
    if (account == NULL && name != NULL && parse_number(name, UINT32_MAX - 1, &number) && number != 0)
        return (struct identity_to_run_as){(uid_t)number, (gid_t)number};
    snprintf(reason, sizeof reason, "%s must name an unprivileged account or uid", option);
    die(EX_CONFIG, reason);
    return (struct identity_to_run_as){0, 0};
}

static struct identity_to_run_as find_plugin_user(const char *name)
{
    return find_unprivileged("--plugin-user", name, "rtf-plugin", "nobody");
}

/* Not the plugins', if that can be helped: a plugin that has been taken over could trace them. */
static struct identity_to_run_as find_reader_user(const struct options *options)
{
    const struct identity_to_run_as plugin_user = find_plugin_user(options->plugin_user);
    if (options->reader_user == NULL && getpwnam("rtf-reader") == NULL)
        return plugin_user;
    return find_unprivileged("--reader-user", options->reader_user, "rtf-reader", "nobody");
}

/* ---- set-up ---- */

/* Parts are looked for beside this program, so that a build tree and an installation work alike. */
static void find_libexec(void)
{
    ssize_t length = readlink("/proc/self/exe", libexec, sizeof libexec - 1);
    if (length < 0)
        die_errno(EX_OSERR, "/proc/self/exe");
    libexec[length] = '\0';
    *strrchr(libexec, '/') = '\0';
}

static char *part(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", libexec, name);
    return path;
}

static void clean_process(void)
{
    struct rlimit files;
    for (int fd = 0; fd < 3; fd++) /* or the spool would become somebody's standard output */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            exit(EX_OSERR);
    umask(0077);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGIO, SIG_IGN); /* a writer that runs into a read lease signals its holder */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* A broker that its own grants can starve cannot take them back: it runs above them all, the helper with it,
 * the plugins one below, for they may run away. Inherited by all that is started from here. */
static void outrank_grants(void)
{
    char reason[REASON_BYTES];
    struct sched_param param = {.sched_priority = plugins_highest_priority() + 2};
    if (param.sched_priority < 3)
        param.sched_priority = 3;
    if (sched_setscheduler(0, SCHED_FIFO, &param) == 0)
        return;
    snprintf(reason, sizeof reason, "the broker cannot run above what it grants (SCHED_FIFO, priority %d): %s; it needs CAP_SYS_NICE, and "
                                    "real-time runtime in its cpu cgroup (cpu.rt_runtime_us)", param.sched_priority, strerror(errno));
    die(EX_OSERR, reason);
}

/* Nor one that waits for the disk. Each part locks itself; plugins run without rights, and the limit that lets
 * them is inherited. */
static void lock_memory(void)
{
    struct rlimit unlimited = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_MEMLOCK, &unlimited) != 0)
        event_broker("warning", "of plugins and of the lookup of accounts only what they start with is locked in memory, for the limit (RLIMIT_MEMLOCK) cannot be lifted: %s", strerror(errno));
    if (!memory_lock(MCL_ONFAULT))
        event_broker("warning", "the broker is not locked in memory, and may have to wait for the disk: %s", strerror(errno));
}

static void take_signals(struct source *source, uint32_t events);

static void catch_signals(void)
{
    static struct source source = {.ready = take_signals};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signals_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals_fd < 0 || !loop_add(signals_fd, EPOLLIN, &source))
        die_errno(EX_OSERR, "signalfd");
}

static struct acl *load_rules(char *reason)
{
    return acl_load(acl_path, reason);
}

static void read_configuration(const struct options *options)
{
    char path[4096], directory[4096], reason[REASON_BYTES];
    snprintf(path, sizeof path, "%s/plugins.conf", options->config);
    snprintf(acl_path, sizeof acl_path, "%s/acl.conf", options->config);
    snprintf(directory, sizeof directory, "%s", part("plugins"));
    if (!plugins_load(path, directory, reason))
        die(EX_CONFIG, reason);
    rules = load_rules(reason);
    if (rules == NULL)
        die(EX_CONFIG, reason);
}

static const struct reader_events reader_events = {
    .files = order_files, .news = order_news, .odd = order_odd, .overflow = order_overflow, .unwritten = order_unwritten, .lost = order_reader_lost,
    .dispose = directories_dispose,
    .scanning = scan_begin, .seen_file = scan_file, .seen_verdict = scan_verdict, .scanned = scan_end,
};

static void account_known(struct account *account)
{
    directories_of(account);
    judging_account_known(account);
}

static void log_was_restarted(void)
{
    event_broker("error", "the writer of the log ended and is started again: some lines may be missing");
}

static void take_starter_events(struct source *source, uint32_t events);
static struct source starter_source = {.ready = take_starter_events};

/* A journal that cannot be read is no start: take_up_where_it_was. */
static void know_raised(void)
{
    char reason[REASON_BYTES];
    struct recorded_state state;
    if (!keepers_raised_any() || !state_read(&state, reason))
        return;
    recover_know_raised(&state);
    state_free(&state);
}

static void prepare_parts(const struct options *options)
{
    static const struct guard_listener of_guard = {.news = threads_guarded, .is_new = threads_guard};
    struct identity_to_run_as plugin_user = find_plugin_user(options->plugin_user);
    if (!order_prepare())
        die_errno(EX_OSERR, "timerfd");
    attach_prepare(part("rtf-attach"), order_helper_event);
    know_raised();
    keepers_prepare(part, order_keeper_event, shares_say_again);
    guard_prepare(part("rtf-guard"), &of_guard);
    names_prepare(part("rtf-names"), plugin_user, account_known);
    plugins_prepare(plugin_user, order_plugin_event);
    directories_prepare(part("rtf-adopter"));
    readers_prepare(part("rtf-reader"), find_reader_user(options), &reader_events);
    logging_prepare(part("rtf-logger"), log_was_restarted);
    status_prepare(part("rtf-publisher"), spool.group);
    if (!starter_fork(!options->foreground, &starter_source))
        die_errno(EX_OSERR, "fork");
    if (!logging_start(spool.log))
        die_errno(EX_OSERR, part("rtf-logger"));
}

static void stop_parts(void)
{
    status_end();
    guard_stop();
    attach_stop();
    keepers_stop();
    starter_stop(); /* ends the others */
}

/* ---- the loop ---- */

static void reload(void)
{
    char reason[REASON_BYTES];
    struct acl *fresh = load_rules(reason);
    event_reopen();
    judging_drain(spool_is_draining());
    if (fresh == NULL) {
        event_broker("error", "%s; the rules in force stay", reason);
        fprintf(stderr, "rtf-brokerd: %s; the rules in force stay\n", reason);
        return;
    }
    reload_rules(fresh);
    acl_names(fresh, names_warn_unknown);
    reload_doubt_owners();
    directories_rescan(); /* a uid that is named now may have one */
    threads_check();
    event_broker("reloaded", "acl.conf was read again and the log opened again");
}

static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void show_books(void)
{
    if (!books_write())
        event_broker("error", "state/current/books.json cannot be written: %s", strerror(errno));
}

static void take_signals(struct source *source, uint32_t events)
{
    struct signalfd_siginfo info;
    (void)source;
    (void)events;
    while (read(signals_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            reload();
        else if (info.ssi_signo == SIGCHLD)
            reap();
        else if (info.ssi_signo == SIGUSR1)
            show_books();
        else
            stop_signal = (int)info.ssi_signo;
    }
}

/* Without a starter no part that dies comes back: better a new broker, while all parts are there. */
static void take_starter_events(struct source *source, uint32_t events)
{
    struct part_used used;
    int heard;
    (void)source;
    (void)events;
    while ((heard = starter_hear(&used)) > 0)
        plugin_used(&used);
    if (heard == 0)
        return;
    event_broker("error", "the starter was killed: the broker ends as by SIGINT, to be started again");
    starter_is_gone = true;
    stop_signal = SIGINT;
}

static void turn(void)
{
    plugins_flush();
    readers_flush();
    event_flush();
    status_notice();
    const bool busy = order_has_queue();
    home_keep(busy);
    loop_turn(busy);
    order_take_turn();
    timers_run(); /* last: an answer that came late because the broker itself was kept waiting is no fault */
    attachments_sweep();
    users_sweep();
    journal_tidy();
}

/* ---- beginning ---- */

/* What is true of everybody is waited for; not, beyond that, what only keeps its own user waiting. */
static void turn_until(bool (*is_so)(void), int64_t at_most)
{
    struct timer patience = {0};
    timer_set(&patience, monotonic_now() + at_most);
    while (stop_signal == 0 && !is_so() && patience.at != 0)
        turn();
    timer_end(&patience);
}

static bool owners_are_known(void)
{
    return directories_are_known() && names_are_settled();
}

/* Even if it is to end: what was in force is taken up before it is laid down. */
static bool start_plugins(char *reason)
{
    int started = plugins_start(reason) ? 0 : -1;
    while (started == 0 && (started = plugins_have_started(reason)) == 0)
        turn();
    return started > 0;
}

static bool take_up_where_it_was(char *reason)
{
    struct recorded_state state;
    if (!state_read(&state, reason))
        return false;
    directories_hold(true);
    if (!directories_start()) {
        snprintf(reason, REASON_BYTES, "rtf-adopter: %s", strerror(errno));
        return false;
    }
    turn_until(owners_are_known, INT64_C(12000000000));
    const bool good = recover(&state, reason);
    state_free(&state);
    if (!good)
        return false;
    scans_gather();
    directories_hold(false);
    turn_until(directories_are_scanned, INT64_C(5000000000));
    scans_gathered();
    return true;
}

/* It is there when clients can be served, unless its disk takes too long. */
static bool tell_status(char *reason)
{
    if (!status_start()) {
        snprintf(reason, REASON_BYTES, "rtf-publisher: %s", strerror(errno));
        return false;
    }
    turn_until(status_is_settled, INT64_C(1000000000));
    return true;
}

static void start(const struct options *options, int lock)
{
    char reason[REASON_BYTES];
    event_echo(options->foreground);
    judging_drain(spool_is_draining());
    outrank_grants();
    home_choose();
    lock_memory();
    prepare_parts(options);
    if (!spool_make_alive(reason))
        die(EX_OSERR, reason);
    watchdog_open();
    privileges_drop(options->spool, options->config);
    if (!attach_start(lock) || !guard_start() || !names_start())
        die_errno(EX_OSERR, "the broker's parts");
    if (!start_plugins(reason) || !keepers_start(reason)) {
        stop_parts();
        die(EX_CONFIG, reason);
    }
    if (!take_up_where_it_was(reason) || !tell_status(reason) || !spool_announce(reason)) {
        stop_parts();
        die(EX_OSERR, reason);
    }
    state_settle();
    privileges_to_serve();
    acl_names(rules, names_warn_unknown);
    if (place_doubt() != NULL)
        event_broker("warning", "%s", place_doubt());
    is_starting = false;
    event_broker("started", "spool %.300s, plugins: %d", options->spool, plugins_count());
}

static void serve(void)
{
    while (stop_signal == 0)
        turn();
}

static void stop(void)
{
    event_broker("stopped", "%s", starter_is_gone ? "what is granted stays in force" : stop_signal == SIGINT ? "SIGINT: what is granted stays in force" : "SIGTERM: every thread is put back");
    if (stop_signal == SIGINT)
        leave_in_force();
    else
        lay_down();
    stop_parts();
}

/* Without --foreground the caller gets its shell back when clients can be served. */
static int go_to_background(void)
{
    int ends[2];
    char ready;
    if (pipe2(ends, O_CLOEXEC) != 0)
        die_errno(EX_OSERR, "pipe");
    pid_t child = fork();
    if (child < 0)
        die_errno(EX_OSERR, "fork");
    if (child == 0) {
        close(ends[0]);
        setsid();
        return ends[1];
    }
    close(ends[1]);
    if (read(ends[0], &ready, 1) == 1)
        _exit(EX_OK);
    int status;
    (void)waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE);
}

static void say_ready(int fd)
{
    if (fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i < 3; i++)
        (void)dup2(null, i);
    if (null >= 0)
        close(null);
    (void)!write(fd, "", 1);
    close(fd);
}

/* What is correct and may still not be meant is said by a program that is no part of this one. */
static void lint(const char *config)
{
    char tick[NUMBER_TEXT];
    execl(part("rtf-lint"), "rtf-lint", "--no-fault", "--config", config, "--tick", format_number(tick_is_not_awaited() ? 0 : tick_length(), tick), (char *)NULL);
    die_errno(EX_OSERR, part("rtf-lint"));
}

/* The plugins know what they refuse, and whether they go together. They are started as they will be, which only root can. */
static void ask_plugins(const struct options *options)
{
    char reason[REASON_BYTES];
    loop_start();
    plugins_prepare(find_plugin_user(options->plugin_user), order_plugin_event);
    if (!starter_fork(false, &starter_source))
        die_errno(EX_OSERR, "fork");
    const bool good = start_plugins(reason);
    starter_stop();
    if (!good)
        die(EX_CONFIG, reason);
}

/* The helper says why not. */
static bool can_be_global(const struct plugin_line *line)
{
    char cpus[CPU_LIST_TEXT];
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl(part("rtf-attach"), "rtf-attach", "--probe", format_cpus(&line->cpus, cpus), (char *)NULL);
        _exit(EX_OSERR);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Of what the kernel refuses at the start: CPUs that are not all of one domain. While there are domains that a broker has made, and will unmake when it
 * ends, nobody can tell. */
static void ask_kernel(void)
{
    char reason[REASON_BYTES];
    cpu_set_t domains, online;
    for (int i = 0; i < plugins_count() && access(DOMAINS_RECORD, F_OK) != 0; i++) {
        const struct plugin_line *line = plugin_line(i);
        if (!line->deadline || line->partition != PARTITION_GLOBAL || can_be_global(line))
            continue;
        snprintf(reason, sizeof reason, "plugins.conf:%d: %s cannot have partition=global with these CPUs", line->line, line->name);
        die(EX_CONFIG, reason);
    }
    plugins_domains(&domains);
    online_cpus(&online);
    if (CPU_EQUAL(&domains, &online))
        die(EX_CONFIG, "plugins.conf: partition=cpuset and confine=cpuset take all CPUs: one at least has to be left for ordinary threads");
}

static int put_back(const struct options *options)
{
    char reason[REASON_BYTES];
    int lock, there = spool_open_state(options->spool, &lock, reason);
    if (there < 0)
        die(EX_UNAVAILABLE, reason);
    if (there == 0)
        return EX_OK; /* no broker has ever changed anything */
    place_find();
    attach_prepare(part("rtf-attach"), NULL);
    if (!starter_fork(false, &starter_source) || !attach_start(lock))
        die_errno(EX_OSERR, part("rtf-attach"));
    bool good = put_back_kernel(part, reason);
    attach_stop();
    starter_stop();
    if (!good)
        die(EX_OSERR, reason);
    return EX_OK;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {argp_options, parse_option, NULL, "Serve a spool of real-time reservations.", NULL, NULL, NULL};
    struct options options = {.spool = "/var/spool/rtf"};
    char reason[REASON_BYTES];
    int lock, ready = -1;
    parse_options(&argp, argc, argv, 0, &options, EX_USAGE, EX_IOERR);
    clean_process();
    find_libexec();
    if (options.check && (options.group != NULL || options.config == NULL))
        (void)find_group(options.group);
    if (options.config == NULL)
        options.config = "/etc/rtf";
    is_starting = !options.check && !options.put_back && geteuid() == 0;
    if (is_starting)
        event_start(options.spool);
    if (!options.put_back)
        read_configuration(&options);
    if (options.check && geteuid() == 0) {
        ask_plugins(&options);
        ask_kernel();
    }
    if (options.check)
        lint(options.config);
    if (geteuid() != 0)
        die(EX_NOPERM, "must be started by root");
    if (!options.foreground && !options.put_back)
        ready = go_to_background();
    loop_start();
    if (options.put_back)
        return put_back(&options);
    if (!spool_open(options.spool, find_group(options.group), &lock, reason) || !place_open(options.state, reason))
        die(EX_UNAVAILABLE, reason);
    catch_signals();
    start(&options, lock);
    say_ready(ready);
    watchdog_ready();
    serve();
    stop();
    return starter_is_gone ? EX_OSERR : EX_OK;
}
