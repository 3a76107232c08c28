#include "learn-result.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "learn/rhythm.h"

enum {
    MARGIN_PERCENT = 10,   /* the runtime is this much more than the longest job */
    SHORTEST_PERIOD = 100, /* us */
    SHORTEST_RUNTIME = 2   /* us: the kernel refuses a shorter runtime */
};

/* Converts a period in ns to us, and rounds it down to three digits. The period is never rounded
 * up, because jobs could be late under a longer period. */
static uint64_t reserved_period(int64_t period)
{
    uint64_t step = 1;
    const uint64_t time = (uint64_t)period / 1000;
    while (time / step >= 1000)
        step *= 10;
    return time / step * step;
}

bool learned_reservation(int64_t longest, int64_t period, struct learned_reservation *reservation)
{
    const uint64_t runtime = (uint64_t)((longest + longest * MARGIN_PERCENT / 100 + 999) / 1000);
    *reservation =
        (struct learned_reservation){.runtime =
                                         runtime < SHORTEST_RUNTIME ? SHORTEST_RUNTIME : runtime,
                                     .period = reserved_period(period)};
    if (runtime < reservation->period && reservation->period >= SHORTEST_PERIOD)
        return true;
    *reservation = (struct learned_reservation){0};
    return false;
}

/* Returns how sure the period is, in percent. The period of a thread that waits for a CPU is less
 * sure, because the thread begins its jobs late. */
static unsigned confidence_of(const struct rhythm *rhythm, const struct observed *observed)
{
    const int64_t waited =
        observed->waited < observed->length ? observed->waited : observed->length;
    return observed->length <= 0 ? 0
                                 : (unsigned)((int64_t)rhythm->confidence *
                                              (observed->length - waited) / observed->length);
}

/* True if the rhythm is the thread's own. /proc shows the end of a preemption like a wake-up. So if
 * the thread slept in less than half of the periods, the rhythm is that of the scheduler. */
static bool is_own_rhythm(const struct rhythm *rhythm, const struct observed *observed)
{
    return observed->wakeups * 2 >= rhythm->count;
}

static void judge(const struct thread_watch *watch, struct learned_thread *thread)
{
    struct rhythm rhythm;
    *thread = (struct learned_thread){.watch = watch, .observed = thread_watch_observed(watch)};
    struct observed *observed = &thread->observed;
    observed->has_period =
        rhythm_find(&watch->bursts, thread_watch_shortest_period(watch), &rhythm) &&
        is_own_rhythm(&rhythm, observed) &&
        job_times_measure(&watch->bursts, &rhythm, &thread->times);
    thread->behaviour = behaviour_of(observed);
    if (observed->has_period) {
        thread->period = rhythm.period;
        thread->confidence = confidence_of(&rhythm, observed);
        (void)learned_reservation(thread->times.longest, thread->period, &thread->reserved);
    }
    rhythm_free(&rhythm);
}

bool learned_make(const struct observer *observer, struct learned *learned)
{
    learned->count = observer->count;
    learned->threads = calloc(observer->count + 1, sizeof *learned->threads);
    for (size_t i = 0; learned->threads != NULL && i < observer->count; i++)
        judge(&observer->threads[i], &learned->threads[i]);
    return learned->threads != NULL;
}

void learned_free(struct learned *learned)
{
    free(learned->threads);
    *learned = (struct learned){0};
}

/* ---- the spec ---- */

static json_t *spec_of_thread(const struct learned_thread *thread)
{
    return json_pack("{s:I, s:I, s:o, s:s}", "runtime", (json_int_t)thread->reserved.runtime,
                     "period", (json_int_t)thread->reserved.period, "attach",
                     client_thread_key(thread->watch->tid), "lifetime", "thread");
}

/* Writes the pattern of a rule for threads of this name. Patterns have only printable ASCII, so ?
 * takes the place of any other character. */
static void write_pattern(const char *name, char pattern[static LEARNED_NAME])
{
    size_t i = 0;
    for (; name[i] != '\0'; i++) {
        pattern[i] = name[i];
        if (name[i] < ' ' || name[i] > '~')
            pattern[i] = '?';
    }
    pattern[i] = '\0';
}

static json_t *rule_named(json_t *rules, const char *pattern)
{
    size_t i;
    json_t *rule;
    json_array_foreach(rules, i,
                       rule) if (strcmp(client_string(rule, "name"), pattern) == 0) return rule;
    return NULL;
}

/* Sets the key to the larger of its former value and `value` (sign 1), or to the smaller (sign
 * -1). */
static void set_time(json_t *rule, const char *key, uint64_t value, int sign)
{
    const json_t *former = json_object_get(rule, key);
    const json_int_t time = (json_int_t)value;
    if (former == NULL || (sign > 0) == (time > json_integer_value(former)))
        json_object_set_new(rule, key, json_integer(time));
}

void learned_add_rule(json_t *rules, const char *name,
                      const struct learned_reservation *reservation)
{
    char pattern[LEARNED_NAME];
    write_pattern(name, pattern);
    json_t *rule = rule_named(rules, pattern);
    if (rule == NULL) {
        rule = json_pack("{s:s}", "name", pattern);
        json_array_append_new(rules, rule);
    }
    set_time(rule, "runtime", reservation->runtime, 1);
    set_time(rule, "period", reservation->period, -1);
}

static bool is_reservable(const struct learned_thread *thread)
{
    return thread->reserved.runtime > 0 && !thread->watch->has_ended;
}

json_t *learned_spec(const struct learned *learned, pid_t process)
{
    const struct learned_thread *only = NULL;
    size_t count = 0;
    json_t *rules = json_array();
    for (size_t i = 0; i < learned->count; i++)
        if (is_reservable(&learned->threads[i])) {
            only = &learned->threads[i];
            count++;
            learned_add_rule(rules, only->watch->name, &only->reserved);
        }
    json_t *spec = count == 0 ? NULL
                   : count == 1
                       ? spec_of_thread(only)
                       : json_pack("{s:o, s:O, s:s}", "process", client_thread_key(process),
                                   "threads", rules, "lifetime", "process");
    json_decref(rules);
    return spec;
}
