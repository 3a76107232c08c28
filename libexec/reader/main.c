/* rtf-reader: handles one user's directory in the spool, with that user's rights over files and no
 * others.
 *
 * The broker serves all users, so it must never wait for a file or directory that a user can keep
 * locked. It has one reader started for each user with work to do. So the files of one user delay
 * no other user. A user who takes a reader over gets no rights that the user did not have.
 *
 * Standard input is a SOCK_SEQPACKET socket to the broker; each datagram has some paragraphs
 * (lib/paragraph.h). Descriptor 3 is the directory. Descriptor 4 is the inotify instance of the
 * reader before, if there was one. The broker sends
 *
 *   op=scan     since                   tell all names
 *   op=look     name [whole=1]          tell the present files of the name; whole: tell the content
 *                                       even if it was told before
 *   op=text     text                    the beginning of a verdict too long for one paragraph
 *   op=verdict  name decided request text   write NAME.verdict; answers=1: the verdict answers the
 *                                       files that were told; more=1: the verdict answers NAME.json
 *                                       alone, and NAME.tid will get another verdict
 *   op=done     name                    the files that were told get no verdict
 *   op=remove   name file [stamp]       remove NAME.file if it has this stamp (or in any case);
 *                                       released=WHY: its reservation has ended
 *   op=task     name event ...          news of rtf-tasks about the program file NAME.json
 *   op=last                             exit: the broker stops
 *   op=end                              exit if idle: later events are for the next reader
 *
 * and receives
 *
 *   event=inotify                       with a new inotify instance, to be kept for later readers
 *   event=scanning since, scanned       the beginning and end of a scan; verdicts decided before
 *                                       `since` have been written
 *   event=seen   name json|tid stamp or verdict   a file of the scan; verdict: the decision's time
 *   event=files  name + snapshot.h      the files of the name, perhaps with the open NAME.json; they
 *                                       stay open until a verdict or op=done
 *   event=news   name                   the files changed after they were told, before the answer
 *   event=overflow                      events were lost: a scan follows
 *   event=odd    name                   a file with an invalid name
 *   event=unwritten name request reason a verdict could not be written, and will be tried again
 *   event=watch  name process|program|cgroup   watch this for a program file
 *   event=unwatch name                  end that watch
 *   event=idle                          the reader has no work
 *   event=ended                         the last event: the reader exits, with no event unread */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "directory.h"
#include "entries.h"
#include "files.h"
#include "kept.h"
#include "lock-memory.h"
#include "transient.h"
#include "send-fds.h"
#include "rights.h"
#include "messages.h"
#include "programs.h"
#include "units.h"

enum { DIRECTORY_FD = 3, INOTIFY_FD = 4, VERDICT_BYTES = 65536, ARGUMENTS = 4 };
static const int64_t idle_after = INT64_C(2000000000); /* ns */
static int64_t idle_since = INT64_MAX;
static bool idle_told;

/* ---- requests of the broker ---- */

static bool is_idle(void)
{
    return entries_are_idle() && programs_are_idle() && !directory_scans() &&
           directory_deadline() == INT64_MAX;
}

static char text[VERDICT_BYTES];
static size_t text_length;

static void add_text(const char *part)
{
    const size_t length = part == NULL ? 0 : strlen(part);
    if (length >= sizeof text - text_length)
        exit(EX_PROTOCOL);
    memcpy(text + text_length, part == NULL ? "" : part, length);
    text_length += length;
}

static void take_verdict(const struct paragraph *said, const char *name)
{
    uint64_t decided = 0;
    if (paragraph_get_number(said, "decided", INT64_MAX, &decided) < 0)
        exit(EX_PROTOCOL);
    const char *request = paragraph_get(said, "request");
    add_text(paragraph_get(said, "text"));
    text[text_length++] = '\n';
    entry_verdict(name, &(struct verdict){.text = text,
                                          .length = text_length,
                                          .decided = (int64_t)decided,
                                          .request = request == NULL ? "" : request,
                                          .answers = paragraph_get(said, "answers") != NULL,
                                          .more = paragraph_get(said, "more") != NULL});
    text_length = 0;
}

/* Takes op=remove for NAME+TID, which has no files: the reservation of the thread has ended. */
static void take_remove_of_thread(const char *name, const char *file, const char *why)
{
    if (strcmp(file, "json") == 0)
        programs_end_row(name);
    else if (why != NULL) {
        kept_release(name, why);
        if (strcmp(why, "revoke") == 0)
            programs_revoked(name);
    }
}

static void take_remove(const struct paragraph *said, const char *name)
{
    struct stamp judged;
    const char *file = paragraph_get(said, "file");
    const bool any = paragraph_get(said, "judged_inode") == NULL;
    const char *ending = file == NULL                   ? NULL
                         : strcmp(file, "json") == 0    ? ".json"
                         : strcmp(file, "tid") == 0     ? ".tid"
                         : strcmp(file, "verdict") == 0 ? ".verdict"
                                                        : NULL;
    if (ending == NULL || !stamp_get(said, "judged", &judged))
        exit(EX_PROTOCOL);
    const bool is_verdict = strcmp(file, "verdict") == 0;
    if (reservation_name_of_program(name) != 0) {
        take_remove_of_thread(name, file, paragraph_get(said, "released"));
        return;
    }
    if (is_verdict && programs_have(name))
        /* a program file has this name: programs.c alone writes and removes its NAME.verdict */
        return;
    const char *why = paragraph_get(said, "released");
    const bool is_release = is_verdict && (why != NULL || verdict_decided(name) >= 0);
    if (is_verdict)
        entry_no_verdict(name);
    file_remove(name, ending, any ? NULL : &judged);
    if (is_release)
        kept_release(name, why);
}

static void take_scan(const struct paragraph *said)
{
    uint64_t since;
    if (paragraph_get_number(said, "since", INT64_MAX, &since) != 1)
        exit(EX_PROTOCOL);
    directory_scan((int64_t)since);
}

static void end(void)
{
    (void)messages_begin("ended");
    messages_end();
    messages_flush();
    exit(EX_OK);
}

static void obey(const struct paragraph *said)
{
    const char *op = paragraph_get(said, "op"), *name = paragraph_get(said, "name");
    if (op == NULL || (name != NULL && !reservation_name_is_valid(name)))
        exit(EX_PROTOCOL);
    idle_told = false;
    if (strcmp(op, "scan") == 0)
        take_scan(said);
    else if (strcmp(op, "last") == 0)
        exit(EX_OK);
    else if (strcmp(op, "text") == 0)
        add_text(paragraph_get(said, "text"));
    else if (strcmp(op, "end") == 0) {
        if (is_idle())
            end();
    } else if (name != NULL && strcmp(op, "look") == 0)
        entry_look(name, paragraph_get(said, "whole") != NULL);
    else if (name != NULL && strcmp(op, "verdict") == 0)
        take_verdict(said, name);
    else if (name != NULL && strcmp(op, "done") == 0)
        entry_done(name);
    else if (name != NULL && strcmp(op, "remove") == 0)
        take_remove(said, name);
    else if (name != NULL && strcmp(op, "task") == 0) {
        if (!programs_task(name, said))
            exit(EX_PROTOCOL);
    } else
        exit(EX_PROTOCOL);
}

/* Takes one datagram. poll has announced it, so this does not block. */
static void take_messages(void)
{
    static struct paragraph_input input;
    static char bytes[65536];
    struct paragraph said;
    const char *why;
    int taken, fd;
    const ssize_t got = receive_with_fd(STDIN_FILENO, bytes, sizeof bytes, &fd);
    if (fd >= 0)
        close(fd);
    if (got < 0 && is_transient(errno))
        return; /* the datagram is still there at the next poll */
    if (got <= 0)
        exit(EX_OK); /* the broker is gone; the next reader reads the rest */
    if (!paragraph_feed(&input, bytes, (size_t)got))
        abort();
    while ((taken = paragraph_take(&input, &said, &why)) == 1)
        obey(&said);
    if (taken < 0)
        exit(EX_PROTOCOL);
}

/* ---- the loop ---- */

static int64_t earliest(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Returns the time until the next deadline in ms, rounded up; -1: none. */
static int timeout(void)
{
    if (directory_scans())
        return 0;
    const int64_t now = monotonic_now();
    int64_t until =
        earliest(earliest(entries_deadline(), directory_deadline()), programs_deadline());
    idle_since = !is_idle() ? INT64_MAX : idle_since == INT64_MAX ? now : idle_since;
    if (idle_since != INT64_MAX && !idle_told)
        until = earliest(until, idle_since + idle_after);
    if (until == INT64_MAX)
        return -1;
    const int64_t left = (until - now + 999999) / 1000000;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void say_idle(int64_t now)
{
    if (idle_told || idle_since == INT64_MAX || !is_idle() || now - idle_since < idle_after)
        return;
    idle_told = true;
    (void)messages_begin("idle");
    messages_end();
}

static void serve(int inotify)
{
    struct pollfd both[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = inotify, .events = POLLIN}};
    for (;;) {
        const int ready = poll(both, 2, timeout());
        if (ready > 0 && both[0].revents != 0)
            take_messages();
        if (ready > 0 && both[1].revents != 0) {
            idle_since = INT64_MAX;
            idle_told = false;
            directory_take_events();
        }
        if (ready == 0) {
            const int64_t now = monotonic_now();
            entries_expire(now);
            directory_expire(now);
            say_idle(now);
        }
        if (directory_scans())
            /* the end of the scan tells the broker the names with news, too, so these names wait
             * until then */
            directory_scan_some();
        programs_take_turn(monotonic_now());
        if (!directory_scans())
            entries_take_turn();
        messages_flush();
    }
}

/* Arguments: UID OWN-UID OWN-GID: the directory's owner, and the reader's own uid and gid. */
int main(int argc, char **argv)
{
    uint64_t owner, uid, gid;
    int inotify = fcntl(INOTIFY_FD, F_GETFD) < 0 ? -1 : INOTIFY_FD;
    if (argc != ARGUMENTS || !parse_number(argv[1], UINT32_MAX - 1, &owner) ||
        !parse_number(argv[2], UINT32_MAX - 1, &uid) ||
        !parse_number(argv[3], UINT32_MAX - 1, &gid) || fcntl(DIRECTORY_FD, F_GETFD) < 0) {
        fprintf(
            stderr,
            "usage: rtf-reader UID OWN-UID OWN-GID, with a socket as descriptor 0 and a directory as 3; started by rtf-brokerd(8)\n");
        return EX_USAGE;
    }
    signal(SIGIO, SIG_IGN); /* the kernel signals the holder of a read lease when a writer comes */
    signal(SIGPIPE, SIG_IGN);
    umask(0077);
    (void)memory_lock_without_power(MCL_ONFAULT);
    const bool fresh = inotify < 0;
    if (fresh)
        inotify = rights_inotify((uid_t)owner);
    if (!rights_become((uid_t)owner, (uid_t)uid, (gid_t)gid, DIRECTORY_FD)) {
        fprintf(stderr, "rtf-reader: privileges cannot be dropped: %s\n", strerror(errno));
        return EX_OSERR;
    }
    files_begin((uid_t)owner);
    entries_begin();
    directory_begin(inotify);
    if (fresh && inotify >= 0) {
        (void)messages_begin("inotify");
        messages_end_with(inotify);
    }
    serve(inotify);
    return EX_OK;
}
