#include "plugin-lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "config-lines.h"
#include "spec.h"
#include "units.h"
#include "wire.h"

/* 98 and 99 are for the plugins and the broker, which must run above the granted threads */
enum { HIGHEST_GRANTED = 97 };
/* The time within which a plugin has to answer, in ns: twice the longest time that a plugin may
 * wait for its CPU. For 50 ms of each second, the kernel lets ordinary threads run before real-time
 * threads (fair server since Linux 6.12, RT throttling before). A plugin that waits must not look
 * like a plugin that hangs. */
static const int64_t default_timeout = INT64_C(100000000);

static struct {
    struct plugin_line line[PLUGINS_MAX];
    int count;
} plugin_lines;

#define wrong(reason, line, ...) config_lines_wrong(reason, "plugins.conf", line, __VA_ARGS__)

static bool parse_range(const char *word, struct plugin_line *line, char *reason)
{
    char low[16] = "";
    uint64_t first, last;
    const char *dash = strchr(word, '-');
    if (strcmp(word, "-") == 0 || strcmp(word, "100-100") == 0 || strcmp(word, "100") == 0) {
        line->deadline = true;
        return true;
    }
    size_t length = dash == NULL ? strlen(word) : (size_t)(dash - word);
    snprintf(low, sizeof low, "%.*s", (int)length, word);
    if (length >= sizeof low || !parse_number(low, PRIORITY_MAX, &first) ||
        !parse_number(dash == NULL ? low : dash + 1, PRIORITY_MAX, &last) || first < 1 ||
        last < first)
        return wrong(
            reason, line->line,
            "the priorities must be LOW-HIGH within 1-%d, or - for SCHED_DEADLINE, not \"%.40s\"",
            HIGHEST_GRANTED, word);
    if (last > HIGHEST_GRANTED)
        return wrong(
            reason, line->line,
            "priorities above %d are for the broker, which runs above every grant: \"%.40s\"",
            HIGHEST_GRANTED, word);
    line->lowest = (int)first;
    line->highest = (int)last;
    return true;
}

static bool is_where(const char *word, const struct plugin_line *line)
{
    const char *where = resource_where(line->resource);
    return where != NULL && strncmp(word, where, strlen(where)) == 0 && word[strlen(where)] == '=';
}

static const char *const examples[RESOURCES] = {
    [RESOURCE_NETWORK] = "an interface, such as eth0", [RESOURCE_DISK] = "a disk, such as sda"};

/* Takes a word of the line that the broker itself needs for a resource other than CPU time. The
 * plugin gets the word, too. False: *reason says what is wrong. */
static bool parse_resource_word(const char *word, const char *value, struct plugin_line *line,
                                char *reason)
{
    if (strncmp(word, "resource=", 9) == 0) {
        line->kept = strcmp(value, "network") == 0 || strcmp(value, "disk") == 0;
        return (resource_from_name(value, &line->resource) && line->resource != RESOURCE_CPU) ||
               wrong(reason, line->line,
                     "resource= takes the name of a resource, such as %s, not \"%.40s\"",
                     resource_name(RESOURCE_UNITS), value);
    }
    if (strncmp(word, "rate=", 5) == 0)
        return parse_rate(value, &line->rate) ||
               wrong(
                   reason, line->line,
                   "rate= takes a rate such as 100Mbit, with bit, kbit, Mbit or Gbit, not \"%.40s\"",
                   value);
    if (strncmp(word, "throughput=", 11) == 0)
        return parse_disk_rates(value, &line->rates) ||
               wrong(
                   reason, line->line,
                   "throughput= takes bytes a second, such as 900kB, or one figure for each block size in growing order, such as 4KiB:900kB,32KiB:5400kB, not \"%.40s\"; rtf-probe measures the figures",
                   value);
    if (is_where(word, line)) {
        snprintf(line->where, sizeof line->where, "%s", value);
        return where_is_valid(line->resource, value, strlen(value)) ||
               wrong(reason, line->line, "%s= takes the name of %s, not \"%.40s\"",
                     resource_where(line->resource), examples[line->resource], value);
    }
    return (parse_number(value, INT64_MAX, &line->capacity) && line->capacity > 0) ||
           wrong(reason, line->line, "capacity= takes a whole number above 0, not \"%.40s\"",
                 value);
}

static bool is_only_one(const struct plugin_line *line, char *reason)
{
    for (int i = 0; i < plugin_lines.count; i++)
        if (plugin_lines.line[i].resource == line->resource &&
            strcmp(plugin_lines.line[i].where, line->where) == 0)
            return wrong(reason, line->line, "the %s %s is already that of line %d",
                         resource_where(line->resource), line->where, plugin_lines.line[i].line);
    return true;
}

/* The capacity of a disk is its time, so the line needs no capacity=. */
static bool check_disk(struct plugin_line *line, char *reason)
{
    if (line->capacity != 0 || line->where[0] == '\0' || line->rates.count == 0)
        return wrong(
            reason, line->line,
            "resource=disk needs device= and throughput=, and takes no capacity=; threshold= limits the share of the disk's time");
    line->capacity = line->promises ? line->threshold : DISK_THRESHOLD;
    line->threshold = ONE_CPU;
    return is_only_one(line, reason) &&
           (line->capacity > 0 || wrong(reason, line->line, "threshold=0 leaves nothing to grant"));
}

/* The capacity of a link follows from its rate, so the line needs no capacity=. */
static bool check_network(struct plugin_line *line, char *reason)
{
    if (line->capacity != 0 || line->where[0] == '\0' || line->rate == 0)
        return wrong(
            reason, line->line,
            "resource=network needs interface= and rate=, and takes no capacity=: the capacity follows from rate=");
    if (!is_only_one(line, reason))
        return false;
    line->capacity = wire_capacity(line->rate, line->promises ? line->threshold : WIRE_THRESHOLD);
    line->threshold = ONE_CPU;
    return line->capacity > 0 ||
           wrong(reason, line->line, "rate= times threshold= is less than one byte a second");
}

/* A line for CPU time has priorities and CPUs, and no capacity. A line for another resource has a
 * capacity, and neither priorities nor CPUs. */
static bool check_resource(struct plugin_line *line, const char *priorities, const char *cpus,
                           char *reason)
{
    if (line->resource == RESOURCE_CPU)
        return line->capacity != 0
                   ? wrong(reason, line->line,
                           "capacity= needs the word resource= on the same line")
                   : strcmp(cpus, "-") != 0 ||
                         wrong(
                             reason, line->line,
                             "the CPUs must be \"all\" or a list such as 0-3,6; - is for lines with resource=");
    if (strcmp(priorities, "-") != 0 || strcmp(cpus, "-") != 0)
        return wrong(
            reason, line->line,
            "a line with resource=%s must have \"-\" as its priorities and \"-\" as its CPUs",
            resource_name(line->resource));
    if ((line->resource == RESOURCE_NETWORK && !check_network(line, reason)) ||
        (line->resource == RESOURCE_DISK && !check_disk(line, reason)))
        return false;
    if (line->capacity == 0)
        return wrong(reason, line->line, "resource=%s needs capacity=, the amount that there is",
                     resource_name(line->resource));
    if (line->domains || line->enforced || line->hrtick || line->partition != PARTITION_GLOBAL ||
        line->threshold != ONE_CPU)
        return wrong(
            reason, line->line,
            "partition=, confine=, enforce=, hrtick= and threshold= are for CPU time, not for a line with this resource=");
    line->deadline = false;
    line->promises = true;
    return true;
}

static bool parse_cpu_word(const char *word, struct plugin_line *line, char *reason)
{
    if (strcmp(word, "-") == 0) {
        CPU_ZERO(&line->cpus);
        /* check_resource decides later whether this line may have "-" in place of CPUs */
        return true;
    }
    if (strcmp(word, "all") == 0) {
        online_cpus(&line->cpus);
        return true;
    }
    return parse_cpus(word, &line->cpus) ||
           wrong(
               reason, line->line,
               "the CPUs must be \"all\" or a list such as 0-3,6 of numbers below %d, not \"%.40s\"",
               CPU_SETSIZE, word);
}

/* True: the word is for the broker, and not only for the plugin. A word such as rate= is for the
 * broker only if resource= comes before it on the line. */
static bool is_resource_word(const char *word, const struct plugin_line *line)
{
    return strncmp(word, "resource=", 9) == 0 || strncmp(word, "capacity=", 9) == 0 ||
           (line->resource == RESOURCE_NETWORK && strncmp(word, "rate=", 5) == 0) ||
           (line->resource == RESOURCE_DISK && strncmp(word, "throughput=", 11) == 0) ||
           is_where(word, line);
}

/* ---- words for the broker ---- */

static bool parse_timeout(const char *value, struct plugin_line *line, char *reason)
{
    uint64_t number;
    if (!parse_time(value, &number))
        return wrong(reason, line->line, "timeout= takes a time such as 50ms, not \"%.40s\"",
                     value);
    line->timeout = (int64_t)number * 1000;
    return true;
}

static bool parse_partition(const char *value, struct plugin_line *line, char *reason)
{
    if (!line->deadline)
        return wrong(reason, line->line,
                     "partition= is for SCHED_DEADLINE: its line has - for its priorities");
    if (strcmp(value, "unthrottled") != 0 && strcmp(value, "cpuset") != 0 &&
        strcmp(value, "global") != 0)
        return wrong(reason, line->line,
                     "partition= takes global, unthrottled or cpuset, not \"%.40s\"", value);
    line->partition = value[0] == 'u'   ? PARTITION_UNTHROTTLED
                      : value[0] == 'c' ? PARTITION_CPUSET
                                        : PARTITION_GLOBAL;
    line->domains = value[0] == 'c';
    return true;
}

static bool parse_confine(const char *value, struct plugin_line *line, char *reason)
{
    if (line->deadline)
        return wrong(
            reason, line->line,
            "confine= is for plugins with priorities; a SCHED_DEADLINE plugin takes partition=");
    if (strcmp(value, "affinity") != 0 && strcmp(value, "cpuset") != 0)
        return wrong(reason, line->line, "confine= takes affinity or cpuset, not \"%.40s\"", value);
    line->domains = value[0] == 'c';
    return true;
}

static bool parse_enforce(const char *value, struct plugin_line *line, char *reason)
{
    if (resource_where(line->resource) != NULL) {
        const char *how = line->resource == RESOURCE_DISK ? "cgroup" : "htb";
        line->raises = line->resource == RESOURCE_DISK && strcmp(value, "ioprio") == 0;
        line->kept = line->raises || strcmp(value, how) == 0;
        return line->kept || strcmp(value, "none") == 0 ||
               wrong(reason, line->line, "enforce= for a %s takes %s%s or none, not \"%.40s\"",
                     resource_name(line->resource), how,
                     line->resource == RESOURCE_DISK ? ", ioprio" : "", value);
    }
    if (line->deadline)
        return wrong(
            reason, line->line,
            "enforce= is for plugins with priorities: under SCHED_DEADLINE the kernel enforces runtimes itself");
    if (strcmp(value, "runtime") != 0 && strcmp(value, "process") != 0 &&
        strcmp(value, "none") != 0)
        return wrong(reason, line->line, "enforce= takes runtime, process or none, not \"%.40s\"",
                     value);
    line->whole = value[0] == 'p';
    line->enforced = value[0] == 'r' || line->whole;
    return true;
}

static bool parse_hrtick(const char *value, struct plugin_line *line, char *reason)
{
    if (!line->deadline)
        return wrong(reason, line->line,
                     "hrtick= is for SCHED_DEADLINE: its line has - for its priorities");
    line->hrtick = strcmp(value, "on") == 0;
    return line->hrtick || strcmp(value, "off") == 0 ||
           wrong(reason, line->line, "hrtick= takes on or off, not \"%.40s\"", value);
}

static bool parse_desired(const char *value, struct plugin_line *line, char *reason)
{
    line->keeps_desired = strcmp(value, "kept") == 0;
    return line->keeps_desired || strcmp(value, "shared") == 0 ||
           wrong(reason, line->line, "desired= takes shared or kept, not \"%.40s\"", value);
}

static bool parse_threshold(const char *value, struct plugin_line *line, char *reason)
{
    if (!parse_utilization(value, &line->threshold) || line->threshold > ONE_CPU)
        return wrong(reason, line->line,
                     "threshold= takes a share of a CPU from 0 to 1, not \"%.40s\"", value);
    line->promises = true;
    return true;
}

/* The words that the broker itself needs. is_plugins: the plugin gets the word, too. */
static const struct {
    const char *key;
    bool (*parse)(const char *value, struct plugin_line *line, char *reason);
    bool is_plugins;
} broker_words[] = {
    {"timeout=", parse_timeout, false},    {"partition=", parse_partition, true},
    {"confine=", parse_confine, false},    {"enforce=", parse_enforce, false},
    {"threshold=", parse_threshold, true}, {"desired=", parse_desired, false},
    {"hrtick=", parse_hrtick, false},
};

static void keep_word(struct plugin_line *line, const char *word)
{
    const size_t length = line->words == NULL ? 0 : strlen(line->words);
    char *words = realloc(line->words, length + strlen(word) + 2);
    if (words == NULL)
        abort();
    snprintf(words + length, strlen(word) + 2, "%s%s", length == 0 ? "" : " ", word);
    line->words = words;
}

static bool parse_word(const char *word, struct plugin_line *line, char *reason)
{
    const char *value = strchr(word, '=');
    if (value == NULL || value == word ||
        strspn(word, "abcdefghijklmnopqrstuvwxyz_") != (size_t)(value - word))
        return wrong(reason, line->line, "a word after the CPUs must be KEY=VALUE, not \"%.40s\"",
                     word);
    value++;
    for (size_t i = 0; i < sizeof broker_words / sizeof *broker_words; i++)
        if (strncmp(word, broker_words[i].key, (size_t)(value - word)) == 0) {
            if (!broker_words[i].parse(value, line, reason))
                return false;
            if (broker_words[i].is_plugins)
                keep_word(line, word);
            return true;
        }
    if (is_resource_word(word, line) && !parse_resource_word(word, value, line, reason))
        return false;
    keep_word(line, word);
    return true;
}

static bool check_program(const char *path, int line, char *reason)
{
    struct stat status;
    if (stat(path, &status) != 0 || access(path, X_OK) != 0)
        return wrong(reason, line, "%.200s: %s", path, strerror(errno));
    return S_ISREG(status.st_mode) ||
           wrong(reason, line, "%.200s is not a program that can be run", path);
}

static bool parse_line(char *const words[], int word_count, const char *directory,
                       struct plugin_line *line, char *reason)
{
    char path[4096];
    if (word_count < 4)
        return wrong(reason, line->line,
                     "a plugin line must be NAME PROGRAM PRIORITY CPUS [KEY=VALUE...]");
    if (!name_is_valid(words[0], strlen(words[0]), PLUGIN_NAME_BYTES - 1))
        return wrong(reason, line->line,
                     "a name must have 1 to %d characters [A-Za-z0-9_.@:-], not \"%.40s\"",
                     PLUGIN_NAME_BYTES - 1, words[0]);
    if (plugin_index(words[0]) >= 0)
        return wrong(reason, line->line, "the name %s is already that of line %d", words[0],
                     plugin_lines.line[plugin_index(words[0])].line);
    snprintf(line->name, sizeof line->name, "%s", words[0]);
    if (words[1][0] == '/')
        snprintf(path, sizeof path, "%s", words[1]);
    else if (strchr(words[1], '/') == NULL)
        snprintf(path, sizeof path, "%s/%s", directory, words[1]);
    else
        return wrong(reason, line->line,
                     "a program must be a bare name or an absolute path, not \"%.80s\"", words[1]);
    if (!check_program(path, line->line, reason))
        return false;
    line->program = strdup(path);
    if (!parse_range(words[2], line, reason) || !parse_cpu_word(words[3], line, reason))
        return false;
    for (int i = 4; i < word_count; i++)
        if (!parse_word(words[i], line, reason))
            return false;
    return check_resource(line, words[2], words[3], reason);
}

static char *join(const struct config_lines *conf)
{
    size_t length = 0;
    for (int i = 0; i < conf->count; i++)
        length += strlen(conf->words[i]) + 1;
    char *text = malloc(length + 1), *end = text;
    if (text == NULL)
        abort();
    for (int i = 0; i < conf->count; i++)
        end += sprintf(end, "%s%s", i == 0 ? "" : " ", conf->words[i]);
    return text;
}

static bool add_line(const struct config_lines *conf, const char *directory, char *reason)
{
    struct plugin_line *line = &plugin_lines.line[plugin_lines.count];
    if (plugin_lines.count == PLUGINS_MAX)
        return wrong(reason, conf->line, "more than %d plugins", PLUGINS_MAX);
    *line = (struct plugin_line){.line = conf->line,
                                 .threshold = ONE_CPU,
                                 .timeout = default_timeout,
                                 .text = join(conf)};
    if (!parse_line(conf->words, conf->count, directory, line, reason))
        return false;
    plugin_lines.count++;
    return true;
}

/* Checks lines that share CPUs. Under cgroup version 2, only the processes in a scheduling domain
 * can run on the CPUs of this domain. */
static bool check_domains(char *reason)
{
    char mount[GROUP_BYTES];
    cpu_set_t domains, both;
    plugins_domains(&domains);
    if (CPU_COUNT(&domains) == 0 || cgroups_find("cpuset", mount) != CGROUPS_V2)
        return true;
    for (int i = 0; i < plugin_lines.count; i++) {
        CPU_AND(&both, &plugin_lines.line[i].cpus, &domains);
        if (!plugin_lines.line[i].domains && CPU_COUNT(&both) > 0)
            return wrong(
                reason, plugin_lines.line[i].line,
                "%s shares CPUs with a plugin that makes a scheduling domain of each CPU: with cgroup version 2 threads outside a domain cannot run there, so this line needs %s as well",
                plugin_lines.line[i].name,
                plugin_lines.line[i].deadline ? "partition=cpuset" : "confine=cpuset");
    }
    return true;
}

bool plugins_load(const char *path, const char *directory, char reason[static REASON_BYTES])
{
    struct config_lines conf;
    int got;
    if (!config_lines_open(&conf, path, reason))
        return false;
    while ((got = config_lines_next(&conf, reason)) == 1)
        if (!add_line(&conf, directory, reason)) {
            got = -1;
            break;
        }
    config_lines_close(&conf);
    if (got == 0 && plugin_lines.count == 0)
        snprintf(reason, REASON_BYTES, "%.300s: names no plugin", path);
    return got == 0 && plugin_lines.count > 0 && check_domains(reason);
}

int plugins_count(void)
{
    return plugin_lines.count;
}

void plugin_turn_off(int plugin, const char *reason)
{
    plugin_lines.line[plugin].kept = plugin_lines.line[plugin].raises = false;
    snprintf(plugin_lines.line[plugin].off, sizeof plugin_lines.line[plugin].off, "%s", reason);
}

int plugin_index(const char *name)
{
    for (int i = 0; i < plugin_lines.count; i++)
        if (strcmp(plugin_lines.line[i].name, name) == 0)
            return i;
    return -1;
}

const struct plugin_line *plugin_line(int plugin)
{
    return &plugin_lines.line[plugin];
}

uint64_t plugin_weight(int plugin, const struct claim *claim)
{
    return claim_weight(claim, &plugin_lines.line[plugin].rates);
}

uint64_t plugin_within(int plugin, const struct claim *claim, uint64_t weight)
{
    return claim_within_weight(claim, weight, &plugin_lines.line[plugin].rates);
}

bool plugins_have_hrtick(void)
{
    for (int i = 0; i < plugin_lines.count; i++)
        if (plugin_lines.line[i].hrtick)
            return true;
    return false;
}

int plugins_highest_priority(void)
{
    int highest = 0;
    for (int i = 0; i < plugin_lines.count; i++)
        if (plugin_lines.line[i].highest > highest)
            highest = plugin_lines.line[i].highest;
    return highest;
}

bool plugins_have_processes(void)
{
    for (int i = 0; i < plugin_lines.count; i++)
        if (plugin_lines.line[i].whole)
            return true;
    return false;
}

void plugins_domains(cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (int i = 0; i < plugin_lines.count; i++)
        if (plugin_lines.line[i].domains)
            CPU_OR(cpus, cpus, &plugin_lines.line[i].cpus);
}

bool plugins_share_cpu(int plugin, int other)
{
    cpu_set_t both;
    CPU_AND(&both, &plugin_lines.line[plugin].cpus, &plugin_lines.line[other].cpus);
    return plugin != other && CPU_COUNT(&both) > 0;
}

bool plugin_has_greeted(int plugin, const char *tests, bool judges, bool tested)
{
    struct plugin_line *line = &plugin_lines.line[plugin];
    char proof[sizeof line->tests];
    snprintf(proof, sizeof proof, "%s", tests);
    /* a later greeting must be equal to the first greeting, because the ledger's sums and the
     * result of plugins_check_neighbours depend on the first greeting */
    if (line->greeted)
        return strcmp(line->tests, proof) == 0 && line->judges == judges && line->tested == tested;
    memcpy(line->tests, proof, sizeof proof);
    line->proves = line->resource == RESOURCE_CPU &&
                   (strcmp(proof, "sufficient") == 0 || strcmp(proof, "exact") == 0);
    line->promises |= strcmp(proof, "none") != 0;
    line->judges = judges && line->resource == RESOURCE_CPU;
    line->tested = tested;
    line->greeted = true;
    return true;
}
