#include "owed-verdicts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "clock.h"
#include "files.h"
#include "messages.h"

struct owed {
    TAILQ_ENTRY(owed) next;
    struct owed **place;
    const char *name;
    int64_t try_at, pause, decided;
    size_t length;
    char text[];
};

/* ns, between two attempts to write a verdict: doubles after each attempt */
static const int64_t first_pause = INT64_C(1000000000), longest_pause = INT64_C(16000000000);

static TAILQ_HEAD(, owed) owed_verdicts = TAILQ_HEAD_INITIALIZER(owed_verdicts);

void owed_forget(struct owed **place)
{
    struct owed *owed = *place;
    if (owed == NULL)
        return;
    TAILQ_REMOVE(&owed_verdicts, owed, next);
    free(owed);
    *place = NULL;
}

void owed_add(struct owed **place, const char *name, const struct verdict *verdict, int error)
{
    struct owed *owed = malloc(sizeof *owed + verdict->length);
    if (owed == NULL)
        abort();
    *owed = (struct owed){.place = place,
                          .name = name,
                          .try_at = monotonic_now() + first_pause,
                          .pause = first_pause,
                          .decided = verdict->decided,
                          .length = verdict->length};
    memcpy(owed->text, verdict->text, verdict->length);
    *place = owed;
    TAILQ_INSERT_TAIL(&owed_verdicts, owed, next);
    struct paragraph_output *output = messages_begin("unwritten");
    paragraph_add(output, "name", name);
    paragraph_add(output, "request", verdict->request);
    paragraph_add(output, "reason", strerror(error));
    messages_end();
}

static void try_again(struct owed *owed, int64_t now)
{
    if (verdict_put(owed->name, owed->text, owed->length, owed->decided) == 0) {
        file_touch(owed->name);
        owed_forget(owed->place);
        return;
    }
    owed->pause = owed->pause * 2 < longest_pause ? owed->pause * 2 : longest_pause;
    owed->try_at = now + owed->pause;
}

void owed_try(int64_t now)
{
    struct owed *owed, *next;
    for (owed = TAILQ_FIRST(&owed_verdicts); owed != NULL; owed = next) {
        next = TAILQ_NEXT(owed, next);
        if (owed->try_at <= now)
            try_again(owed, now);
    }
}

int64_t owed_deadline(void)
{
    const struct owed *owed;
    int64_t earliest = INT64_MAX;
    TAILQ_FOREACH (owed, &owed_verdicts, next)
        if (owed->try_at < earliest)
            earliest = owed->try_at;
    return earliest;
}

bool owed_any(void)
{
    return !TAILQ_EMPTY(&owed_verdicts);
}
