/* rtf-detach(8): gives a thread back the attributes that rtf-attach(8) printed. rtf-detach reads
 * the attributes from standard input or from the words of its command line. */
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "scheduling.h"
#include "one-shot.h"
#include "options.h"
#include "paragraph.h"

static int detach_once(const struct paragraph *words)
{
    struct identity identity;
    struct attributes former;
    char reason[APPLY_REASON] = "";
    int code = one_shot_thread(words, &identity);
    if (code != EX_OK)
        return code;
    if (!attributes_get(words, "", &former)) {
        fprintf(
            stderr,
            "rtf-detach: policy= and cpus= are needed, and nice= within -20..19, as rtf-attach prints them\n");
        return EX_USAGE;
    }
    const struct placement placement = {.group = paragraph_get(words, "group")};
    enum apply_result done;
    do
        done = scheduling_restore(&(struct target){identity.tid, identity.started_by, -1}, &former,
                                  &placement, reason);
    while (one_shot_wait_pending(done));
    if (done == APPLY_DONE)
        return EX_OK;
    fprintf(stderr, "rtf-detach: %s\n", done == APPLY_GONE ? "the thread has ended" : reason);
    return done == APPLY_GONE ? EX_NOINPUT : EX_NOPERM;
}

static bool read_paragraph(struct paragraph_input *input, struct paragraph *words)
{
    const char *why = "a part of the lines that rtf-attach printed is missing";
    int taken;
    while ((taken = paragraph_take(input, words, &why)) == 0)
        if (paragraph_fill(input, STDIN_FILENO) <= 0)
            break;
    if (taken != 1)
        fprintf(stderr, "rtf-detach: standard input: %s\n", why);
    return taken == 1;
}

struct options {
    char **words;
    int count;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    (void)argument;
    if (key != ARGP_KEY_ARGS)
        return ARGP_ERR_UNKNOWN;
    options->words = state->argv + state->next;
    options->count = state->argc - state->next;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        NULL,
        parse_option,
        "[tid=TID policy=POLICY cpus=LIST KEY=VALUE...]",
        "Give a thread back the attributes that rtf-attach printed. Without arguments, rtf-detach reads these attributes from standard input.",
        NULL,
        NULL,
        NULL};
    struct options options = {0};
    static struct paragraph_input input;
    struct paragraph words;
    parse_options(&argp, argc, argv, 0, &options, EX_USAGE, EX_IOERR);
    bool got = options.count > 0 ? one_shot_words(&input, &words, options.words, options.count)
                                 : read_paragraph(&input, &words);
    return got ? detach_once(&words) : EX_USAGE;
}
