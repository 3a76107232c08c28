/* rtf-disk - the disk helper: gives reservations their share of a disk. rtf-disk sets the disks'
 * I/O scheduler (scheduler.h), and puts processes into cgroups (groups.h) or raises threads
 * (hold.h). No other program of rtf has the privileges for that.
 * - rtf-disk --serve DISK... : serves the broker on standard input, see helper-loop.h
 * - rtf-disk --check DISK... : prints the disks that cannot be managed, and changes nothing
 * - rtf-disk --remove DISK=FORMER... : restores the disks' former scheduler, see scheduler_end
 * - rtf-disk --remove-all DISK=FORMER... : also removes all groups
 * - rtf-disk --ioprio ... [--thread=TID,STARTED_BY,IOPRIO...] : does the same, but raises
 *   threads instead of using groups; --remove-all lowers these threads. Each --thread= names a
 *   thread that was raised before, with its former I/O priority.
 *
 * Requests:
 * - op=check id device : says whether rtf-disk manages the disk, and if not, why
 * - op=class id device class rate block share : makes or changes a class; class= from 16 to 65535
 * - op=drop id device class : removes the class
 * - op=settle id device : removes all classes that no request has named since rtf-disk started
 * - op=bind id class tid started_by owner [former] : gives the thread, or its process, the class;
 *   former: with --ioprio, the I/O priority of the thread before it is raised
 * - op=unbind id class tid started_by owner [former] : takes the class away again
 * - op=end id device : stops managing the disk, but keeps its scheduler (see --remove); after
 *   the last disk also removes all groups
 *
 * Every request may be repeated. When the broker ends without op=end, everything stays. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "confine.h"
#include "groups.h"
#include "hold.h"
#include "lock-memory.h"
#include "capabilities.h"
#include "register.h"
#include "usage.h"
#include "scheduler.h"
#include "helper-loop.h"
#include "units.h"

enum { DISKS_MOST = 64 };

static struct disk {
    /* the state of the disk before rtf changed it, as a word for scheduler_end */
    const char *former;
    char name[64], number[DISK_NUMBER];
    bool is_ours;
} disks[DISKS_MOST];
static int disk_count;
static const struct way *way = &by_groups;
/* the classes that the broker has named; one array serves all disks, because a class belongs to one
 * reservation, and this reservation has one disk */
static bool said[CLASS_MOST + 1];

static bool is_said(uint16_t class)
{
    return said[class];
}

static struct disk *disk_named(const struct paragraph *request)
{
    const char *name = paragraph_get(request, "device");
    for (int i = 0; name != NULL && i < disk_count; i++)
        if (strcmp(disks[i].name, name) == 0)
            return &disks[i];
    return NULL;
}

/* Begins to manage the disk, if that is not done already. A disk that was removed and plugged in
 * again has another number, and has lost its settings. So rtf-disk begins again with such a
 * disk. */
static bool begin(struct disk *disk, char *reason)
{
    char number[DISK_NUMBER];
    if (!scheduler_number(disk->name, number)) {
        snprintf(reason, SERVE_REASON, "there is no disk %s", disk->name);
        return false;
    }
    if (disk->is_ours && strcmp(number, disk->number) == 0)
        return true;
    memcpy(disk->number, number, sizeof disk->number);
    disk->is_ours = way->hold(reason) && scheduler_begin(disk->name, reason) &&
                    way->begin(disk->number, reason);
    return disk->is_ours;
}

static void end_way(const struct disk *disk)
{
    if (disk->number[0] != '\0')
        way->end(disk->number);
}

static bool end(struct disk *disk, char *reason)
{
    char ignored[DISK_NUMBER];
    disk->is_ours = false;
    if (scheduler_number(disk->name, ignored))
        end_way(disk);
    bool good = scheduler_end(disk->former, reason);
    for (int i = 0; i < disk_count; i++)
        if (disks[i].is_ours)
            return good;
    return way->dissolve(reason) && good;
}

static bool get_class(const struct paragraph *request, uint16_t *class)
{
    uint64_t number;
    const bool got =
        paragraph_get_number(request, "class", CLASS_MOST, &number) == 1 && number >= CLASS_LEAST;
    *class = got ? (uint16_t)number : 0;
    return got;
}

static enum done serve_class(const struct disk *disk, uint16_t class,
                             const struct paragraph *request, char *reason)
{
    uint64_t rate, block, share;
    if (paragraph_get_number(request, "rate", INT64_MAX / 2, &rate) != 1 ||
        paragraph_get_number(request, "block", INT64_MAX, &block) != 1 || block == 0 ||
        paragraph_get_number(request, "share", ONE_CPU, &share) != 1)
        return refuse(reason, "the request lacks rate=, block= or share=");
    said[class] = true;
    return way->add(class, disk->number, rate, block, share, reason) ? DONE : REFUSED;
}

static enum done serve_drop(uint16_t class, char *reason)
{
    said[class] = false;
    return way->drop(class, reason) ? DONE : REFUSED;
}

/* Serves a request about a disk. A removal is served even if the disk is gone. */
static enum done serve_disk(const char *op, const struct paragraph *request, char *reason)
{
    uint16_t class;
    struct disk *disk = disk_named(request);
    if (disk == NULL)
        return refuse(reason, "the request names an unknown disk");
    if (strcmp(op, "end") == 0)
        return end(disk, reason) ? DONE : REFUSED;
    if (strcmp(op, "drop") == 0)
        return get_class(request, &class) ? serve_drop(class, reason) : refuse(reason, "no class=");
    if (!begin(disk, reason))
        return REFUSED;
    if (strcmp(op, "check") == 0)
        return DONE;
    if (strcmp(op, "settle") == 0)
        return way->settle(is_said, reason) ? DONE : REFUSED;
    return get_class(request, &class) ? serve_class(disk, class, request, reason)
                                      : refuse(reason, "no class=");
}

static enum done serve_thread(const char *op, const struct paragraph *request, char *reason)
{
    uint64_t tid, started_by, owner, former;
    struct member member = {.former = -1};
    if (!get_class(request, &member.class) ||
        paragraph_get_number(request, "tid", INT32_MAX, &tid) != 1 || tid == 0 ||
        paragraph_get_number(request, "started_by", UINT64_MAX, &started_by) != 1 ||
        paragraph_get_number(request, "owner", UINT32_MAX - 1, &owner) != 1)
        return refuse(reason, "the request lacks class=, tid=, started_by= or owner=");
    member.tid = (pid_t)tid;
    member.started_by = started_by;
    member.owner = (uid_t)owner;
    if (paragraph_get_number(request, "former", INT32_MAX, &former) == 1)
        member.former = (int)former;
    return (strcmp(op, "bind") == 0 ? way->bind : way->unbind)(&member, reason);
}

static bool is_in(const char *op, const char *const ops[])
{
    while (*ops != NULL && strcmp(op, *ops) != 0)
        ops++;
    return *ops != NULL;
}

static enum done serve_once(const char *op, const struct paragraph *request, char *reason)
{
    static const char *const of_disks[] = {"check", "class", "drop", "settle", "end", NULL},
                             *const of_threads[] = {"bind", "unbind", NULL};
    return is_in(op, of_disks)     ? serve_disk(op, request, reason)
           : is_in(op, of_threads) ? serve_thread(op, request, reason)
                                   : refuse(reason, "unknown op");
}

/* Serves a request. A request that gives something back is tried once more if it fails, because the
 * broker does not send such a request again. If processes fork too fast or do not end, there is no
 * second try, because the try would only delay other requests. */
static enum done serve_op(const char *op, const struct paragraph *request,
                          char reason[static SERVE_REASON])
{
    static const char *const go[] = {"drop", "settle", "unbind", "end", NULL};
    errno = 0;
    const enum done done = serve_once(op, request, reason);
    return done == REFUSED && errno != ETIMEDOUT && errno != EINPROGRESS && is_in(op, go)
               ? serve_once(op, request, reason)
               : done;
}

static bool confine_to_calls(void)
{
    const char *const calls[] = {CONFINE_HELPER, "statx faccessat faccessat2 flock sched_getattr",
                                 way->calls, NULL};
    return confine_calls(calls);
}

static const char *confine(const char *mount)
{
    const int powers[] = {way->power, CAP_SYS_PTRACE,
                          way == &by_groups && groups_are_cpusets() ? CAP_SYS_NICE : -1, -1};
    static char queues[DISKS_MOST][96];
    struct confine_path paths[DISKS_MOST + 5] = {{"/proc", MAY_READ},
                                                 {"/sys/devices", MAY_READ},
                                                 {REGISTER, MAY_CHANGE},
                                                 {mount, MAY_CHANGE}};
    for (int i = 0; i < disk_count; i++) {
        snprintf(queues[i], sizeof queues[i], "/sys/block/%s/queue", disks[i].name);
        paths[4 + i] = (struct confine_path){queues[i], MAY_WRITE};
    }
    if (!confine_for_good() || !capabilities_keep(powers))
        return strerror(errno);
    const char *why =
        confine_proc_is_hidden() ? "/proc is mounted with hidepid" : confine_files(paths);
    if (why != NULL)
        fprintf(stderr, "rtf-disk: access to files is not restricted: %s\n", why);
    return confine_to_calls() ? NULL : strerror(errno);
}

static bool take_disk(const char *word)
{
    struct disk *disk = &disks[disk_count];
    const size_t length = strcspn(word, "=");
    if (disk_count == DISKS_MOST || length == 0 || length >= sizeof disk->name)
        return false;
    snprintf(disk->name, sizeof disk->name, "%.*s", (int)length, word);
    disk->former = word;
    (void)scheduler_number(disk->name, disk->number);
    disk_count++;
    return true;
}

static int start(const char *mount)
{
    char ignored[SERVE_REASON];
    for (int i = 0; i < disk_count; i++)
        (void)begin(&disks[i], ignored); /* a later op=check tells the reason of a failure */
    (void)memory_lock_without_power(0);
    const char *why = confine(mount);
    if (why != NULL) {
        fprintf(stderr, "rtf-disk: privileges cannot be dropped: %s\n", why);
        return EX_OSERR;
    }
    return serve(serve_op);
}

static int give_back(bool all)
{
    char reason[SERVE_REASON];
    int code = EX_OK;
    if (!way->hold(reason)) {
        fprintf(stderr, "rtf-disk: %s\n", reason);
        return EX_TEMPFAIL;
    }
    for (int i = 0; i < disk_count; i++) {
        end_way(&disks[i]);
        if (!scheduler_end(disks[i].former, reason)) {
            fprintf(stderr, "rtf-disk: %s\n", reason);
            code = EX_OSERR;
        }
    }
    if (all && !way->dissolve(reason)) {
        fprintf(stderr, "rtf-disk: %s\n", reason);
        code = EX_OSERR;
    }
    return code;
}

static int check(void)
{
    char reason[SERVE_REASON];
    int code = EX_OK;
    for (int i = 0; i < disk_count; i++)
        if (!scheduler_look(disks[i].name, reason)) {
            fprintf(stderr, "rtf-disk: %s\n", reason);
            code = EX_UNAVAILABLE;
        }
    return code;
}

/* Takes all words after the first. False: a word is neither a disk nor a thread. */
static bool take_words(char *const words[])
{
    static const char thread[] = "--thread=";
    const size_t length = sizeof thread - 1;
    for (; *words != NULL; words++)
        if (!(way == &by_priority && strncmp(*words, thread, length) == 0
                  ? hold_know(*words + length)
                  : take_disk(*words))) {
            fprintf(stderr, "rtf-disk: expected DISK=SCHEDULER, not \"%s\"\n", *words);
            return false;
        }
    return true;
}

int main(int argc, char **argv)
{
    int how;
    if (usage_asked(argc, argv, "rtf-disk",
                    "[--ioprio] --check DISK...|--remove|--remove-all DISK=SCHEDULER...", &how))
        return how;
    char mount[GROUP_BYTES] = "", reason[SERVE_REASON];
    if (argc > 1 && strcmp(argv[1], "--ioprio") == 0) {
        way = &by_priority;
        argv++;
        argc--;
    }
    const char *op = argc > 2 ? argv[1] : "";
    const bool serves = strcmp(op, "--serve") == 0, all = strcmp(op, "--remove-all") == 0,
               checks = strcmp(op, "--check") == 0;
    if (!serves && !all && !checks && strcmp(op, "--remove") != 0) {
        fprintf(
            stderr,
            "usage: rtf-disk [--ioprio] --check DISK...|--remove|--remove-all DISK=SCHEDULER...\n");
        return EX_USAGE;
    }
    if (!take_words(argv + 2))
        return EX_USAGE;
    if (way == &by_groups && !groups_open(mount, reason)) {
        fprintf(stderr, "rtf-disk: %s\n", reason);
        return EX_CONFIG;
    }
    const int code = checks ? check() : serves ? start(mount) : give_back(all);
    if (!serves && !checks)
        register_tidy(false);
    return code;
}
