#include "why-print.h"

#include <jansson.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "clock.h"

enum { SMALL_PART = 100, CLOCK_TEXT = 32, NAME_TEXT = 512, CALL_TEXT = 64 };

/* The text leaves out a cause with less time than this, ns. */
static const int64_t small_time = 50000;

/* The word of each cause in the output of --json, and its word in the summary. */
static const struct {
    const char *word, *text;
} causes[CAUSES] = {[CAUSE_OVERRUN] = {"overrun", "own overrun"},
                    [CAUSE_THROTTLED] = {"throttled", "throttled"},
                    [CAUSE_LOCK] = {"lock", "lock"},
                    [CAUSE_INTERRUPT] = {"interrupt", "interrupts"},
                    [CAUSE_FAULT] = {"page_fault", "page faults"},
                    [CAUSE_CALL] = {"call", "system call"},
                    [CAUSE_OTHERS] = {"others", "other reservations"},
                    [CAUSE_LOWER] = {"lower", "ordinary threads"},
                    [CAUSE_ORDINARY] = {"ordinary", "was ordinary"},
                    [CAUSE_HOST] = {"host", "host"},
                    [CAUSE_STOPPED] = {"stopped", "stopped"},
                    [CAUSE_SLEPT] = {"slept", "slept"},
                    [CAUSE_NOT_KNOWN] = {"not_known", "not known"}};

/* ---- words and times ---- */

/* Writes a time of CLOCK_MONOTONIC as the time of day: 12:00:01.234. */
static const char *clock_text(int64_t time, char text[static CLOCK_TEXT])
{
    const int64_t real = time + realtime_now() - monotonic_now();
    const time_t seconds = (time_t)(real / 1000000000);
    struct tm day;
    char whole[CLOCK_TEXT / 2] = "";
    if (localtime_r(&seconds, &day) != NULL)
        (void)strftime(whole, sizeof whole, "%H:%M:%S", &day);
    snprintf(text, CLOCK_TEXT, "%s.%03d", whole, (int)(real / 1000000 % 1000));
    return text;
}

/* Prints a time in ns as ms with one decimal, rounded to the nearest. */
static void print_ms(int64_t time)
{
    const long long tenths = (long long)((time + 50000) / 100000);
    printf("%lld.%lld ms", tenths / 10, tenths % 10);
}

static const char *call_name(uint16_t call, char text[static CALL_TEXT])
{
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
    if (name != NULL)
        snprintf(text, CALL_TEXT, "%s", name);
    else
        snprintf(text, CALL_TEXT, "system call %u", (unsigned)call);
    free(name);
    return text;
}

/* Writes the name of a thread. The records name a thread only if it belongs to this user. */
static const char *thread_name(const struct why_thread *why, pid_t tid, char text[static NAME_TEXT])
{
    char name[RECORDING_NAME];
    recording_name(why->recording, tid, name);
    return client_printable(name, text, NAME_TEXT);
}

/* ---- text ---- */

static void print_lock(const struct why_thread *why, int64_t time, const struct stretch *longest)
{
    char name[NAME_TEXT];
    printf("waited ");
    print_ms(time);
    if (longest->holder != 0)
        printf(" for a lock of thread %s (%d)", thread_name(why, longest->holder, name),
               (int)longest->holder);
    else
        printf(" for a lock of another");
}

static void print_others(int64_t time, unsigned others)
{
    printf("waited ");
    print_ms(time);
    printf(" while %u other%s of the same or a higher rank had the CPU", others,
           others == 1 ? "" : "s");
}

static void print_throttled(int64_t time, const struct stretch *longest)
{
    char text[CLOCK_TEXT];
    printf("throttled ");
    print_ms(time);
    if (longest->until != 0)
        printf(" until %s", clock_text(longest->until, text));
}

static void print_phrase(const char *before, int64_t time, const char *after)
{
    fputs(before, stdout);
    print_ms(time);
    fputs(after, stdout);
}

static void print_overrun(const struct why_thread *why, const struct explained_job *late)
{
    print_phrase("ran ", late->ran, " of ");
    print_ms(why->thread->runtime);
    printf(" (own overrun)");
}

static void print_cause(const struct why_thread *why, const struct explained_job *late,
                        enum cause cause)
{
    const int64_t time = late->times[cause];
    const struct stretch *longest = &late->longest[cause];
    char name[CALL_TEXT];
    switch (cause) {
    case CAUSE_OVERRUN: print_overrun(why, late); break;
    case CAUSE_THROTTLED: print_throttled(time, longest); break;
    case CAUSE_LOCK: print_lock(why, time, longest); break;
    case CAUSE_INTERRUPT: print_phrase("interrupts took ", time, ""); break;
    case CAUSE_FAULT: print_phrase("page faults took ", time, ""); break;
    case CAUSE_CALL:
        print_phrase("blocked ", time, " in ");
        fputs(call_name(longest->call, name), stdout);
        break;
    case CAUSE_OTHERS: print_others(time, longest->others); break;
    case CAUSE_LOWER:
        print_phrase("waited ", time, " while the kernel served ordinary threads");
        break;
    case CAUSE_ORDINARY: print_phrase("waited ", time, " as an ordinary thread"); break;
    case CAUSE_HOST: print_phrase("the host took the CPU for ", time, ""); break;
    case CAUSE_STOPPED: print_phrase("was stopped for ", time, ""); break;
    case CAUSE_SLEPT: print_phrase("slept ", time, ""); break;
    case CAUSE_NOT_KNOWN:
        print_phrase("the cause is not known: events of ", time, " are lost");
        break;
    case CAUSES: break;
    }
}

static void print_causes(const struct why_thread *why, const struct explained_job *late)
{
    const int64_t length = late->job.end - late->job.release;
    print_cause(why, late, late->order[0]);
    for (int i = 1; i < CAUSES; i++) {
        const int64_t time = late->times[late->order[i]];
        if (time < small_time || time < length / SMALL_PART || late->order[i] == CAUSE_NOT_KNOWN)
            continue;
        printf(", ");
        print_cause(why, late, late->order[i]);
    }
    if (late->times[CAUSE_OVERRUN] == 0) {
        printf("; ran ");
        print_ms(late->ran);
    }
}

static void print_reservation(const struct why_thread *why)
{
    char text[NAME_TEXT], printable[2 * NAME_TEXT];
    snprintf(text, sizeof text, "%s/%s", why->label->user, why->label->name);
    fputs(client_printable(text, printable, sizeof printable), stdout);
}

void why_print_job(const struct why_thread *why, const struct explained_job *late)
{
    char text[CLOCK_TEXT];
    printf("%s ", clock_text(late->job.end, text));
    print_reservation(why);
    if (why->never_pauses) {
        printf(" did not wait for a next job in ");
        print_ms(late->job.end - late->job.release);
        printf(": ");
    } else {
        printf(" job %u %s ", (unsigned)late->number, late->job.goes_on ? "is" : "was");
        print_ms(late->job.end - late->job.release - late->job.deadline);
        printf(" late%s: ", late->job.goes_on ? " so far" : "");
    }
    print_causes(why, late);
    printf("\n");
}

void why_print_summary(const struct why_thread *why)
{
    size_t of[CAUSES] = {0};
    const char *separator = ": ";
    for (size_t i = 0; i < why->late_count; i++)
        of[why->late[i].order[0]]++;
    print_reservation(why);
    if (why->job_count == 0) {
        printf(": no job began\n");
        return;
    }
    printf(": %zu job%s, %zu late", why->job_count, why->job_count == 1 ? "" : "s",
           why->late_count);
    for (enum cause cause = 0; cause < CAUSES; cause++)
        if (of[cause] > 0) {
            printf("%s%s %zu", separator, causes[cause].text, of[cause]);
            separator = ", ";
        }
    printf("\n");
}

/* ---- JSON ---- */

static void set(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    char printable[2 * NAME_TEXT];
    set(object, key, json_string(client_printable(text, printable, sizeof printable)));
}

static void set_details(json_t *object, const struct why_thread *why,
                        const struct explained_job *late)
{
    char text[NAME_TEXT];
    const struct stretch *lock = &late->longest[CAUSE_LOCK];
    if (late->times[CAUSE_LOCK] > 0 && lock->holder != 0) {
        json_t *holder = json_object();
        set(holder, "tid", json_integer(lock->holder));
        set_text(holder, "name", thread_name(why, lock->holder, text));
        set(object, "holder", holder);
    } else if (late->times[CAUSE_LOCK] > 0)
        set_text(object, "holder", "another");
    if (late->times[CAUSE_CALL] > 0)
        set_text(object, "call", call_name(late->longest[CAUSE_CALL].call, text));
    if (late->longest[CAUSE_THROTTLED].until != 0)
        set(object, "until", json_integer(late->longest[CAUSE_THROTTLED].until));
    if (late->times[CAUSE_OTHERS] > 0)
        set(object, "others", json_integer(late->longest[CAUSE_OTHERS].others));
}

static json_t *causes_of(const struct explained_job *late)
{
    json_t *object = json_object();
    for (int i = 0; i < CAUSES; i++)
        if (late->times[late->order[i]] > 0)
            set(object, causes[late->order[i]].word, json_integer(late->times[late->order[i]]));
    return object;
}

void why_print_json(const struct why_thread *why, const struct explained_job *late)
{
    json_t *object = json_object();
    set_text(object, "user", why->label->user);
    set_text(object, "reservation", why->label->name);
    set(object, "tid", json_integer(why->thread->tid));
    set(object, "job", json_integer(why->never_pauses ? 0 : late->number));
    set(object, "release", json_integer(late->job.release));
    set(object, "end", json_integer(late->job.end));
    set(object, "deadline", json_integer(late->job.release + late->job.deadline));
    set(object, "late", json_integer(late->job.end - late->job.release - late->job.deadline));
    set(object, "goes_on", json_boolean(late->job.goes_on));
    set(object, "ran", json_integer(late->ran));
    set(object, "runtime", json_integer(why->thread->runtime));
    set(object, "cause", json_string(causes[late->order[0]].word));
    set(object, "causes", causes_of(late));
    set_details(object, why, late);
    char *text = json_dumps(object, JSON_COMPACT);
    if (text != NULL)
        puts(text);
    free(text);
    json_decref(object);
}
