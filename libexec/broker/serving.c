#include "serving.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "acl.h"
#include "attach.h"
#include "attachments.h"
#include "books.h"
#include "directories.h"
#include "tell-detached.h"
#include "event.h"
#include "fatal.h"
#include "guard.h"
#include "placement.h"
#include "allocators.h"
#include "names.h"
#include "dispatch.h"
#include "owner.h"
#include "plugins.h"
#include "process.h"
#include "programs-helper.h"
#include "readers.h"
#include "journal-rewrite.h"
#include "lay-down.h"
#include "reload.h"
#include "reservations.h"
#include "spool.h"
#include "spool-permissions.h"
#include "launcher.h"
#include "status-file.h"
#include "thread-events.h"
#include "timers.h"

static void take_signals(struct source *source, uint32_t events);
static void take_launcher_events(struct source *source, uint32_t events);

static struct {
    char acl_path[4096];
    struct source signals, launcher;
    int signals_fd, stop_signal;
    bool launcher_is_gone;
} serving = {.signals.ready = take_signals,
             .launcher.ready = take_launcher_events,
             .signals_fd = -1};

static struct acl *load_rules(char *reason)
{
    return acl_load(serving.acl_path, reason);
}

void serving_configure(const char *config)
{
    char path[4096], directory[4096], reason[REASON_BYTES];
    snprintf(path, sizeof path, "%s/plugins.conf", config);
    snprintf(serving.acl_path, sizeof serving.acl_path, "%s/acl.conf", config);
    snprintf(directory, sizeof directory, "%s", program_path("plugins"));
    if (!plugins_load(path, directory, reason))
        die(EX_CONFIG, reason);
    rules = load_rules(reason);
    if (rules == NULL)
        die(EX_CONFIG, reason);
}

static void reload(void)
{
    char reason[REASON_BYTES];
    struct acl *fresh = load_rules(reason);
    event_reopen();
    spool_permissions_mend();
    owner_drain(spool_is_draining());
    if (fresh == NULL) {
        event_broker("error", "%s; the rules in force stay", reason);
        fprintf(stderr, "rtf-brokerd: %s; the rules in force stay\n", reason);
        return;
    }
    reload_rules(fresh);
    acl_names(fresh, names_warn_unknown);
    reload_doubt_owners();
    directories_rescan(); /* a uid that acl.conf names now may have a directory */
    thread_events_check();
    programs_helper_give(spool.lasting);
    status_hurry();
    event_broker("reloaded", "acl.conf is read again, and the log is opened again");
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
    while (read(serving.signals_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            reload();
        else if (info.ssi_signo == SIGCHLD)
            reap();
        else if (info.ssi_signo == SIGUSR1)
            show_books();
        else
            serving.stop_signal = (int)info.ssi_signo;
    }
}

void serving_catch_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    serving.signals_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (serving.signals_fd < 0 || !loop_add(serving.signals_fd, EPOLLIN, &serving.signals))
        die_errno(EX_OSERR, "signalfd");
}

/* Without the launcher the broker cannot start a helper process again. So the broker ends while all
 * helper processes still run, and has to be started again. */
static void take_launcher_events(struct source *source, uint32_t events)
{
    struct child_used used;
    int heard;
    (void)source;
    (void)events;
    while ((heard = launcher_hear(&used)) > 0)
        plugin_used(&used);
    if (heard == 0)
        return;
    event_broker(
        "error",
        "the launcher was killed: the broker ends as by SIGINT, and has to be started again");
    serving.launcher_is_gone = true;
    serving.stop_signal = SIGINT;
}

bool fork_launcher(bool in_background)
{
    return launcher_fork(in_background, &serving.launcher);
}

void turn(void)
{
    plugins_flush();
    readers_flush();
    event_flush();
    status_notice();
    const bool busy = dispatch_has_queue();
    placement_keep(busy);
    loop_turn(busy);
    dispatch_take_turn();
    /* timers come last, after the answers: an answer that came while the broker could not run is
     * not late */
    timers_run();
    attachments_sweep();
    users_sweep();
    journal_rewrite_if_due();
}

void turn_until(bool (*is_so)(void), int64_t at_most)
{
    struct timer patience = {0};
    timer_set(&patience, monotonic_now() + at_most);
    while (serving.stop_signal == 0 && !is_so() && patience.at != 0)
        turn();
    timer_end(&patience);
}

bool start_plugins(char reason[static REASON_BYTES])
{
    int started = plugins_start(reason) ? 0 : -1;
    while (started == 0 && (started = plugins_have_started(reason)) == 0)
        turn();
    return started > 0;
}

void serve(void)
{
    while (serving.stop_signal == 0)
        turn();
}

void stop_children(void)
{
    status_end();
    programs_helper_stop();
    guard_stop();
    attach_stop();
    allocators_stop();
    launcher_stop(); /* the launcher ends the other processes */
}

static void log_stop(void)
{
    const bool lays_down = serving.stop_signal != SIGINT;
    const struct event event = {.stage = "broker",
                                .decision = "stopped",
                                .microseconds = -1,
                                .ended = lays_down ? ENDED_BROKER : ENDED_NOT,
                                .reason =
                                    serving.launcher_is_gone
                                        ? "the launcher was killed: all grants stay in force"
                                    : lays_down
                                        ? "SIGTERM: every thread gets its former attributes back"
                                        : "SIGINT: all grants stay in force"};
    event_write(&event);
}

void stop(void)
{
    log_stop();
    if (serving.stop_signal == SIGINT)
        leave_in_force();
    else {
        lay_down();
        tell_detached();
    }
    stop_children();
}

bool launcher_was_killed(void)
{
    return serving.launcher_is_gone;
}
