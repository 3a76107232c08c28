/* plugins.conf */
#include "../../libexec/broker/config/plugin-lines.c" /* NOLINT(bugprone-suspicious-include): the fuzzed function is static there */

#include "fuzz.h"
#include "side-by-side.h"

/* A broker loads this file once. */
static void forget_lines(void)
{
    /* the previous input may have been refused half-way */
    for (int i = 0; i <= plugin_lines.count && i < PLUGINS_MAX; i++) {
        free(plugin_lines.line[i].program);
        free(plugin_lines.line[i].words);
        free(plugin_lines.line[i].text);
    }
    memset(plugin_lines.line, 0, sizeof plugin_lines.line);
    plugin_lines.count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char reason[REASON_BYTES];
    if (!plugins_load(fuzz_file(bytes, length), "/", reason)) {
        must_be_text(reason, sizeof reason);
        forget_lines();
        return 0;
    }
    must(plugins_count() > 0 && plugins_count() <= PLUGINS_MAX);
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        must_be_text(line->name, sizeof line->name);
        must(line->deadline
                 ? line->lowest == 0 && line->highest == 0
                 : line->lowest >= 1 && line->highest <= 97 && line->lowest <= line->highest);
        must(CPU_COUNT(&line->cpus) > 0 && line->threshold <= 1000000000 && line->timeout > 0);
        must(plugin_index(line->name) == i);
    }
    (void)plugins_check_neighbours(reason);
    forget_lines();
    return 0;
}
