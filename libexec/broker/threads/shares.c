#include "shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "ioprio.h"
#include "memory.h"
#include "reservations.h"
#include "thread.h"
#include "timers.h"

/* A reservation's share of an interface or of a disk. */
struct share {
    bool is_there;
    int plugin; /* the line of the interface or disk */
    /* the values of the claim that the helper was told last; all 0: not known */
    uint64_t values[CLAIM_VALUES];
    uint64_t said; /* the id of the last message to the helper about the share */
};

enum { CLASS_LEAST = 0x10, CLASSES = 0xffe0 };

static void keep_again(struct timer *timer);

static struct {
    uint8_t used[CLASSES / 8];  /* the classes that are in use: a bit for each class */
    unsigned next;              /* the first class to try for the next reservation */
    struct lowering *lowerings; /* the head of a hash table, in the order of the messages */
    /* Repeats messages that a helper refused while no request waited for the answer. */
    struct timer again;
    /* ns; pause: the time until the next try; refused: when the helper refused last
     * (CLOCK_MONOTONIC) */
    int64_t pause, refused;
} shares = {.again = {.due = keep_again}};

static const struct holding *held(const struct grant *grant, enum kept kept)
{
    const struct holding *holding = grant == NULL ? NULL : grant->holdings;
    while (holding != NULL && kept_by(plugin_line(holding->plugin)) != kept)
        holding = holding->next;
    return holding;
}

static enum kept first_in(const struct grant *grant)
{
    enum kept kept = 0;
    while (kept < KEPT && held(grant, kept) == NULL)
        kept++;
    return kept;
}

bool shares_take_thread(const struct grant *grant)
{
    return first_in(grant) < KEPT || grant->background != 0;
}

int shares_plugin(const struct grant *grant)
{
    const enum kept kept = first_in(grant);
    return kept == KEPT ? -1 : held(grant, kept)->plugin;
}

/* ---- the class of a reservation, see shares.h ---- */

static bool is_free(unsigned i)
{
    return (shares.used[i / 8] & 1 << i % 8) == 0;
}

static uint16_t shares_take(unsigned i)
{
    shares.used[i / 8] |= (uint8_t)(1 << i % 8);
    return (uint16_t)(CLASS_LEAST + i);
}

/* Takes a free class. 0: all classes are taken. Takes the class that became free last only after
 * all others, because its cgroup may still have processes. */
static uint16_t take_class(void)
{
    for (unsigned tried = 0; tried < CLASSES; tried++) {
        const unsigned i = shares.next;
        shares.next = (shares.next + 1) % CLASSES;
        if (is_free(i))
            return shares_take(i);
    }
    return 0;
}

static void give_class(uint16_t class)
{
    const unsigned i = class - CLASS_LEAST;
    shares.used[i / 8] &= (uint8_t) ~(1 << i % 8);
}

void shares_take_up(struct reservation *reservation, uint16_t class)
{
    if (first_in(reservation->grant) == KEPT || class < CLASS_LEAST ||
        class - CLASS_LEAST >= CLASSES || !is_free(class - CLASS_LEAST))
        return;
    reservation->class = shares_take(class - CLASS_LEAST);
    reservation->shares = allocate(KEPT * sizeof *reservation->shares);
    for (enum kept kept = 0; kept < KEPT; kept++) {
        const struct holding *holding = held(reservation->grant, kept);
        if (holding != NULL)
            reservation->shares[kept] = (struct share){.is_there = true, .plugin = holding->plugin};
    }
}

/* ---- the shares of a grant, in its present mode ---- */

/* The share that the helper `kept` was told; NULL: this helper was told no share of the
 * reservation. */
static struct share *share_of(const struct reservation *reservation, enum kept kept)
{
    return reservation->shares == NULL || !reservation->shares[kept].is_there
               ? NULL
               : &reservation->shares[kept];
}

static bool is_due(const struct reservation *reservation, enum kept kept)
{
    const struct holding *holding = held(reservation->grant, kept);
    const struct share *share = share_of(reservation, kept);
    if (holding == NULL)
        return false;
    const struct claim claim = claim_in_mode(&holding->claim);
    return share == NULL || share->plugin != holding->plugin ||
           memcmp(share->values, claim.values, sizeof share->values) != 0;
}

static enum kept first_due(const struct reservation *reservation)
{
    enum kept kept = 0;
    while (kept < KEPT && !is_due(reservation, kept))
        kept++;
    return kept;
}

bool shares_are_due(const struct reservation *reservation)
{
    return first_due(reservation) < KEPT;
}

static uint64_t say_thread(enum kept kept, const char *op, const struct attachment *attachment)
{
    struct message *message = allocator_begin(op, NULL);
    struct paragraph_output *text = helper_text(message);
    paragraph_add_number(text, "class", attachment->reservation->class);
    paragraph_add_number(text, "tid", (uint64_t)attachment->tid);
    paragraph_add_number(text, "started_by", attachment->started_by);
    paragraph_add_number(text, "owner", attachment->reservation->user->uid);
    if (kept == KEPT_IOPRIO)
        paragraph_add_number(text, "former", (uint64_t)attachment->former_ioprio);
    return allocator_finish(kept, message);
}

/* A thread that the helper has the order to lower to its former I/O priority. Until the helper has
 * answered, the thread may still have the raised priority. So if the thread is attached again
 * meanwhile, its former priority is read from this struct. */
struct lowering {
    pid_t tid;
    uint64_t started_by, said;
    int former;
    UT_hash_handle hh;
};

static void end_lowering(struct lowering *lowering)
{
    if (lowering == NULL)
        return;
    HASH_DEL(shares.lowerings, lowering);
    free(lowering);
}

static struct lowering *lowering_of(pid_t tid)
{
    struct lowering *lowering;
    HASH_FIND_INT(shares.lowerings, &tid, lowering);
    return lowering;
}

static void begin_lowering(const struct attachment *attachment, uint64_t said)
{
    struct lowering *lowering = malloc(sizeof *lowering);
    end_lowering(lowering_of(attachment->tid));
    if (lowering == NULL)
        abort();
    *lowering = (struct lowering){.tid = attachment->tid,
                                  .started_by = attachment->started_by,
                                  .said = said,
                                  .former = attachment->former_ioprio};
    HASH_ADD_INT(shares.lowerings, tid, lowering);
}

static int former_of_raised(const struct attachment *attachment)
{
    const struct lowering *lowering = lowering_of(attachment->tid);
    const bool is_same =
        lowering != NULL && (thread_is(lowering->tid, lowering->started_by) || errno != ESRCH);
    /* 0, the kernel's default: the thread inherited the raised priority from another raised thread,
     * so its own priority is not known */
    return is_same ? lowering->former : 0;
}

static void unbind(enum kept kept, struct attachment *attachment)
{
    attachment->bound[kept] = false;
    const uint64_t said = say_thread(kept, "unbind", attachment);
    if (kept == KEPT_IOPRIO)
        begin_lowering(attachment, said);
}

static void drop(struct reservation *reservation, enum kept kept)
{
    struct share *share = share_of(reservation, kept);
    struct attachment *attachment = reservation->attachment;
    if (attachment != NULL && attachment->bound[kept])
        unbind(kept, attachment);
    struct message *message = allocator_begin("drop", plugin_line(share->plugin));
    paragraph_add_number(helper_text(message), "class", reservation->class);
    (void)allocator_finish(kept, message);
    *share = (struct share){0};
}

static uint64_t keep(struct reservation *reservation, enum kept kept)
{
    const struct holding *holding = held(reservation->grant, kept);
    if (share_of(reservation, kept) != NULL &&
        share_of(reservation, kept)->plugin != holding->plugin)
        drop(reservation, kept);
    if (reservation->shares == NULL)
        reservation->shares = allocate(KEPT * sizeof *reservation->shares);
    if (reservation->class == 0)
        reservation->class = take_class();
    struct share *share = &reservation->shares[kept];
    *share = (struct share){.is_there = true, .plugin = holding->plugin};
    const struct claim claim = claim_in_mode(&holding->claim);
    memcpy(share->values, claim.values, sizeof share->values);
    struct message *message = allocator_begin("class", plugin_line(share->plugin));
    struct paragraph_output *text = helper_text(message);
    /* 0 (no class was free): the helper refuses the message */
    paragraph_add_number(text, "class", reservation->class);
    paragraph_add_number(text, "rate", claim_amount(&claim));
    if (kept != KEPT_NETWORK) {
        paragraph_add_number(text, "block", claim.values[2]);
        paragraph_add_number(text, "share", plugin_weight(holding->plugin, &claim));
    }
    share->said = allocator_finish(kept, message);
    return share->said;
}

uint64_t shares_keep(struct reservation *reservation)
{
    return keep(reservation, first_due(reservation));
}

void shares_follow(struct reservation *reservation)
{
    bool any = false;
    for (enum kept kept = 0; kept < KEPT; kept++) {
        const bool granted = held(reservation->grant, kept) != NULL;
        any |= granted;
        if (share_of(reservation, kept) == NULL)
            continue;
        if (!granted)
            drop(reservation, kept);
        else if (is_due(reservation, kept))
            (void)keep(reservation, kept);
    }
    if (any || reservation->shares == NULL)
        return;
    if (reservation->class != 0)
        give_class(reservation->class);
    reservation->class = 0;
    free(reservation->shares);
    reservation->shares = NULL;
}

static void forget_values(struct share *share)
{
    if (share != NULL)
        memset(share->values, 0, sizeof share->values);
}

void shares_failed(struct reservation *reservation)
{
    for (enum kept kept = 0; kept < KEPT; kept++)
        forget_values(share_of(reservation, kept));
}

/* ---- refused messages for which no request waited ---- */

static void keep_again(struct timer *timer)
{
    (void)timer;
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        for (enum kept kept = 0; kept < KEPT; kept++)
            if (share_of(reservation, kept) != NULL && is_due(reservation, kept))
                (void)keep(reservation, kept);
}

static void keep_again_later(void)
{
    static const int64_t second = 1000000000, minute = 60 * second;
    const int64_t now = monotonic_now();
    if (shares.again.at != 0)
        return;
    shares.pause = shares.refused == 0 || now - shares.refused > 2 * shares.pause ? second
                   : 2 * shares.pause > minute                                    ? minute
                                               : 2 * shares.pause;
    shares.refused = now;
    timer_set(&shares.again, now + shares.pause);
}

static void refused(uint64_t id)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        for (enum kept kept = 0; kept < KEPT; kept++) {
            struct share *share = share_of(reservation, kept);
            if (share == NULL || share->said != id)
                continue;
            forget_values(share);
            keep_again_later();
        }
}

void shares_answered(uint64_t id, bool good)
{
    struct lowering *lowering = shares.lowerings;
    while (lowering != NULL && lowering->said != id)
        lowering = lowering->hh.next;
    end_lowering(lowering);
    if (!good)
        refused(id);
}

/* ---- threads ---- */

static enum kept first_unbound(const struct attachment *attachment)
{
    enum kept kept = 0;
    while (kept < KEPT &&
           (attachment->bound[kept] || held(attachment->reservation->grant, kept) == NULL))
        kept++;
    return kept;
}

/* If the thread has the priority IOPRIO_RAISED already, rtf has raised it, so IOPRIO_RAISED is not
 * its former priority. */
void shares_note_former(struct attachment *attachment)
{
    if (attachment->bound[KEPT_IOPRIO] || held(attachment->reservation->grant, KEPT_IOPRIO) == NULL)
        return;
    const int now = ioprio_of(attachment->tid);
    if (now >= 0 && now != IOPRIO_RAISED)
        attachment->former_ioprio = now;
    else if (attachment->former_ioprio < 0)
        attachment->former_ioprio = former_of_raised(attachment);
}

bool shares_bind_is_due(const struct attachment *attachment)
{
    return first_unbound(attachment) < KEPT;
}

uint64_t shares_bind(struct attachment *attachment)
{
    const enum kept kept = first_unbound(attachment);
    attachment->bound[kept] = true;
    return say_thread(kept, "bind", attachment);
}

const char *shares_in_words(const struct grant *grant)
{
    if (held(grant, KEPT_IOPRIO) == NULL)
        return "attached: the process sends, reads and writes as granted";
    return held(grant, KEPT_NETWORK) == NULL
               ? "attached: reads and writes of the thread come before the reads and writes of others, without a limit"
               : "attached: the process sends as granted; reads and writes of the thread come before the reads and writes of others, without a limit";
}

void shares_unbind(struct attachment *attachment)
{
    for (enum kept kept = 0; kept < KEPT; kept++)
        if (attachment->bound[kept])
            unbind(kept, attachment);
}

void shares_say_again(enum kept kept)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation)) {
        if (share_of(reservation, kept) != NULL && held(reservation->grant, kept) != NULL)
            (void)keep(reservation, kept);
        if (reservation->attachment != NULL && reservation->attachment->bound[kept])
            (void)say_thread(kept, "bind", reservation->attachment);
    }
    allocator_settle_again(kept);
}
