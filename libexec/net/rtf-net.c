/* rtf-net - the network helper: gives reservations their share of an interface. rtf-net shapes what
 * the interface sends (shaping.h) and marks the sockets of attached threads (marking.h). No other
 * program of rtf has the privileges for that.
 * - rtf-net --serve INTERFACE=CAPACITY... : serves the broker on standard input, see helper-loop.h;
 *   CAPACITY in bytes per second
 * - rtf-net --check INTERFACE... : prints the interfaces that cannot be shaped, and changes nothing
 * - rtf-net --remove INTERFACE... : restores the kernel's default qdisc
 *
 * Requests:
 * - op=check id interface : says whether rtf-net shapes the interface, and if not, why
 * - op=class id interface class rate : makes or changes a class (shaping_class); class= from 16
 *   to 65520, rate= in bytes per second
 * - op=drop id interface class : removes the class
 * - op=settle id interface : removes all classes that no request has named since rtf-net started
 * - op=bind id class tid started_by owner : marks the thread's sockets (marking_bind)
 * - op=unbind id class tid started_by : removes the marks (marking_unbind)
 * - op=end id interface : restores the kernel's default qdisc
 *
 * Every request may be repeated. When the broker ends without op=end, the shaping stays, and new
 * sockets are no longer marked. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "confine.h"
#include "lock-memory.h"
#include "marking.h"
#include "capabilities.h"
#include "usage.h"
#include "helper-loop.h"
#include "shaping.h"
#include "tickets.h"
#include "units.h"

enum { INTERFACES_MOST = 64 };

static struct wire {
    const char *name;
    uint64_t capacity;
    /* the reason why rtf-net does not shape the interface; "": rtf-net shapes it */
    char reason[SERVE_REASON];
    bool said[CLASS_MOST + 1];
} * wires[INTERFACES_MOST];
static int wire_count;
/* the reason why rtf-net can mark no socket; "": rtf-net can mark sockets */
static char no_marks[MARKING_REASON];

static struct wire *settled; /* the interface of the present op=settle, for is_said */

static bool is_said(uint16_t class)
{
    return settled->said[class];
}

static struct wire *wire_named(const struct paragraph *request)
{
    const char *name = paragraph_get(request, "interface");
    for (int i = 0; name != NULL && i < wire_count; i++)
        if (strcmp(wires[i]->name, name) == 0)
            return wires[i];
    return NULL;
}

static bool get_class(const struct paragraph *request, uint16_t *class)
{
    uint64_t number;
    const bool got =
        paragraph_get_number(request, "class", CLASS_MOST, &number) == 1 && number >= CLASS_LEAST;
    *class = got ? (uint16_t)number : 0;
    return got;
}

static enum done serve_wire(const char *op, const struct paragraph *request, char *reason)
{
    uint16_t class;
    uint64_t rate;
    struct wire *wire = wire_named(request);
    if (wire == NULL)
        return refuse(reason, "the request names an unknown interface");
    if (strcmp(op, "end") == 0)
        return shaping_end(wire->name, reason) ? DONE : REFUSED;
    const bool has_class = get_class(request, &class), drops = has_class && strcmp(op, "drop") == 0;
    /* ends the ticket even if rtf-net does not shape the interface, because another reservation
     * will get the number of the class */
    if (drops) {
        wire->said[class] = false;
        tickets_end(class);
    }
    if (wire->reason[0] != '\0' &&
        !shaping_begin(wire->name, wire->capacity, tickets_filter(), wire->reason))
        return refuse(reason, wire->reason);
    wire->reason[0] = '\0';
    if (strcmp(op, "check") == 0)
        return DONE;
    if (strcmp(op, "settle") == 0) {
        settled = wire;
        return shaping_settle(wire->name, is_said, reason) ? DONE : REFUSED;
    }
    if (drops)
        return shaping_drop(wire->name, class, reason) ? DONE : REFUSED;
    if (!has_class)
        return refuse(reason, "no class=");
    if (paragraph_get_number(request, "rate", wire->capacity, &rate) != 1 || rate == 0)
        return refuse(reason, "rate= is missing or exceeds the capacity");
    const bool is_new = !wire->said[class];
    const bool done = shaping_class(wire->name, class, is_new, rate, wire->capacity, reason);
    /* a class that was only made in part does not count as named, so the next request makes the
     * rest */
    wire->said[class] = done || !is_new;
    return done ? DONE : REFUSED;
}

static enum done serve_thread(const char *op, const struct paragraph *request, char *reason)
{
    uint16_t class;
    uint64_t tid, started_by, owner;
    if (no_marks[0] != '\0')
        return refuse(reason, no_marks);
    if (!get_class(request, &class) || paragraph_get_number(request, "tid", INT32_MAX, &tid) != 1 ||
        tid == 0 || paragraph_get_number(request, "started_by", UINT64_MAX, &started_by) != 1)
        return refuse(reason, "the request lacks class=, tid= or started_by=");
    const uint32_t mark = (uint32_t)SHAPING_MAJOR << 16 | class;
    enum marking marking;
    if (strcmp(op, "unbind") == 0)
        marking = marking_unbind((pid_t)tid, started_by, mark, reason);
    else if (paragraph_get_number(request, "owner", UINT32_MAX - 1, &owner) == 1)
        marking = marking_bind((pid_t)tid, started_by, (uid_t)owner, mark, reason);
    else
        return refuse(reason, "no owner=");
    return marking == MARKED ? DONE : marking == MARKING_GONE ? GONE : REFUSED;
}

static enum done serve_op(const char *op, const struct paragraph *request,
                          char reason[static SERVE_REASON])
{
    static const char *const of_wires[] = {"check", "class", "drop", "settle", "end"};
    for (size_t i = 0; i < sizeof of_wires / sizeof *of_wires; i++)
        if (strcmp(op, of_wires[i]) == 0) {
            const enum done done = serve_wire(op, request, reason);
            /* The request is served a second time, because the broker does not repeat a removal. */
            return done == REFUSED && shaping_is_lost() ? serve_wire(op, request, reason) : done;
        }
    return strcmp(op, "bind") == 0 || strcmp(op, "unbind") == 0 ? serve_thread(op, request, reason)
                                                                : refuse(reason, "unknown op");
}

/* Keeps only the rights to shape, to mark, and to reach other processes' sockets. Does not use
 * Landlock, because a process under Landlock may not take other processes' descriptors. */
static bool confine(void)
{
    static const int powers[] = {CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, -1};
    static const char *const calls[] = {CONFINE_HELPER,
                                        "bpf pidfd_getfd setsockopt getsockopt clone wait4 kill",
                                        "recvfrom sendto socket bind getsockname ioctl", NULL};
    return confine_for_good() && capabilities_keep(powers) && confine_calls(calls);
}

static bool take_wire(char *word)
{
    uint64_t capacity;
    char *separator = strchr(word, '=');
    if (separator == NULL || !parse_number(separator + 1, INT64_MAX, &capacity) || capacity == 0 ||
        wire_count == INTERFACES_MOST)
        return false;
    struct wire *wire = calloc(1, sizeof *wire);
    if (wire == NULL)
        abort();
    *separator = '\0';
    wire->name = word;
    wire->capacity = capacity;
    wires[wire_count++] = wire;
    return true;
}

static int start(int count, char **words)
{
    for (int i = 0; i < count; i++)
        if (!take_wire(words[i])) {
            fprintf(stderr, "rtf-net: expected INTERFACE=BYTES-PER-SECOND, not \"%s\"\n", words[i]);
            return EX_USAGE;
        }
    if (!marking_open(no_marks) && no_marks[0] == '\0')
        snprintf(no_marks, sizeof no_marks, "sockets cannot be marked");
    for (int i = 0; i < wire_count; i++)
        (void)shaping_begin(wires[i]->name, wires[i]->capacity, tickets_filter(), wires[i]->reason);
    (void)memory_lock_without_power(0);
    if (!confine()) {
        fprintf(stderr, "rtf-net: privileges cannot be dropped: %s\n", strerror(errno));
        return EX_OSERR;
    }
    return serve(serve_op);
}

/* Calls `act` for each interface. Returns EX_OK, or `failed` if one of the calls fails. */
static int with_each(char **names, bool (*act)(const char *interface, char *reason), int failed)
{
    char reason[SERVE_REASON];
    int code = EX_OK;
    for (; *names != NULL; names++)
        if (!act(*names, reason)) {
            fprintf(stderr, "rtf-net: %s\n", reason);
            code = failed;
        }
    return code;
}

int main(int argc, char **argv)
{
    int how;
    if (usage_asked(argc, argv, "rtf-net", "--check|--remove INTERFACE...", &how))
        return how;
    const char *op = argc > 2 ? argv[1] : "";
    const bool removes = strcmp(op, "--remove") == 0, checks = strcmp(op, "--check") == 0;
    if (!removes && !checks && strcmp(op, "--serve") != 0) {
        fprintf(stderr, "usage: rtf-net --check|--remove INTERFACE...\n");
        return EX_USAGE;
    }
    if (!shaping_open()) {
        fprintf(stderr, "rtf-net: a netlink socket cannot be opened: %s\n", strerror(errno));
        return EX_OSERR;
    }
    return removes  ? with_each(argv + 2, shaping_end, EX_OSERR)
           : checks ? with_each(argv + 2, shaping_look, EX_UNAVAILABLE)
                    : start(argc - 2, argv + 2);
}
