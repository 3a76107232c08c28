#include "one-shot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool one_shot_words(struct paragraph_input *input, struct paragraph *words, char **argv, int argc)
{
    const char *why = "a word with a line break";
    for (int i = 0; i < argc; i++)
        if (!paragraph_feed(input, argv[i], strlen(argv[i])) || !paragraph_feed(input, "\n", 1))
            return false;
    if (paragraph_feed(input, "\n", 1) && paragraph_take(input, words, &why) == 1)
        return true;
    fprintf(stderr, "%s: KEY=VALUE expected: %s\n", program_invocation_short_name, why);
    return false;
}

bool one_shot_thread(const struct paragraph *words, struct identity *identity)
{
    uint64_t tid, start;
    const char *name = program_invocation_short_name;
    if (paragraph_get_number(words, "tid", INT32_MAX, &tid) != 1 || tid == 0) {
        fprintf(stderr, "%s: tid= is needed, a thread id in decimal\n", name);
        return false;
    }
    if (!thread_identify((pid_t)tid, identity)) {
        fprintf(stderr, "%s: thread %d: %s\n", name, (int)tid, strerror(errno));
        return false;
    }
    if (paragraph_get_number(words, "start", UINT64_MAX, &start) == 1 && start != identity->start) {
        fprintf(stderr, "%s: thread %d has ended and its id was reused\n", name, (int)tid);
        return false;
    }
    return true;
}

void one_shot_print(const struct identity *identity, const struct attributes *attributes)
{
    struct paragraph_output output = {0};
    paragraph_add_number(&output, "tid", (uint64_t)identity->tid);
    paragraph_add_number(&output, "start", identity->start);
    attributes_add(&output, "", attributes);
    paragraph_close(&output);
    fwrite(output.data, 1, output.length, stdout);
    fflush(stdout);
    paragraph_output_free(&output);
}

char *make_printable(char *text)
{
    for (char *at = text; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    return text;
}
