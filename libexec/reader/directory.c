#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "clock.h"
#include "entries.h"
#include "files.h"
#include "ignored.h"
#include "messages.h"
#include "watches.h"

static int directory_watch = -1;
static DIR *listing;
static bool scan_is_due;
static int64_t scan_since;
static int64_t scan_at = INT64_MAX;
static const int64_t blind_pause = INT64_C(3200000000), retry_pause = INT64_C(1000000000); /* ns */

enum { TURN_NAMES = 256, ODD_NAMES = 10 };
static int64_t odd_window;
static int odd_count;

static void watch_directory(void)
{
    directory_watch = watch_add(".", IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
                                         IN_DELETE | IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK);
    scan_at = directory_watch < 0 ? monotonic_now() + blind_pause : INT64_MAX;
}

void directory_begin(int given)
{
    watches_use(given);
    watch_directory();
}

/* Reports a file with an invalid name to the log, but only a few in a given time. */
static void tell_odd(const char *file)
{
    char shown[80];
    int64_t now = monotonic_now();
    if (now - odd_window > INT64_C(10000000000) || odd_window == 0) {
        odd_window = now;
        odd_count = 0;
    }
    if (odd_count++ >= ODD_NAMES)
        return;
    snprintf(shown, sizeof shown, "%.76s", file);
    paragraph_add(messages_begin("odd"), "name", paragraph_clean(shown));
    messages_end();
    ignored_add(shown);
}

/* ---- events ---- */

static void take_event(const struct inotify_event *event)
{
    char name[256];
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        (void)messages_begin("overflow");
        messages_end();
        directory_scan(0);
        return;
    }
    if (event->wd != directory_watch) {
        /* If no known file has this watch, an earlier reader has set the watch, so all files are
         * scanned. */
        if ((event->mask & IN_IGNORED) == 0 && !entry_hint_watch(event->wd))
            directory_scan(0);
        return;
    }
    if (event->len == 0 || is_silent(event->name))
        return;
    /* A removal is a HINT_MADE, too: open(2) makes a file before the kernel sends IN_CREATE, so a
     * new file that is not written yet may be there already. */
    const enum hint hint =
        (event->mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM)) != 0 ? HINT_MADE : HINT_CHANGED;
    if (name_without(event->name, ".json", name) || name_without(event->name, ".tid", name))
        entry_hint(name, hint);
    else if ((event->mask & (IN_CREATE | IN_MOVED_TO)) != 0)
        tell_odd(event->name);
}

void directory_take_events(void)
{
    static char bytes[65536] __attribute__((aligned(__alignof__(struct inotify_event))));
    const ssize_t got = read(watches_descriptor(), bytes, sizeof bytes);
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const void *)(bytes + at);
        at += (ssize_t)(sizeof *event + event->len);
        take_event(event);
    }
}

/* ---- scans ---- */

static void tell_seen(const char *name, const char *file, bool verdict)
{
    struct stamp stamp;
    if (!verdict && !file_stamp(name, file, &stamp))
        return; /* the file was removed meanwhile, and the removal causes an event */
    struct paragraph_output *output = messages_begin("seen");
    paragraph_add(output, "name", name);
    if (verdict) {
        const int64_t decided = verdict_decided(name);
        paragraph_add_number(output, "verdict", decided < 0 ? 0 : (uint64_t)decided);
    } else
        stamp_add(output, strcmp(file, ".json") == 0 ? "json" : "tid", &stamp);
    messages_end();
}

static void tell_name(const char *file)
{
    char name[256];
    if (name_without(file, ".json", name))
        tell_seen(name, ".json", false);
    else if (name_without(file, ".tid", name))
        tell_seen(name, ".tid", false);
    else if (name_without(file, ".verdict", name))
        tell_seen(name, ".verdict", true);
    else if (!is_silent(file))
        tell_odd(file);
}

void directory_scan(int64_t since)
{
    scan_is_due = true;
    if (since != 0)
        scan_since = since;
}

bool directory_scans(void)
{
    return scan_is_due || listing != NULL;
}

static void tell_both(const char *name)
{
    tell_seen(name, ".json", false);
    tell_seen(name, ".tid", false);
}

static void end_scan(bool whole)
{
    entries_join_scan(tell_both);
    if (listing != NULL)
        (void)closedir(listing);
    listing = NULL;
    if (whole) {
        (void)messages_begin("scanned");
        messages_end();
    } else
        scan_at = monotonic_now() + retry_pause;
}

void directory_scan_some(void)
{
    if (listing == NULL) {
        scan_is_due = false;
        ignored_begin();
        paragraph_add_number(messages_begin("scanning"), "since", (uint64_t)scan_since);
        messages_end();
        listing = opendir(".");
        if (listing == NULL) {
            end_scan(false);
            return;
        }
    }
    for (int names = 0; names < TURN_NAMES; names++) {
        errno = 0;
        const struct dirent *entry = readdir(listing);
        if (entry == NULL) {
            end_scan(errno == 0);
            return;
        }
        tell_name(entry->d_name);
    }
}

int64_t directory_deadline(void)
{
    return scan_at;
}

void directory_expire(int64_t now)
{
    if (now < scan_at)
        return;
    watch_directory();
    directory_scan(0);
}
