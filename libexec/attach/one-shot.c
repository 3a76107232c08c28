#include "one-shot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

bool one_shot_words(struct paragraph_input *input, struct paragraph *words, char **argv, int argc)
{
    const char *why = "an argument is empty, or has a line break";
    bool plain = true;
    for (int i = 0; i < argc; i++)
        plain = plain && argv[i][0] != '\0' && strchr(argv[i], '\n') == NULL;
    for (int i = 0; plain && i < argc; i++)
        if (!paragraph_feed(input, argv[i], strlen(argv[i])) || !paragraph_feed(input, "\n", 1))
            return false;
    if (plain && paragraph_feed(input, "\n", 1) && paragraph_take(input, words, &why) == 1)
        return true;
    fprintf(stderr, "%s: KEY=VALUE expected: %s\n", program_invocation_short_name, why);
    return false;
}

int one_shot_thread(const struct paragraph *words, struct identity *identity)
{
    uint64_t tid, start;
    const char *name = program_invocation_short_name;
    int stated = paragraph_get_number(words, "start", UINT64_MAX, &start);
    if (paragraph_get_number(words, "tid", INT32_MAX, &tid) != 1 || tid == 0 || stated < 0) {
        fprintf(stderr, "%s: %s\n", name,
                stated < 0 ? "start= is a number of clock ticks, as rtf-attach prints it"
                           : "tid= is needed, a thread id in decimal");
        return EX_USAGE;
    }
    if (!thread_identify((pid_t)tid, identity)) {
        fprintf(stderr, "%s: thread %d: %s\n", name, (int)tid, strerror(errno));
        return EX_NOINPUT;
    }
    if (stated == 1 && start != identity->start) {
        fprintf(stderr, "%s: thread %d has ended and its id was reused\n", name, (int)tid);
        return EX_NOINPUT;
    }
    return EX_OK;
}

bool one_shot_group(pid_t tid, const struct attributes *wanted, char group[static GROUP_BYTES])
{
    char mount[GROUP_BYTES];
    group[0] = '\0';
    return !wanted->domain || thread_group(cgroups_find("cpuset", mount), "cpuset", tid, group);
}

bool one_shot_print(const struct identity *identity, const struct attributes *attributes,
                    const char *group)
{
    struct paragraph_output output = {0};
    paragraph_add_number(&output, "tid", (uint64_t)identity->tid);
    paragraph_add_number(&output, "start", identity->start);
    attributes_add(&output, "", attributes);
    if (group[0] != '\0')
        paragraph_add(&output, "group", group);
    bool printed =
        fwrite(output.data, 1, output.length, stdout) == output.length && fflush(stdout) == 0;
    paragraph_output_free(&output);
    return printed;
}

bool one_shot_close(void)
{
    return putchar('\n') != EOF && fflush(stdout) == 0;
}

bool one_shot_wait_pending(enum apply_result done)
{
    uint64_t us = done == APPLY_PENDING ? scheduling_counted_us() : 0;
    const struct timespec pause = {.tv_sec = (time_t)(us / 1000000),
                                   .tv_nsec = (long)(us % 1000000) * 1000};
    if (us > 0)
        (void)nanosleep(&pause, NULL);
    return us > 0;
}
