#include "starting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "acl.h"
#include "attach.h"
#include "directories.h"
#include "event.h"
#include "fatal.h"
#include "given-extras.h"
#include "guard.h"
#include "placement.h"
#include "allocators.h"
#include "log-writer.h"
#include "names.h"
#include "dispatch.h"
#include "owner.h"
#include "pipeline.h"
#include "place.h"
#include "plugins.h"
#include "privileges.h"
#include "process.h"
#include "programs-helper.h"
#include "readers.h"
#include "recover.h"
#include "register.h"
#include "revoking.h"
#include "scans.h"
#include "serving.h"
#include "shares.h"
#include "spool.h"
#include "spool-permissions.h"
#include "journal.h"
#include "status-file.h"
#include "supervise.h"
#include "task-watches.h"
#include "thread-events.h"
#include "trace-door.h"
#include "traces.h"
#include "units.h"
#include "systemd-watchdog.h"

static const struct reader_events reader_events = {
    .files = dispatch_files,
    .news = dispatch_changed,
    .odd = dispatch_odd,
    .overflow = dispatch_overflow,
    .unwritten = dispatch_unwritten,
    .lost = dispatch_reader_lost,
    .dispose = directories_dispose,
    .watch = task_watch_begin,
    .unwatch = task_watch_end,
    .scanning = scan_begin,
    .seen_file = scan_file,
    .seen_verdict = scan_verdict,
    .scanned = scan_end,
};

static void account_known(struct account *account)
{
    directories_of(account);
    pipeline_account_known(account);
    trace_door_account_known(account);
}

static void log_program(const char *plugin, const char *decision, const char *sentence)
{
    event_write(&(struct event){.stage = plugin == NULL ? "broker" : "plugin",
                                .decision = decision,
                                .reason = sentence,
                                .plugin = plugin,
                                .microseconds = -1});
}

/* Tells the I/O priority helper which threads an earlier broker has raised. If the journal cannot
 * be read, the start fails later, in take_up_where_it_was. */
static void know_raised(void)
{
    char reason[REASON_BYTES];
    struct recorded_state state;
    if (!allocators_raised_any() || !journal_read(&state, reason))
        return;
    recover_know_raised(&state);
    journal_free(&state);
}

/* Enters the broker into the register of running brokers. This comes before the launcher is forked,
 * because the launcher removes the entry at the end. */
static void enter_register(const char *config)
{
    if (!register_enter(spool.root, spool.lasting, spool.state, config))
        event_broker(
            "warning",
            "root's tools may not find this broker: it has no entry in %s or in state/: %s",
            REGISTER, strerror(errno));
}

static void guard_is_new(void)
{
    thread_events_guard();
    attach_watch_again();
}

static void attach_helper_is_new(void)
{
    extras_say_again();
    attach_watch_again();
}

static void prepare_children(const struct options *options)
{
    static const struct guard_listener of_guard = {.news = thread_events_guarded,
                                                   .is_new = guard_is_new,
                                                   .miscount = attach_repair};
    struct identity_to_run_as plugin_user = find_plugin_user(options->plugin_user);
    supervise_log_to(log_program);
    if (!dispatch_prepare())
        die_errno(EX_OSERR, "timerfd");
    attach_prepare(program_path("rtf-attach"), dispatch_helper_event, attach_helper_is_new);
    know_raised();
    allocators_prepare(program_path, dispatch_allocator_event, shares_say_again);
    guard_prepare(program_path("rtf-guard"), &of_guard);
    names_prepare(program_path("rtf-names"), plugin_user, account_known);
    check_programs(plugin_user);
    plugins_prepare(plugin_user, dispatch_plugin_event);
    directories_prepare(program_path("rtf-adopter"));
    readers_prepare(program_path("rtf-reader"), find_reader_user(options), &reader_events);
    task_watches_prepare(program_path("rtf-tasks"), find_reader_user(options));
    traces_prepare(program_path("rtf-watch"));
    log_writer_prepare(program_path("rtf-logger"));
    status_prepare(program_path("rtf-publisher"), spool.group, options->config);
    programs_helper_prepare(program_path("rtf-programs"), options->config, options->spool);
    enter_register(options->config);
    if (!fork_launcher(!options->foreground))
        die_errno(EX_OSERR, "fork");
    if (!log_writer_start(spool.log))
        die_errno(EX_OSERR, program_path("rtf-logger"));
}

static bool owners_are_known(void)
{
    return directories_are_known() && names_are_settled(false);
}

static bool strangers_are_known(void)
{
    return directories_are_known() && names_are_settled(true);
}

/* Asks for the accounts of users with reservations before all other accounts. There may be any
 * number of other directories, because a user may have any number of uids, and each of them may
 * have a directory. */
static void ask_for_owners(const struct recorded_state *state)
{
    uint64_t uid;
    for (int i = 0; i < state->count; i++)
        if (parse_number(state->reservations[i].user, UINT32_MAX, &uid))
            (void)account_ready(account_find((uid_t)uid));
}

static bool take_up_where_it_was(char *reason)
{
    struct recorded_state state;
    if (!journal_read(&state, reason))
        return false;
    directories_hold(true);
    ask_for_owners(&state);
    if (!directories_start()) {
        snprintf(reason, REASON_BYTES, "rtf-adopter: %s", strerror(errno));
        return false;
    }
    turn_until(owners_are_known, INT64_C(12000000000));
    turn_until(strangers_are_known, INT64_C(1000000000));
    const bool good = recover(&state, reason);
    journal_free(&state);
    if (!good)
        return false;
    scans_gather();
    directories_hold(false);
    turn_until(directories_are_scanned, INT64_C(5000000000));
    scans_gathered();
    return true;
}

/* Starts the writer of status.json, and waits for the first text for a bounded time, so that
 * status.json exists when the broker serves. */
static bool tell_status(char *reason)
{
    if (!status_start()) {
        snprintf(reason, REASON_BYTES, "rtf-publisher: %s", strerror(errno));
        return false;
    }
    turn_until(status_is_settled, INT64_C(1000000000));
    return true;
}

void broker_start(const struct options *options, int lock)
{
    char reason[REASON_BYTES];
    event_echo(options->foreground);
    owner_drain(spool_is_draining());
    allow_descriptors();
    outrank_grants();
    placement_choose();
    lock_memory();
    prepare_children(options);
    if (!spool_make_alive(reason))
        die(EX_OSERR, reason);
    if (!revoking_open(reason) || !trace_door_open(reason))
        die(EX_OSERR, reason);
    spool_permissions_watch();
    watchdog_open();
    privileges_drop(options->spool, options->config);
    if (!attach_start(lock) || !guard_start() || !names_start())
        die_errno(EX_OSERR, "cannot start the broker's helper processes");
    if (!start_plugins(reason)) {
        stop_children();
        die(EX_CONFIG, reason);
    }
    if (!task_watches_start())
        die_errno(EX_OSERR, "cannot start rtf-tasks");
    allocators_start();
    if (!take_up_where_it_was(reason) || !tell_status(reason) || !spool_announce(reason)) {
        stop_children();
        die(EX_OSERR, reason);
    }
    if (!revoking_start() || !trace_door_start())
        die_errno(EX_OSERR, "epoll");
    privileges_to_serve();
    acl_names(rules, names_warn_unknown);
    programs_helper_give(spool.lasting);
    if (place_doubt() != NULL)
        event_broker("warning", "%s", place_doubt());
    fatal_logged(false);
    event_broker("started", "spool %.300s, plugins: %d", options->spool, plugins_count());
}
