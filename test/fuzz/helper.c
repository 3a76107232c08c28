/* Fuzzes two readers with the same bytes: the broker reads them as answers of a hostile attach
 * helper, and the attach helper reads them as the attributes of requests. The first byte says which
 * requests the broker has sent before. */
#include "../../libexec/broker/helper/helper.c" /* NOLINT(bugprone-suspicious-include): the fuzzed function is static there */
#include "../../libexec/broker/threads/attach.c" /* NOLINT(bugprone-suspicious-include) */

#include "fuzz.h"
#include "thread.h"

/* There are no grants here, because grants.c would need the accounting. */
bool grant_is_enforced(const struct grant *grant)
{
    return plugin_line(grant->plugin)->enforced && grant->plan.runtime != 0;
}

/* There are no groups of processes that share a runtime here. */
bool budget_record_is_left(void)
{
    return false;
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
            (void)attach_setting(SETTING_RT_LIMIT, true, "/");
}

static void take_attributes(const uint8_t *bytes, size_t length)
{
    static struct paragraph_input input;
    struct paragraph request;
    struct attributes wanted;
    const char *why;
    must(paragraph_feed(&input, bytes, length));
    /* in us, small enough to fit into 64 bits in ns */
    while (paragraph_take(&input, &request, &why) == 1)
        if (attributes_get(&request, "", &wanted))
            must(wanted.priority >= 0 && wanted.priority <= 99 &&
                 wanted.runtime <= UINT64_MAX / 1000);
    input.taken = input.length = 0;
}

static void must_be_an_answer(const struct helper_event *event)
{
    must_be_text(event->reason, sizeof event->reason);
    must(event->answer <= HELPER_PENDING && event->after >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct paragraph_input input;
    struct paragraph said;
    const char *why;
    int fd = -1;
    if (length == 0)
        return 0;
    if (attach.helper.tell == NULL)
        attach_prepare((char *)"/bin/true", must_be_an_answer, NULL);
    helper_last_id = 0;
    ask_something(bytes[0]);
    take_attributes(bytes + 1, length - 1);
    must(paragraph_feed(&input, bytes + 1, length - 1));
    while (paragraph_take(&input, &said, &why) == 1 &&
           helper_on_message(&attach.helper.program, &said, &fd))
        ;
    input.taken = input.length = 0;
    helper_on_gone(&attach.helper.program, "the end");
    attach_stop();
    must(TAILQ_EMPTY(&attach.helper.messages) && timers_first() == NULL);
    return 0;
}
