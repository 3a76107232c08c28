#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl-rules.h"
#include "acl.h"
#include "spec.h"
#include "units.h"

uint64_t acl_weight(const struct spec *spec, uint64_t runtime)
{
    uint64_t window = spec_window(spec);
    return runtime == 0 || window == 0 ? ONE_CPU : utilization(runtime, window);
}

/* ---- counters ---- */

/* Frees counters without references. Users who come and go leave such counters behind. The function
 * searches only when the number of counters has doubled, so that most new counters cost no
 * search. */
static void forget_counters(struct acl *acl)
{
    enum { ROOM = 256 };
    struct counter *counter, *next;
    if (HASH_COUNT(acl->counters) < (acl->most_counters == 0 ? ROOM : acl->most_counters))
        return;
    counter = acl->counters;
    /* this frees only the table; the counters stay linked in their order */
    HASH_CLEAR(hh, acl->counters);
    for (; counter != NULL; counter = next) {
        next = counter->hh.next;
        if (counter->held != 0)
            HASH_ADD_STR(acl->counters, key, counter);
        else
            free(counter);
    }
    acl->most_counters = 2 * HASH_COUNT(acl->counters) + ROOM;
}

struct counter *acl_counter(struct acl *acl, const char *key)
{
    struct counter *counter;
    HASH_FIND_STR(acl->counters, key, counter);
    if (counter != NULL)
        return counter;
    forget_counters(acl);
    counter = calloc(1, sizeof *counter);
    if (counter == NULL)
        abort();
    snprintf(counter->key, sizeof counter->key, "%s", key);
    HASH_ADD_STR(acl->counters, key, counter);
    return counter;
}

/* ---- charges ---- */

static struct charged *part_of(const struct charge *charge, const struct counter *counter)
{
    for (int i = 0; i < charge->count; i++)
        if (charge->parts[i].counter == counter)
            return &charge->parts[i];
    return NULL;
}

uint64_t acl_charged(const struct charge *charge, const struct counter *counter)
{
    const struct charged *part = part_of(charge, counter);
    return part == NULL ? 0 : part->amount;
}

static void append_part(struct charge *charge, struct counter *counter, uint64_t amount)
{
    struct charged *parts = realloc(charge->parts, (size_t)(charge->count + 1) * sizeof *parts);
    if (parts == NULL)
        abort();
    parts[charge->count++] = (struct charged){counter, amount};
    charge->parts = parts;
    counter->held++;
}

static void drop_parts(struct charge *charge)
{
    for (int i = 0; i < charge->count; i++)
        charge->parts[i].counter->held--;
    free(charge->parts);
    *charge = (struct charge){0};
}

/* Returns the number that a reservation of the weight `amount` adds to the counter. */
static uint64_t in_unit_of(const struct counter *counter, uint64_t amount)
{
    return counter->of_threads && amount != 0 ? 1 : amount;
}

static void add_part(struct charge *charge, struct counter *counter, uint64_t amount)
{
    if (part_of(charge, counter) != NULL)
        /* two rules with the same subject (acl.h) bound the same sum, which is charged only once */
        return;
    append_part(charge, counter, in_unit_of(counter, amount));
    counter->used += in_unit_of(counter, amount);
}

void acl_charge(struct acl *acl, const struct account *account, int plugin, uint64_t amount,
                struct charge *charge)
{
    *charge = (struct charge){0};
    for (int i = 0; account->uid != 0 && i < acl->count; i++)
        if (rule_matches(&acl->rules[i], account, plugin)) {
            struct counter *counter = rule_counter(acl, &acl->rules[i], account);
            if (counter != NULL)
                add_part(charge, counter, amount);
        }
}

void acl_charge_again(struct acl *acl, const struct account *account, int plugin,
                      struct charge *charge)
{
    uint64_t amount = 0;
    struct charge again;
    /* a part has the weight of the grant, or 1 in a counter of threads, so the largest amount is
     * the weight */
    for (int i = 0; i < charge->count; i++)
        amount = charge->parts[i].amount > amount ? charge->parts[i].amount : amount;
    acl_charge(acl, account, plugin, amount, &again);
    free(charge->parts);
    *charge = again;
}

void acl_release(struct charge *charge)
{
    acl_settle(charge, 0);
    drop_parts(charge);
}

void acl_join(struct charge *into, struct charge *from)
{
    for (int i = 0; i < from->count; i++) {
        struct charged *part = part_of(into, from->parts[i].counter);
        if (part != NULL)
            part->amount += from->parts[i].amount;
        else
            append_part(into, from->parts[i].counter, from->parts[i].amount);
    }
    drop_parts(from);
}

void acl_settle(struct charge *charge, uint64_t amount)
{
    for (int i = 0; i < charge->count; i++) {
        struct charged *part = &charge->parts[i];
        const uint64_t now = in_unit_of(part->counter, amount);
        /* unsigned arithmetic wraps, so the difference may be negative */
        part->counter->used += now - part->amount;
        part->amount = now;
    }
}

void acl_settle_rest(struct charge *charge, uint64_t amount)
{
    acl_settle(charge, amount);
    for (int i = 0; i < charge->count; i++) {
        struct charged *part = &charge->parts[i];
        part->counter->used -= part->counter->of_threads ? part->amount : 0;
        part->amount = part->counter->of_threads ? 0 : part->amount;
    }
}

static uint64_t beyond(const struct charged *part, uint64_t amount)
{
    return part->amount > amount ? part->amount - amount : 0;
}

void acl_set_aside(const struct charge *charge, uint64_t amount)
{
    for (int i = 0; i < charge->count; i++)
        charge->parts[i].counter->used -= beyond(&charge->parts[i], amount);
}

void acl_bring_back(const struct charge *charge, uint64_t amount)
{
    for (int i = 0; i < charge->count; i++)
        charge->parts[i].counter->used += beyond(&charge->parts[i], amount);
}

const char *acl_subject(const struct counter *counter)
{
    return counter->key;
}

void acl_each(const struct acl *acl, void (*each)(const char *subject, uint64_t used))
{
    for (const struct counter *counter = acl->counters; counter != NULL; counter = counter->hh.next)
        if (counter->used != 0)
            each(counter->key, counter->used);
}
