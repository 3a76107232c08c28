/* What the attach helper answers, should it have been taken over; and, by the first byte, what it is asked: for it reads
 * paragraphs, too. */
#include "../../libexec/broker/helper/helper.c" /* NOLINT(bugprone-suspicious-include): what is fuzzed is static there */
#include "../../libexec/broker/threads/attach.c" /* NOLINT(bugprone-suspicious-include) */

#include "fuzz.h"
#include "thread.h"

/* Nothing is granted here; grants.c would need the books. */
bool grant_is_enforced(const struct grant *grant)
{
    return plugin_line(grant->plugin)->enforced && grant->plan.runtime != 0;
}

static void ask_something(unsigned which)
{
    static struct attachment attachment = {.tid = 4242, .process = 4242, .watch = -1};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(1, &cpus);
    for (; which != 0; which /= 2)
        if (which % 4 == 0)
            (void)attach_restore(&attachment);
        else if (which % 4 == 1)
            (void)attach_watch(&attachment);
        else if (which % 4 == 2)
            (void)attach_probe(&cpus);
        else
            (void)attach_rt_limit(true, "/");
}

static void take_attributes(const uint8_t *bytes, size_t length)
{
    static struct paragraph_input input;
    struct paragraph request;
    struct attributes wanted;
    const char *why;
    must(paragraph_feed(&input, bytes, length));
    while (paragraph_take(&input, &request, &why) == 1)
        if (attributes_get(&request, "", &wanted))
            must(wanted.priority >= 0 && wanted.priority <= 99 && wanted.runtime <= UINT64_MAX / 1000); /* us that fit into ns */
    input.taken = input.length = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct helper_event event;
    if (length == 0)
        return 0;
    if (helper.name == NULL) {
        helper = (struct helper){.name = "the helper", .process = {.in = -1, .out = -1}};
        TAILQ_INIT(&helper.messages);
    }
    last_id = 0;
    ask_something(bytes[0]);
    take_attributes(bytes + 1, length - 1);
    must(paragraph_feed(&helper.process.input, bytes + 1, length - 1));
    for (int i = 0; i < 100 && receive(&helper, &event); i++)
        must_be_text(event.reason, sizeof event.reason);
    helper.process.input.taken = helper.process.input.length = 0;
    while (!TAILQ_EMPTY(&helper.messages))
        forget(&helper, TAILQ_FIRST(&helper.messages));
    timer_end(&helper.timer);
    return 0;
}
