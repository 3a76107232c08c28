#include "result.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTED_JOBS = 10, LISTED_PER_TENFOLD = 10 };
#define PROMISED 0.99 /* if a thread got less than this part of its grant, a sentence says so */

static json_t *seconds(double nanoseconds)
{
    return json_real(nanoseconds / 1e9);
}

/* ---- the result of a thread ---- */

static json_t *linear_json(const struct measured *measured, struct linear bound)
{
    switch (measured->outcome) {
    case OUTCOME_MEASURED:
    case OUTCOME_STARVED:
        return json_pack("{s:f, s:o}", "alpha", bound.alpha, "delta", seconds(bound.delta));
    case OUTCOME_NEVER_RAN:
    case OUTCOME_ONE_MARK:
    case OUTCOME_TOO_COARSE: break;
    }
    return json_pack("{s:f, s:n}", "alpha", 0.0, "delta");
}

static json_t *joint_json(const struct measured *measured)
{
    if (measured->supply.rate == 0)
        return json_pack("{s:f, s:n, s:n}", "alpha", 0.0, "delta_lower", "delta_upper");
    return json_pack("{s:f, s:o, s:o}", "alpha", measured->joint.alpha, "delta_lower",
                     seconds(measured->joint.delta_lower), "delta_upper",
                     seconds(measured->joint.delta_upper));
}

static json_t *hull_json(const struct points *hull, int rate)
{
    json_t *list = json_array();
    for (size_t i = 0; i < hull->count; i++)
        json_array_append_new(list, json_pack("[o, o]", seconds((double)hull->at[i].time / rate),
                                              seconds((double)hull->at[i].work)));
    return list;
}

static json_t *supply_json(const struct measured *measured)
{
    const struct supply *supply = &measured->supply;
    json_t *json =
        json_pack("{s:o, s:o, s:i, s:b}", "lower", linear_json(measured, measured->lower), "upper",
                  linear_json(measured, measured->upper), "rate", supply->rate, "exact",
                  measured->separations.dense);
    if (supply->rate > 0) {
        json_object_set_new(json_object_get(json, "lower"), "hull",
                            hull_json(&supply->lower.hull, supply->rate));
        json_object_set_new(json_object_get(json, "upper"), "hull",
                            hull_json(&supply->upper.hull, supply->rate));
    }
    return json;
}

static void set_supply(json_t *json, const struct measured *measured)
{
    json_object_set_new(json, "supply", supply_json(measured));
    json_object_set_new(json, "joint", joint_json(measured));
    json_object_set_new(json, "longest_blackout",
                        measured->supply.rate > 0 ? seconds((double)measured->blackout)
                                                  : json_null());
}

/* Returns how many jobs began on each CPU, for the CPUs of the affinity and every other CPU on
 * which a job began. */
static json_t *runmap_json(const struct member *member, const struct measured *measured)
{
    json_t *json = json_object();
    for (size_t cpu = 0; cpu < measured->cpu_count || cpu < CPU_SETSIZE; cpu++) {
        char name[24];
        uint32_t jobs = cpu < measured->cpu_count ? measured->cpus[cpu] : 0;
        bool allowed = member->has_cpus && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &member->cpus);
        if (jobs == 0 && !allowed)
            continue;
        snprintf(name, sizeof name, "%zu", cpu);
        json_object_set_new(json, name,
                            json_real(measured->sequence.seen_count == 0
                                          ? 0
                                          : (double)jobs / (double)measured->sequence.seen_count));
    }
    return json;
}

/* Returns the next number of jobs k that result.json lists after k. result.json lists all k up to
 * ten, and then ten k for each power of ten. Another file, beside result.json, has all k. */
static size_t next_listed(size_t k)
{
    size_t step = 1;
    while (step * LISTED_JOBS * LISTED_PER_TENFOLD / 10 <= k)
        step *= 10;
    return k + step;
}

static json_t *statistical_json(const struct separations *s)
{
    json_t *jobs = json_array(), *mean = json_array(), *variance = json_array();
    for (size_t i = 1; i < s->count && s->mean != NULL; i = next_listed(i)) {
        json_array_append_new(jobs, json_integer(s->jobs[i]));
        json_array_append_new(mean, seconds(s->mean[i]));
        json_array_append_new(variance, json_real(s->variance[i] / 1e18));
    }
    return json_pack("{s:o, s:o, s:o}", "k", jobs, "mean", mean, "variance", variance);
}

static const json_t *run_of(const json_t *run, const char *name)
{
    return json_object_get(json_object_get(run, "threads"), name);
}

/* Returns the runtime and period that the thread was granted: by the broker, or as parameters of
 * SCHED_DEADLINE. */
static json_t *granted_json(const struct member *member, const json_t *run)
{
    const json_t *grant = json_object_get(run_of(run, member->name), "grant");
    double runtime = json_number_value(json_object_get(grant, "accepted_runtime")) * 1000,
           period = json_number_value(json_object_get(grant, "period")) * 1000;
    if (runtime <= 0)
        runtime = json_number_value(json_object_get(grant, "runtime")) * 1000;
    if (member->reservation == NULL && member->policy == POLICY_DEADLINE) {
        runtime = (double)member->budget;
        period = (double)member->period;
    }
    if (runtime <= 0 || period <= 0)
        return json_null();
    return json_pack("{s:o, s:o, s:f}", "runtime", seconds(runtime), "period", seconds(period),
                     "share", runtime / period);
}

/* ---- sentences ---- */

static const char *span_text(double value, char text[static 32])
{
    if (value < 1e-3)
        snprintf(text, 32, "%.3gus", value * 1e6);
    else if (value < 1)
        snprintf(text, 32, "%.4gms", value * 1e3);
    else
        snprintf(text, 32, "%.4gs", value);
    return text;
}

static void got_sentence(const json_t *thread, const struct measured *measured, const char *name,
                         char text[static SENTENCE])
{
    char runtime[32], period[32], blackout[32], promised[96] = "";
    const json_t *granted = json_object_get(thread, "granted");
    span_text((double)measured->blackout / 1e9, blackout);
    if (json_is_object(granted))
        snprintf(promised, sizeof promised, "granted %s/%s; ",
                 span_text(json_number_value(json_object_get(granted, "runtime")), runtime),
                 span_text(json_number_value(json_object_get(granted, "period")), period));
    if (measured->lower.alpha > 0)
        snprintf(text, SENTENCE,
                 "%.64s: %sgot %.4f of a CPU, never without CPU time for more than %s", name,
                 promised, measured->lower.alpha, blackout);
    else
        snprintf(
            text, SENTENCE,
            "%.64s: %sno supply is guaranteed within the horizon: the thread got no CPU time for %s",
            name, promised, blackout);
}

/* True if the kernel counted at least the granted CPU time for the thread. A window that begins or
 * ends within a period may contain one runtime too many or too few. The bounds of a command are
 * only as exact as its samples. So a command counts as short of time only if it lacks more than one
 * runtime. */
static bool had_its_time(const struct member *member, const json_t *run,
                         const struct window *window, double share, double period)
{
    const double had = json_number_value(json_object_get(run, "cpu_time")),
                 time = (double)(window->end - window->start) / 1e9;
    return had >= share * PROMISED * (member->command == NULL ? time + period : time - period);
}

static void less_sentence(const json_t *granted, const struct measured *measured,
                          const struct window *window, const struct member *member,
                          const json_t *run, char text[static SENTENCE])
{
    const double share = json_number_value(json_object_get(granted, "share")),
                 period = json_number_value(json_object_get(granted, "period"));
    text[0] = '\0';
    const bool had = had_its_time(member, run, window, share, period);
    /* another sentence tells the accuracy of the bounds of a command */
    if (measured->lower.alpha >= share * PROMISED || (had && member->command != NULL))
        return;
    if (had)
        snprintf(
            text, SENTENCE,
            "%.64s: the kernel gave the granted time; in part of that time the thread did less work than at its best",
            member->name);
    else
        snprintf(text, SENTENCE, "%.64s: got %.1f %% less than granted", member->name,
                 (1 - measured->lower.alpha / share) * 100);
}

/* Returns the largest number of waits for CPU time within one job. A reservation may get its
 * runtime at the beginning of one period and at the end of the next period. A job that needs
 * several runtimes waits for each of them, and the marks only show the sum of these waits. */
static int waits_of_job(double runtime, int64_t nominal)
{
    const double jobs_runtimes = ceil((double)nominal / 1e9 / runtime - 1e-9);
    return jobs_runtimes > 1 && jobs_runtimes < 1e6 ? 1 + (int)jobs_runtimes : 2;
}

/* Adds a sentence if the longest time without CPU time is longer than the grant explains. The
 * kernel enforces the runtime only at its tick, so this time may be one tick longer. apart: the
 * time between two samples of a command, in s; 0: the thread makes marks. */
static void silence_sentence(const json_t *granted, const struct measured *measured,
                             const char *name, double tick, double apart,
                             char text[static SENTENCE])
{
    char allowed[32], ticking[32], looking[32];
    const double runtime = json_number_value(json_object_get(granted, "runtime")),
                 period = json_number_value(json_object_get(granted, "period"));
    const int waits = waits_of_job(runtime, measured->nominal);
    const double longest = waits * (period - runtime);
    text[0] = '\0';
    if (tick <= 0 || (double)measured->blackout / 1e9 <= longest + tick + apart)
        return;
    int length = snprintf(
        text, SENTENCE,
        "%.64s: the longest time without CPU time exceeds %d (P - Q) = %s and a tick of %s", name,
        waits, span_text(longest, allowed), span_text(tick, ticking));
    if (apart > 0)
        snprintf(text + length, SENTENCE - (size_t)length, ", and the %s between two samples",
                 span_text(apart, looking));
}

static void starved_sentence(const struct measured *measured, const char *name,
                             char text[static SENTENCE])
{
    char silence[32];
    const struct sequence *sequence = &measured->sequence;
    if (sequence->silent > 0)
        snprintf(text, SENTENCE, "%.64s: began no job in the last %s", name,
                 span_text((double)sequence->silent / 1e9, silence));
    else
        snprintf(text, SENTENCE, "%.64s: began no job in the first %s", name,
                 span_text((double)sequence->late / 1e9, silence));
}

static void outcome_sentence(enum outcome outcome, const char *name, char text[static SENTENCE])
{
    switch (outcome) {
    case OUTCOME_NEVER_RAN:
        snprintf(text, SENTENCE, "%.64s: never ran: it began no job", name);
        break;
    case OUTCOME_ONE_MARK:
        snprintf(text, SENTENCE, "%.64s: began one job and ended none: there is nothing to measure",
                 name);
        break;
    case OUTCOME_TOO_COARSE:
        snprintf(text, SENTENCE,
                 "%.64s: a job took no measurable time: make jobs longer, or use a finer clock",
                 name);
        break;
    case OUTCOME_MEASURED:
    case OUTCOME_STARVED: text[0] = '\0'; break;
    }
}

static void say(json_t *sentences, const char *text)
{
    if (text[0] != '\0')
        json_array_append_new(sentences, json_string(text));
}

static void say_command(json_t *sentences, const char *name, const json_t *run)
{
    char text[SENTENCE], every[32];
    const double apart = json_number_value(json_object_get(run, "looked_every"));
    const double asleep = json_number_value(json_object_get(run, "asleep"));
    const json_int_t lost = json_integer_value(json_object_get(run, "events_lost"));
    if (json_is_true(json_object_get(run, "exited"))) {
        snprintf(text, sizeof text, "%.64s: its program ended before the experiment", name);
        say(sentences, text);
    }
    if (asleep > 0.01) {
        snprintf(
            text, sizeof text,
            "%.64s: slept for %.3gs by its own decision: the result is what it used, not what it could have had",
            name, asleep);
        say(sentences, text);
    }
    if (apart > 0) {
        snprintf(
            text, sizeof text,
            "%.64s: its CPU time was sampled, at worst every %s, which limits the accuracy; root can use the scheduler's events",
            name, span_text(apart, every));
        say(sentences, text);
    }
    if (lost > 0) {
        snprintf(
            text, sizeof text,
            "%.64s: %lld of the scheduler's events were lost: the thread got more CPU time than the result says",
            name, (long long)lost);
        say(sentences, text);
    }
}

static bool sleeps(const struct member *member)
{
    for (size_t i = 0; i < member->phase_count; i++)
        if (member->phases[i].kind == PHASE_SLEEP)
            return true;
    return false;
}

/* True if the two times differ by more than a twentieth. The times are the length of a job,
 * measured in two ways. */
static bool differ(double one, double other)
{
    return one > 0 && other > 0 && (one > other * 1.05 || other > one * 1.05);
}

static void say_calibration(json_t *sentences, const struct member *member,
                            const struct measured *measured, const json_t *run)
{
    char text[SENTENCE], here[32], alone[32];
    const double calibrated = json_number_value(json_object_get(run, "calibrated_job")),
                 jobs = json_number_value(json_object_get(run, "jobs"));
    const double mean = jobs > 0 ? json_number_value(json_object_get(run, "cpu_time")) / jobs : 0;
    const double shortest =
        measured->separations.count > 1 ? (double)measured->separations.shortest[1] / 1e9 : 0;
    if (member->command != NULL || sleeps(member))
        return;
    if (differ(shortest, calibrated)) {
        snprintf(
            text, sizeof text,
            "%.64s: one job alone, before the run, took %s; the shortest job in the run took %s",
            member->name, span_text(calibrated, alone), span_text(shortest, here));
        say(sentences, text);
    }
    if (member->nominal == 0 && differ(shortest, mean)) {
        snprintf(
            text, sizeof text,
            "%.64s: jobs differ in length: the shortest took %s, their mean CPU time is %s; this lowers alpha",
            member->name, span_text(shortest, here), span_text(mean, alone));
        say(sentences, text);
    }
}

/* Adds the sentences about the CPU time that the thread got, and about its difference from the
 * grant. */
static void say_supply(json_t *sentences, const json_t *thread, const struct member *member,
                       const struct measured *measured, const struct window *window,
                       const json_t *run)
{
    char text[SENTENCE];
    const json_t *granted = json_object_get(thread, "granted");
    got_sentence(thread, measured, member->name, text);
    say(sentences, text);
    if (!json_is_object(granted))
        return;
    less_sentence(granted, measured, window, member, run_of(run, member->name), text);
    say(sentences, text);
    silence_sentence(granted, measured, member->name,
                     json_number_value(json_object_get(run, "tick")),
                     json_number_value(json_object_get(run_of(run, member->name), "looked_every")),
                     text);
    say(sentences, text);
}

static void say_thread(json_t *sentences, const json_t *thread, const struct member *member,
                       const struct measured *measured, const struct window *window,
                       const json_t *run)
{
    char text[SENTENCE];
    if (member->command != NULL)
        say_command(sentences, member->name, run_of(run, member->name));
    outcome_sentence(measured->outcome, member->name, text);
    say(sentences, text);
    if (measured->outcome == OUTCOME_STARVED) {
        starved_sentence(measured, member->name, text);
        say(sentences, text);
    }
    if (measured->supply.rate > 0)
        say_supply(sentences, thread, member, measured, window, run);
    say_calibration(sentences, member, measured, run_of(run, member->name));
    if (measured->sequence.lost > 0) {
        snprintf(text, sizeof text, "%.64s: %zu of %zu marks were lost and interpolated",
                 member->name, measured->sequence.lost, measured->sequence.count);
        say(sentences, text);
    }
    if (measured->supply.rate > 0 && !measured->separations.dense) {
        snprintf(
            text, sizeof text,
            "%.64s: too many jobs to test every window length; the bounds are on the safe side by less than 1/%d",
            member->name, SEPARATIONS_DENSE);
        say(sentences, text);
    }
}

/* ---- the whole result ---- */

static json_t *thread_json(const struct member *member, const struct measured *measured,
                           const json_t *run)
{
    const unsigned modules = member->modules;
    json_t *json =
        json_pack("{s:b, s:I, s:I, s:I}", "analysed", member->analysed, "jobs",
                  (json_int_t)measured->sequence.count, "lost", (json_int_t)measured->sequence.lost,
                  "marks", (json_int_t)measured->sequence.seen_count);
    json_object_set_new(json, "nominal",
                        measured->nominal > 0 ? seconds((double)measured->nominal) : json_null());
    json_object_set_new(json, "granted", granted_json(member, run));
    if ((modules & MODULE_SUPPLY) != 0)
        set_supply(json, measured);
    if ((modules & MODULE_RUNMAP) != 0)
        json_object_set_new(json, "runmap", runmap_json(member, measured));
    if ((modules & MODULE_MIGRATIONS) != 0) {
        size_t seen = measured->sequence.seen_count;
        json_object_set_new(json, "migrations", json_integer((json_int_t)measured->migrations));
        json_object_set_new(json, "migrations_per_job",
                            json_real(seen == 0 ? 0 : (double)measured->migrations / (double)seen));
    }
    if ((modules & MODULE_STATISTICAL) != 0)
        json_object_set_new(json, "statistical", statistical_json(&measured->separations));
    return json;
}

static json_t *global_json(const struct measurement *measurement, json_t *sentences)
{
    const struct measured *global = &measurement->global;
    char text[SENTENCE];
    if (!measurement->has_global)
        return json_null();
    json_t *json = json_pack("{s:I, s:I}", "jobs", (json_int_t)global->sequence.count, "lost",
                             (json_int_t)global->sequence.lost);
    set_supply(json, global);
    json_object_set_new(json, "nominal",
                        global->nominal > 0 ? seconds((double)global->nominal) : json_null());
    outcome_sentence(global->outcome, "all threads", text);
    if (global->supply.rate > 0)
        snprintf(text, sizeof text, "all threads: got %.4f of %d CPU%s", global->lower.alpha,
                 global->supply.rate, global->supply.rate == 1 ? "" : "s");
    say(sentences, text);
    return json;
}

json_t *result_make(const struct experiment *experiment, const struct measurement *measurement,
                    const json_t *run)
{
    json_t *threads = json_object(), *sentences = json_array();
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const struct member *member = &experiment->threads[i];
        json_t *thread = thread_json(member, &measurement->threads[i], run);
        json_object_set_new(threads, member->name, thread);
        if (member->analysed)
            say_thread(sentences, thread, member, &measurement->threads[i], &measurement->window,
                       run);
    }
    json_t *global = global_json(measurement, sentences);
    return json_pack("{s:i, s:[o, o], s:o, s:o, s:o, s:o, s:o}", "version", 1, "window",
                     seconds((double)measurement->window.start),
                     seconds((double)measurement->window.end), "horizon",
                     seconds((double)measurement->horizon), "duration",
                     seconds((double)experiment->duration), "threads", threads, "global", global,
                     "sentences", sentences);
}

/* ---- files ---- */

static bool failed(const char *name, char *why)
{
    snprintf(why, RESULT_WHY, "%.100s cannot be written: %s", name, strerror(errno));
    return false;
}

static FILE *begin_file(int directory, char *aside)
{
    int fd = openat(directory, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

static bool end_file(int directory, FILE *file, const char *aside, const char *name)
{
    bool good = fflush(file) == 0 && ferror(file) == 0;
    int error = errno;
    good = fclose(file) == 0 && good && renameat(directory, aside, directory, name) == 0;
    if (!good) {
        error = errno != 0 ? errno : error;
        (void)unlinkat(directory, aside, 0);
        errno = error;
    }
    return good;
}

/* Prints seconds with up to twelve decimals. Does not use printf(3), which takes ten times as
 * long. */
static char *put_seconds(char *end, int64_t picoseconds)
{
    enum { DECIMALS = 12 };
    char digits[32], *at = digits + sizeof digits;
    int decimals = DECIMALS;
    if (picoseconds < 0) {
        *end++ = '-';
        picoseconds = -picoseconds;
    }
    while (decimals > 0 && picoseconds % 10 == 0) {
        picoseconds /= 10;
        decimals--;
    }
    for (int i = 0; i < decimals; i++, picoseconds /= 10)
        *--at = (char)('0' + picoseconds % 10);
    if (decimals > 0)
        *--at = '.';
    do
        *--at = (char)('0' + picoseconds % 10);
    while ((picoseconds /= 10) != 0);
    size_t length = (size_t)(digits + sizeof digits - at);
    memcpy(end, at, length);
    return end + length;
}

static void write_points(FILE *file, const struct points *points, int rate)
{
    fputs("t,supply\n", file);
    for (size_t i = 0; i < points->count; i++) {
        char line[80],
            *end = put_seconds(line, (int64_t)((__int128)points->at[i].time * 1000 / rate));
        *end++ = ',';
        end = put_seconds(end, points->at[i].work * 1000);
        *end++ = '\n';
        fwrite(line, 1, (size_t)(end - line), file);
    }
}

static void write_statistics(FILE *file, const struct separations *s)
{
    fputs("k,mean,variance\n", file);
    for (size_t i = 1; i < s->count; i++) {
        char line[128];
        int length = snprintf(line, sizeof line, "%lld,", (long long)s->jobs[i]);
        char *end = put_seconds(line + length, (int64_t)(s->mean[i] * 1000 + 0.5));
        fwrite(line, 1, (size_t)(end - line), file);
        fprintf(file, ",%.9e\n", s->variance[i] / 1e18);
    }
}

static bool write_function(int directory, const char *thread, const char *which,
                           const struct points *points, int rate, char *why)
{
    char name[128], aside[136];
    snprintf(name, sizeof name, "%.64s.%s.csv", thread, which);
    snprintf(aside, sizeof aside, ".%s", name);
    FILE *file = begin_file(directory, aside);
    if (file == NULL)
        return failed(name, why);
    write_points(file, points, rate);
    return end_file(directory, file, aside, name) || failed(name, why);
}

static bool write_supply(int directory, const char *thread, const struct measured *measured,
                         char *why)
{
    struct points lower = {0}, upper = {0};
    if (measured->supply.rate == 0)
        return true;
    bool good = supply_lower_turns(&measured->supply, &lower) &&
                supply_upper_turns(&measured->supply, &upper);
    if (!good)
        snprintf(why, RESULT_WHY, "out of memory");
    good = good && write_function(directory, thread, "lower", &lower, measured->supply.rate, why) &&
           write_function(directory, thread, "upper", &upper, measured->supply.rate, why);
    points_free(&lower);
    points_free(&upper);
    return good;
}

static bool write_statistical(int directory, const char *thread,
                              const struct separations *separations, char *why)
{
    char name[128], aside[136];
    if (separations->mean == NULL)
        return true;
    snprintf(name, sizeof name, "%.64s.statistical.csv", thread);
    snprintf(aside, sizeof aside, ".%s", name);
    FILE *file = begin_file(directory, aside);
    if (file == NULL)
        return failed(name, why);
    write_statistics(file, separations);
    return end_file(directory, file, aside, name) || failed(name, why);
}

static bool write_json(int directory, const json_t *result, char *why)
{
    char aside[] = ".result.json";
    FILE *file = begin_file(directory, aside);
    if (file == NULL)
        return failed("result.json", why);
    (void)json_dumpf(result, file, JSON_INDENT(1));
    fputc('\n', file);
    return end_file(directory, file, aside, "result.json") || failed("result.json", why);
}

/* Writes result.json last, so that all other files exist if result.json exists. */
bool result_write(int directory, const struct experiment *experiment,
                  const struct measurement *measurement, const json_t *result,
                  char why[static RESULT_WHY])
{
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const char *name = experiment->threads[i].name;
        const struct measured *measured = &measurement->threads[i];
        if (!write_supply(directory, name, measured, why) ||
            !write_statistical(directory, name, &measured->separations, why))
            return false;
    }
    return (!measurement->has_global ||
            write_supply(directory, "global", &measurement->global, why)) &&
           write_json(directory, result, why);
}

/* ---- the text for people ---- */

static void print_bounds(const char *name, const json_t *json)
{
    const json_t *supply = json_object_get(json, "supply");
    printf("%-16s %8lld %6lld", name, json_integer_value(json_object_get(json, "jobs")),
           json_integer_value(json_object_get(json, "lost")));
    for (int i = 0; i < 2; i++) {
        const json_t *bound = json_object_get(supply, i == 0 ? "lower" : "upper");
        const json_t *delta = json_object_get(bound, "delta");
        if (bound == NULL || !json_is_number(delta))
            printf("  %8s %10s", bound == NULL ? "-" : "0", "-");
        else
            printf("  %8.6f %10.3f", json_number_value(json_object_get(bound, "alpha")),
                   json_number_value(delta) * 1000);
    }
    const json_t *blackout = json_object_get(json, "longest_blackout");
    if (json_is_number(blackout))
        printf(" %10.3f\n", json_number_value(blackout) * 1000);
    else
        printf(" %10s\n", "-");
}

void result_print(const json_t *result)
{
    const char *name;
    json_t *thread;
    size_t i;
    json_t *sentence;
    printf("%-16s %8s %6s  %8s %10s  %8s %10s %10s\n", "", "", "", "lower", "delta", "upper",
           "delta", "blackout");
    printf("%-16s %8s %6s  %8s %10s  %8s %10s %10s\n", "thread", "jobs", "lost", "alpha", "ms",
           "alpha", "ms", "ms");
    json_object_foreach(json_object_get(result, "threads"), name, thread)
    {
        if (json_is_true(json_object_get(thread, "analysed")))
            print_bounds(name, thread);
    }
    if (json_is_object(json_object_get(result, "global")))
        print_bounds("all", json_object_get(result, "global"));
    json_array_foreach(json_object_get(result, "sentences"), i, sentence)
        puts(json_string_value(sentence));
}
