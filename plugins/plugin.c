#include "plugin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "nearest-word.h"
#include "lock-memory.h"

void plugin_out_of_memory(void)
{
    fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
    exit(EX_OSERR);
}

void *plugin_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        plugin_out_of_memory();
    return memory;
}

/* ---- Words ---- */

/* Parses "21-40" or "30"; "-", and "100-100" as in the ReTiF paper, mean no POSIX priorities. */
static bool parse_range(const char *text, struct config *config)
{
    config->low = config->high = 0;
    if (strcmp(text, "-") == 0 || strcmp(text, "100-100") == 0)
        return true;
    char low_text[4];
    const char *dash = strchrnul(text, '-');
    if (dash - text > 2)
        return false;
    snprintf(low_text, sizeof low_text, "%.*s", (int)(dash - text), text);
    uint64_t low, high;
    if (!parse_number(low_text, PRIORITY_MAX, &low) ||
        !parse_number(*dash == '\0' ? low_text : dash + 1, PRIORITY_MAX, &high) || low == 0 ||
        high < low)
        return false;
    config->low = (int)low;
    config->high = (int)high;
    return true;
}

bool parse_time_or_none(const char *text, uint64_t *time)
{
    bool none = strcmp(text, "0us") == 0 || strcmp(text, "0ms") == 0 || strcmp(text, "0s") == 0;
    *time = none ? 0 : *time;
    return none || parse_time(text, time);
}

/* Takes the value of a word that only this plugin has. NULL: the value is taken; else a sentence
 * with the allowed values. */
static const char *take_own_word(const struct word *word, const char *value)
{
    static char allowed[160];
    if (word->take != NULL)
        return word->take(value);
    if (word->time != NULL) {
        snprintf(allowed, sizeof allowed, "must be a time from 0us to %" PRIu64 "us, such as 50ms",
                 word->most);
        return parse_time_or_none(value, word->time) && *word->time <= word->most ? NULL : allowed;
    }
    size_t length = (size_t)snprintf(allowed, sizeof allowed, "must be ");
    for (int i = 0; i < WORD_VALUES && word->values[i] != NULL; i++) {
        if (strcmp(value, word->values[i]) == 0) {
            *word->choice = i;
            return NULL;
        }
        length += (size_t)snprintf(allowed + length, sizeof allowed - length, "%s%s",
                                   i == 0 ? "" : " or ", word->values[i]);
    }
    return allowed;
}

/* Returns the sentence about an unknown word. It suggests a similar word, of the plugin or of the
 * broker. */
static const char *no_such_word(const struct plugin *plugin, const char *key)
{
    static const char *const of_all[] = {"threshold", "timeout", "partition", "confine",
                                         "enforce",   "desired", "resource",  "capacity",
                                         "interface", "rate",    "device",    "throughput"};
    static char why[80];
    struct nearest_word guess = nearest_word_begin(key);
    for (const struct word *word = plugin->words; word != NULL && word->key != NULL; word++)
        nearest_word_try(&guess, word->key);
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        nearest_word_try(&guess, of_all[i]);
    snprintf(why, sizeof why,
             guess.word == NULL ? "no such word" : "no such word; did you mean %s=?", guess.word);
    return why;
}

static const char *take_common_word(const struct plugin *plugin, const char *key, const char *value,
                                    struct config *config)
{
    if (plugin->without_cpus && strcmp(key, "cpus") == 0)
        return value[0] == '\0' ? NULL : "must be empty: the plugin is for another resource";
    if (strcmp(key, "cpus") == 0)
        return parse_cpus(value, &config->cpus) ? NULL : "must be a list of CPUs such as 0-3,6";
    if (strcmp(key, "priority") == 0)
        return parse_range(value, config)
                   ? NULL
                   : "must be LOW-HIGH within 1-99, or - for a deadline plugin";
    if (strcmp(key, "threshold") == 0)
        return parse_utilization(value, &config->threshold) && config->threshold <= ONE_CPU
                   ? NULL
                   : "must be decimals from 0 to 1";
    if (strcmp(key, "name") == 0 || strcmp(key, "partition") == 0)
        /* the broker passes these words to every plugin, also to a plugin that does not use them */
        return NULL;
    return no_such_word(plugin, key);
}

/* Returns the text, or "(not printable)", because argv comes from a configuration file and may hold
 * any byte. */
static const char *printable(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            return "(not printable)";
    return text;
}

static bool given_before(char **words, int count, const char *key, size_t length)
{
    for (int i = 1; i < count; i++)
        if (strncmp(words[i], key, length + 1) == 0) /* the comparison includes the '=' */
            return true;
    return false;
}

/* Takes a word. NULL: the word is taken; else a sentence with the allowed values. text: KEY=VALUE;
 * length: the length of KEY. */
static const char *take_word(const struct plugin *plugin, const char *text, size_t length,
                             struct config *config)
{
    char key[24];
    if (length >= sizeof key)
        return "no such word";
    memcpy(key, text, length);
    key[length] = '\0';
    for (const struct word *word = plugin->words; word != NULL && word->key != NULL; word++)
        if (strcmp(word->key, key) == 0)
            return take_own_word(word, text + length + 1);
    return take_common_word(plugin, key, text + length + 1, config);
}

/* Reads the words of the plugin's line in plugins.conf(5). Returns NULL, or the reason why the
 * plugin does not start. An unknown word stops the plugin, because it is probably a typing error,
 * and the administrator should see the error before the first task. */
static const char *configure(const struct plugin *plugin, int argc, char **argv,
                             struct config *config)
{
    static char why[256];
    *config = (struct config){.low = -1, .threshold = THRESHOLD_UNSET, .tests = "none"};
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        const char *allowed = "must be KEY=VALUE";
        if (equals != NULL && given_before(argv, i, argv[i], (size_t)(equals - argv[i])))
            allowed = "must stand only once";
        else if (equals != NULL)
            allowed = take_word(plugin, argv[i], (size_t)(equals - argv[i]), config);
        if (allowed != NULL) {
            snprintf(why, sizeof why, "%.60s: %s", printable(argv[i]), allowed);
            return why;
        }
    }
    if (CPU_COUNT(&config->cpus) == 0 && !plugin->without_cpus)
        return "cpus= is missing: a list of CPUs such as 0-3,6";
    if (config->low < 0)
        return "priority= is missing: LOW-HIGH, or - for a deadline plugin";
    return plugin->setup(config);
}

/* ---- Answers ---- */

static void add_no(struct paragraph_output *out, const char *format, va_list arguments)
{
    char reason[512];
    vsnprintf(reason, sizeof reason, format, arguments);
    paragraph_add(out, "answer", "no");
    paragraph_add(out, "reason", reason);
}

void answer_no(struct paragraph_output *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_no(out, format, arguments);
    va_end(arguments);
}

void answer_never(struct paragraph_output *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_no(out, format, arguments);
    va_end(arguments);
    paragraph_add(out, "retry", "never");
}

void answer_above(struct paragraph_output *out, const struct request *request, uint64_t ceiling)
{
    answer_never(out, "the runtime is %" PRIu64 "us, %s %" PRIu64 "us", request->runtime,
                 ceiling == request->max_runtime ? "the access rules allow"
                                                 : "the smaller of period and deadline is",
                 ceiling);
}

void answer_nearest(struct paragraph_output *out, uint64_t runtime)
{
    if (runtime > 0)
        paragraph_add_number(out, "nearest", runtime);
}

void answer_nearest_minimum(struct paragraph_output *out, uint64_t runtime)
{
    if (runtime > 0)
        paragraph_add_number(out, "nearest_minimum", runtime);
}

static void add_stated(struct paragraph_output *out, const char *key, uint64_t value)
{
    if (value > 0)
        paragraph_add_number(out, key, value);
}

void answer_plan(struct paragraph_output *out, const struct request *request, const char *cpus,
                 const char *policy, int priority, uint64_t accepted_runtime)
{
    paragraph_add(out, "cpus", cpus);
    paragraph_add(out, "policy", policy);
    add_stated(out, "priority", (uint64_t)priority);
    add_stated(out, "runtime", accepted_runtime);
    add_stated(out, "deadline", request->deadline > 0 ? request->deadline : request->period);
    add_stated(out, "period", request->period);
    add_stated(out, "accepted_runtime", accepted_runtime);
}

/* ---- Requests ---- */

static const struct {
    const char *key;
    size_t at;
    uint64_t min, max;
} numbers[] = {
    {"owner", offsetof(struct request, owner), 0, UINT64_MAX},
    {"runtime", offsetof(struct request, runtime), 1, TIME_MAX},
    {"period", offsetof(struct request, period), 1, TIME_MAX},
    {"deadline", offsetof(struct request, deadline), 1, TIME_MAX},
    {"desired_runtime", offsetof(struct request, desired_runtime), 1, TIME_MAX},
    {"accepted_runtime", offsetof(struct request, accepted_runtime), 1, TIME_MAX},
    {"blocking", offsetof(struct request, blocking), 1, TIME_MAX},
    {"max_runtime", offsetof(struct request, max_runtime), 0, UINT64_MAX},
    {"bytes", offsetof(struct request, bytes), 1, UINT64_MAX},
    {"block", offsetof(struct request, block), 1, UINT64_MAX},
    {"priority", offsetof(struct request, priority), 1, PRIORITY_MAX},
    {"requested_priority", offsetof(struct request, requested_priority), 1, PRIORITY_MAX},
    {"hrtick", offsetof(struct request, hrtick), 0, 1},
};

/* Reads the policy of a task of another plugin. An unknown policy counts as a policy above all
 * others. */
static enum policy parse_policy(const char *text)
{
    static const char *const names[] = {
        [POLICY_DEADLINE] = "deadline", [POLICY_FIFO] = "fifo", [POLICY_RR] = "rr"};
    for (int i = POLICY_DEADLINE; text != NULL && i <= POLICY_RR; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum policy)i;
    return POLICY_UNKNOWN;
}

/* Reads a request. NULL: valid; else the malformed key. */
static const char *parse_request(const struct paragraph *paragraph, struct request *request)
{
    *request = (struct request){.max_runtime = TIME_MAX};
    if (paragraph_get_number(paragraph, "task", UINT64_MAX, &request->task) != 1)
        return "task= is no number";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t value;
        int found = paragraph_get_number(paragraph, numbers[i].key, numbers[i].max, &value);
        if (found < 0 || (found > 0 && value < numbers[i].min))
            return numbers[i].key;
        if (found > 0)
            memcpy((char *)request + numbers[i].at, &value, sizeof value);
    }
    uint64_t ignore = 0;
    if (paragraph_get_number(paragraph, "ignore_admission", 1, &ignore) < 0)
        return "ignore_admission";
    request->ignore_admission = ignore == 1;
    const char *commit = paragraph_get(paragraph, "commit");
    if (commit != NULL && strcmp(commit, "if-ok") != 0)
        return "commit";
    request->commit = commit != NULL;
    request->policy = parse_policy(paragraph_get(paragraph, "policy"));
    const char *cpus = paragraph_get(paragraph, "cpus");
    if (cpus != NULL && !parse_cpus(cpus, &request->cpus))
        return "cpus";
    request->has_cpus = cpus != NULL;
    return NULL;
}

/* Calls a handler whose answer is always ok. NULL: done; else the fault of a malformed request. */
static const char *obey(const struct plugin *plugin, const char *op, const struct request *request,
                        struct paragraph_output *out)
{
    const char *why;
    if (strcmp(op, "schedule") == 0)
        why = plugin->schedule(request, out);
    else if (strcmp(op, "release") == 0)
        why = plugin->release(request, out);
    else
        why = plugin->load(request);
    paragraph_add(out, "answer", "ok");
    return why;
}

/* Serves one request, and writes its answer. NULL: done; else a sentence about what is wrong in a
 * malformed request. */
static const char *answer(const struct plugin *plugin, const struct paragraph *paragraph,
                          struct paragraph_output *out)
{
    uint64_t id;
    int has_id = paragraph_get_number(paragraph, "id", UINT64_MAX, &id);
    const char *op = paragraph_get(paragraph, "op");
    if (op == NULL || has_id < 0)
        return op == NULL ? "no op=" : "id= is no number";
    struct request request;
    const char *why = NULL;
    bool is_accept = strcmp(op, "accept") == 0;
    if (!is_accept && strcmp(op, "schedule") != 0 && strcmp(op, "release") != 0 &&
        strcmp(op, "load") != 0)
        answer_no(out, "no such op");
    else if ((why = parse_request(paragraph, &request)) == NULL) {
        if (is_accept)
            why = plugin->accept(&request, out);
        else if (plugin->judge != NULL && request.commit && strcmp(op, "load") == 0)
            why = plugin->judge(&request, out);
        else
            why = obey(plugin, op, &request, out);
    }
    if (has_id > 0)
        paragraph_add_number(out, "id", id);
    paragraph_close(out);
    return why;
}

static bool flush(struct paragraph_output *out)
{
    size_t done = 0;
    while (done < out->length) {
        ssize_t written = write(STDOUT_FILENO, out->data + done, out->length - done);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0)
            done += (size_t)written;
    }
    paragraph_drop(out, done);
    return true;
}

static int malformed(const char *why)
{
    fprintf(stderr, "%s: malformed request: %s\n", program_invocation_short_name, why);
    return EX_DATAERR;
}

static int fill(struct paragraph_input *input, bool *ended)
{
    ssize_t got;
    do
        got = paragraph_fill(input, STDIN_FILENO);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        fprintf(stderr, "%s: reading: %s\n", program_invocation_short_name, strerror(errno));
        return EX_IOERR;
    }
    *ended = got == 0;
    return got == 0 && input->length > input->taken ? malformed("the input ends inside a paragraph")
                                                    : EX_OK;
}

/* Serves requests until end-of-file. The answers to all requests of one read are written in one
 * write, before the next read. */
static int serve(const struct plugin *plugin, struct paragraph_input *input,
                 struct paragraph_output *out)
{
    bool ended = false;
    int status = EX_OK;
    while (!ended && status == EX_OK) {
        struct paragraph paragraph;
        const char *why = NULL;
        int taken = paragraph_take(input, &paragraph, &why);
        if (taken == 0) {
            if (!flush(out))
                return EX_IOERR;
            status = fill(input, &ended);
            continue;
        }
        size_t before = out->length;
        if (taken > 0)
            why = answer(plugin, &paragraph, out);
        if (why != NULL) {
            /* drops the incomplete answer to this request; the answers to earlier requests are
             * still sent */
            out->length = before;
            flush(out);
            status = malformed(why);
        }
    }
    return status;
}

int plugin_main(int argc, char **argv, const struct plugin *plugin)
{
    struct paragraph_input input = {0};
    struct paragraph_output out = {0};
    struct config config;
    /* the answer to a spec must not wait until the disk has read a page of this program */
    (void)memory_lock_without_power(0);
    const char *why = configure(plugin, argc, argv, &config);
    paragraph_add(&out, "protocol", "1");
    if (why != NULL)
        answer_no(&out, "%s", why);
    else {
        paragraph_add(&out, "answer", "ok");
        paragraph_add(&out, "tests", config.tests);
        if (config.judges)
            paragraph_add(&out, "judges", "load");
        if (config.tested)
            paragraph_add(&out, "grants", "tested");
    }
    paragraph_close(&out);
    int status = EX_OK;
    if (why == NULL)
        status = serve(plugin, &input, &out);
    else if (!flush(&out))
        status = EX_IOERR;
    paragraph_input_free(&input);
    paragraph_output_free(&out);
    return status;
}
