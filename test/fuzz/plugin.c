/* Fuzzes the output of a plugin, which may be any program: its greeting, and answers to requests of
 * every kind, in any order. The first byte tells which requests are under way. */
#include "../../libexec/broker/plugin/plugins.c" /* NOLINT(bugprone-suspicious-include): the fuzzed function is static there */

#include "fuzz.h"

static void must_be_an_event(int plugin, const struct plugin_event *event)
{
    must(plugin == 0 && event->nearest <= TIME_MAX);
    must_be_text(event->reason, sizeof event->reason);
    if (event->kind != PLUGIN_ANSWER || event->answer > ANSWER_PARTIAL)
        return;
    must(event->plan.priority >= 0 && event->plan.priority <= PRIORITY_MAX);
    must(event->plan.runtime <= TIME_MAX && event->plan.deadline <= TIME_MAX &&
         event->plan.period <= TIME_MAX);
}

static void load_line(void)
{
    static const char conf[] = "EDF /bin/true 1-50 0-3 threshold=0.9\n";
    char reason[REASON_BYTES];
    if (plugins_count() > 0)
        return;
    must(plugins_load(fuzz_file((const uint8_t *)conf, sizeof conf - 1), "/", reason));
    plugins_prepare((struct identity_to_run_as){0, 0}, must_be_an_event);
}

static void ask_something(struct plugin *plugin, unsigned which)
{
    static const struct spec spec = {.runtime = 1000, .period = 10000, .deadline = 10000};
    static const struct grant grant = {.plugin = 0, .plan = {.policy = POLICY_FIFO, .priority = 3}};
    plugin->program.state = which % 8 == 0 ? PROGRAM_STARTING : PROGRAM_SERVING;
    plugin_on_start(&plugin->program, true);
    for (; which != 0; which /= 2)
        if (which % 4 == 0)
            (void)plugin_accept(0, 7, 1000, &spec, UINT64_MAX, true);
        else if (which % 4 == 1)
            (void)plugin_schedule(0, 7, &grant);
        else if (which % 4 == 2)
            (void)plugin_release(0, 7);
        else
            plugin_load(0, 8, &grant);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct paragraph_input input;
    struct plugin *plugin = &plugins.plugin[0];
    struct paragraph said;
    const char *why;
    int fd = -1;
    load_line();
    if (length == 0)
        return 0;
    plugins.last_id = 0;
    ask_something(plugin, bytes[0]);
    must(paragraph_feed(&input, bytes + 1, length - 1));
    while (supervise_runs(&plugin->program) && paragraph_take(&input, &said, &why) == 1)
        must(plugin_on_message(&plugin->program, &said, &fd));
    plugin_fail(0, "the end"); /* ends the requests without an answer */
    loss_is_due(&plugin->loss);
    timer_end(&plugin->loss);
    supervise_stop(&plugin->program);
    must(STAILQ_EMPTY(&plugin->pending) && STAILQ_EMPTY(&plugin->lost) && timers_first() == NULL);
    input.taken = input.length = 0;
    return 0;
}
