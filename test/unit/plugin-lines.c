/* plugins.conf(5): the words of a line, plugins that can keep their promises on the same CPU, and
 * the neighbours that judge a plugin's plans. */
#include "../../libexec/broker/config/plugin-lines.c" /* NOLINT(bugprone-suspicious-include): its lines are read anew for each test */

#include <string.h>

#include "resource-kinds.h"
#include "side-by-side.h"
#include "tick.h"
#include "unit.h"

static char reason[REASON_BYTES];

static void forget_lines(void)
{
    for (int i = 0; i < PLUGINS_MAX; i++) {
        free(plugin_lines.line[i].program);
        free(plugin_lines.line[i].words);
        free(plugin_lines.line[i].text);
        plugin_lines.line[i] = (struct plugin_line){0};
    }
    plugin_lines.count = 0;
}

static bool reads(const char *text)
{
    forget_lines();
    reason[0] = '\0';
    return plugins_load(file_with(text), "/bin", reason);
}

static void lines_are(const char *text)
{
    check(reads(text), "%s", reason);
}

/* Fails unless the text is refused with this sentence, which follows the file's name. */
static void refused(const char *text, const char *sentence)
{
    check(!reads(text) && strstr(reason, sentence) != NULL, "%s: \"%s\" instead of \"%s\"", text,
          reason, sentence);
}

static int after_each(void **state)
{
    (void)state;
    forget_lines();
    return 0;
}

/* ---- lines ---- */

static void each_column_and_word_is_read(void **state)
{
    (void)state;
    lines_are(
        "# what runs first\n\tEDF  sh -\t0-1,3 partition=unthrottled threshold=0.25 timeout=20ms admission=demand # the end\r\n\n"
        "FP /bin/sh 11-20 4 confine=cpuset enforce=runtime\nRR sh 7 7\nGLOBAL sh 100 5\n");
    assert_int_equal(plugins_count(), 4);
    const struct plugin_line *edf = plugin_line(plugin_index("EDF")),
                             *fp = plugin_line(plugin_index("FP")),
                             *rr = plugin_line(plugin_index("RR"));
    assert_true(edf->deadline && edf->line == 2 && CPU_COUNT(&edf->cpus) == 3 &&
                edf->partition == PARTITION_UNTHROTTLED && !edf->domains);
    assert_true(edf->threshold == 250000000 && edf->promises && edf->timeout == 20 * MS);
    /* the words that only the broker reads are not passed on */
    assert_string_equal(edf->words, "partition=unthrottled threshold=0.25 admission=demand");
    assert_true(!fp->deadline && fp->lowest == 11 && fp->highest == 20 && fp->domains &&
                fp->enforced && !fp->promises);
    assert_true(rr->lowest == 7 && rr->highest == 7 && CPU_ISSET(7, &rr->cpus) &&
                rr->timeout == 100 * MS && rr->threshold == ONE_CPU);
    assert_true(plugin_line(3)->deadline && plugin_line(3)->partition == PARTITION_GLOBAL);
    assert_int_equal(plugins_highest_priority(), 20);
    assert_int_equal(plugin_index("edf"), -1);
    cpu_set_t domains;
    plugins_domains(&domains);
    assert_true(CPU_COUNT(&domains) == 1 && CPU_ISSET(4, &domains));
    lines_are(
        "A sh - - resource=disk device=sda throughput=1MB\nB sh - - resource=disk device=sdb throughput=1MB enforce=ioprio\n"
        "C sh - - resource=disk device=sdc throughput=1MB enforce=none\n");
    assert_true(plugin_line(0)->kept && !plugin_line(0)->raises && plugin_line(1)->kept &&
                plugin_line(1)->raises && !plugin_line(2)->kept);
    lines_are("RR sh 7 all\n");
    assert_int_equal(CPU_COUNT(&plugin_line(0)->cpus), 8); /* all CPUs that are online */
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    static const struct {
        const char *line, *sentence;
    } wrong[] = {
        {"A sh -", "a plugin line must be NAME PROGRAM PRIORITY CPUS [KEY=VALUE...]"},
        {"a/b sh - 0", "a name must have 1 to 32 characters [A-Za-z0-9_.@:-], not \"a/b\""},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa sh - 0", "a name must have 1 to 32 characters"},
        {"A bin/sh - 0", "a program must be a bare name or an absolute path, not \"bin/sh\""},
        {"A none-such - 0", "/bin/none-such: No such file or directory"},
        {"A /bin - 0", "/bin is not a program"},
        {"A sh 0-5 0",
         "the priorities must be LOW-HIGH within 1-97, or - for SCHED_DEADLINE, not \"0-5\""},
        {"A sh 5-4 0", "not \"5-4\""},
        {"A sh 5- 0", "not \"5-\""},
        {"A sh 00000000000000001 0", "not \"00000000000000001\""},
        {"A sh 5-98 0",
         "priorities above 97 are for the broker, which runs above every grant: \"5-98\""},
        {"A sh 99 0", "are for the broker"},
        {"A sh - 0-",
         "the CPUs must be \"all\" or a list such as 0-3,6 of numbers below 1024, not \"0-\""},
        {"A sh - 1024", "not \"1024\""},
        {"A sh - 0 word", "a word after the CPUs must be KEY=VALUE, not \"word\""},
        {"A sh - 0 =1", "a word after the CPUs must be KEY=VALUE, not \"=1\""},
        {"A sh - 0 Key=1", "a word after the CPUs must be KEY=VALUE, not \"Key=1\""},
        {"A sh - 0 timeout=5", "timeout= takes a time such as 50ms, not \"5\""},
        {"A sh - 0 hrtick=yes", "hrtick= takes on or off, not \"yes\""},
        {"A sh 1-9 0 hrtick=on",
         "hrtick= is for SCHED_DEADLINE: its line has - for its priorities"},
        {"A sh - 0 partition=some", "partition= takes global, unthrottled or cpuset, not \"some\""},
        {"A sh 5 0 partition=cpuset", "partition= is for SCHED_DEADLINE"},
        {"A sh - 0 confine=cpuset",
         "confine= is for plugins with priorities; a SCHED_DEADLINE plugin takes partition="},
        {"A sh 5 0 confine=none", "confine= takes affinity or cpuset, not \"none\""},
        {"A sh - 0 enforce=runtime",
         "enforce= is for plugins with priorities: under SCHED_DEADLINE the kernel enforces runtimes itself"},
        {"A sh 5 0 desired=more", "desired= takes shared or kept, not \"more\""},
        {"A sh 5 0 enforce=yes", "enforce= takes runtime, process or none, not \"yes\""},
        {"A sh - - resource=disk device=sda throughput=1MB enforce=htb",
         "enforce= for a disk takes cgroup, ioprio or none, not \"htb\""},
        {"A sh - - resource=network interface=eth0 rate=1Mbit enforce=ioprio",
         "enforce= for a network takes htb or none, not \"ioprio\""},
        {"A sh - 0 threshold=1.1", "threshold= takes a share of a CPU from 0 to 1, not \"1.1\""},
        {"FIRST sh - 0", "the name FIRST is already that of line 1"},
    };
    char text[200];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "FIRST sh - 1 partition=unthrottled\n%s\n", wrong[i].line);
        refused(text, "plugins.conf:2: ");
        check(strstr(reason, wrong[i].sentence) != NULL, "%s: \"%s\"", wrong[i].line, reason);
    }
    refused("# nothing\n", "names no plugin");
}

static void what_is_outside_a_domain_cannot_come_onto_its_cpu(void **state)
{
    (void)state;
    refused(
        "A sh - 0 partition=cpuset\nB sh 1-10 0-1\n",
        "plugins.conf:2: B shares CPUs with a plugin that makes a scheduling domain of each CPU: with cgroup version 2 "
        "threads outside a domain cannot run there, so this line needs confine=cpuset as well");
    lines_are("A sh - 0 partition=cpuset\nB sh 1-10 0 confine=cpuset\nC sh 1-10 1\n");
}

/* ---- side by side ---- */

static void greeted(const char *name, const char *tests, bool judges, bool tested)
{
    assert_true(plugin_has_greeted(plugin_index(name), tests, judges, tested));
}

/* A line, the test that its plugin names (tests=), and whether the plugin judges and has tested all
 * that it grants. */
struct said {
    const char *line, *tests;
    bool judges, tested;
};

static void pair(struct said one, struct said other, const char *expected)
{
    char text[300];
    snprintf(text, sizeof text, "A %s\nB %s\n", one.line, other.line);
    lines_are(text);
    greeted("A", one.tests, one.judges, one.tested);
    greeted("B", other.tests, other.judges, other.tested);
    const bool good = plugins_check_neighbours(reason);
    check(good == (expected == NULL) && (good || strstr(reason, expected) != NULL),
          "%s: \"%s\" instead of \"%s\"", text, good ? "" : reason,
          expected == NULL ? "" : expected);
}

#define EDF                                                        \
    {                                                              \
        "sh - 0-1 partition=unthrottled", "sufficient", true, true \
    }
#define GLOBAL                               \
    {                                        \
        "sh - 0-1", "necessary", false, true \
    }
#define GFB                                   \
    {                                         \
        "sh - 0-1", "sufficient", false, true \
    }
#define RTA(range)                            \
    {                                         \
        "sh " range " 0", "exact", true, true \
    }
#define HYPERBOLIC(range)                            \
    {                                                \
        "sh " range " 0", "sufficient", false, false \
    }
#define NONE(range)                            \
    {                                          \
        "sh " range " 0", "none", false, false \
    }

static void a_test_holds_beside_what_is_below_or_judged(void **state)
{
    (void)state;
    pair((struct said)EDF, (struct said)NONE("1-10"), NULL);
    pair((struct said)EDF, (struct said)RTA("1-10"), NULL);
    pair((struct said)EDF, (struct said)EDF, NULL);
    pair((struct said)RTA("11-20"), (struct said)NONE("1-10"), NULL);
    pair((struct said)RTA("11-20"), (struct said)RTA("1-10"), NULL);
    pair((struct said)HYPERBOLIC("11-20"), (struct said)NONE("1-10"), NULL);
    pair((struct said)GLOBAL, (struct said)NONE("1-10"), NULL);
    pair((struct said)GLOBAL, (struct said)GLOBAL, NULL); /* neither plugin proves anything */
    /* the plugins have different CPUs */
    pair((struct said){"sh - 0 partition=unthrottled", "sufficient", true, true},
         (struct said){"sh 1-10 1", "sufficient", false, false}, NULL);
}

static void a_test_proves_nothing_beside_what_it_cannot_judge(void **state)
{
    (void)state;
    pair(
        (struct said)EDF, (struct said)HYPERBOLIC("1-10"),
        "plugins.conf:2: B cannot judge the SCHED_DEADLINE tasks of A, which run above its own on the same CPU");
    pair(
        (struct said)GLOBAL, (struct said)RTA("1-10"),
        "plugins.conf:2: B tests its tasks, but global EDF (A) on the same CPU makes this test unsound");
    pair(
        (struct said)GLOBAL, (struct said)EDF,
        "plugins.conf:2: B tests its tasks, but global EDF (A) on the same CPU makes this test unsound");
    pair((struct said)GFB, (struct said){"sh - 0 partition=unthrottled", "none", false, false},
         "plugins.conf:2: B is SCHED_DEADLINE on the same CPU as A, which is global EDF");
    pair((struct said)EDF, (struct said){"sh - 1 partition=unthrottled", "none", true, false},
         "plugins.conf:2: A and B are both SCHED_DEADLINE on the same CPU, and B cannot vouch");
    pair((struct said)EDF, (struct said){"sh - 1 partition=unthrottled", "none", false, true},
         "and B cannot judge the other's tasks (judges=load)");
    pair(
        (struct said)RTA("1-10"), (struct said)NONE("10-20"),
        "plugins.conf:1: A tests its tasks (tests=exact), but B on the same CPU proves less (tests=none): its "
        "priorities reach 20, and must stay below 1");
    pair((struct said)RTA("10-20"), (struct said)NONE("1-10"), "and must stay below 10");
    pair((struct said)RTA("1-10"), (struct said)HYPERBOLIC("11-20"),
         "but B has higher priorities on the same CPU and also grants tasks without a test");
    pair(
        (struct said)RTA("1-10"), (struct said)RTA("10-20"),
        "plugins.conf:1: A and B test their tasks on the same CPU, but their priorities 1-10 and 10-20 overlap");
    pair(
        (struct said)HYPERBOLIC("1-10"), (struct said)RTA("11-20"),
        "plugins.conf:1: A cannot judge the tasks of B, which has higher priorities on the same CPU");
}

static void who_can_be_touched_is_asked(void **state)
{
    struct attributes plan = {.policy = POLICY_DEADLINE};
    (void)state;
    lines_are(
        "EDF sh - 0-1 partition=unthrottled\nHIGH sh 21-30 0\nLOW sh 1-10 0-1\nMUTE sh 11-20 0-1\nAWAY sh 1-10 2\n");
    enum { DEADLINE, HIGH, LOW, MUTE, AWAY };
    greeted("EDF", "exact", true, true);
    greeted("HIGH", "exact", true, true);
    greeted("LOW", "exact", true, true);
    greeted("MUTE", "none", false, false);
    greeted("AWAY", "sufficient", true, true);
    CPU_SET(1, &plan.cpus);
    assert_false(plugin_must_judge(HIGH, DEADLINE, &plan)); /* the plan is for another CPU */
    assert_true(plugin_must_judge(LOW, DEADLINE, &plan));
    assert_false(plugin_must_judge(DEADLINE, DEADLINE, &plan));
    assert_false(plugin_must_judge(MUTE, DEADLINE, &plan));
    CPU_SET(0, &plan.cpus);
    assert_true(plugin_must_judge(HIGH, DEADLINE, &plan));
    plan.policy = POLICY_FIFO;
    plan.priority = 15;
    assert_true(plugin_must_judge(LOW, MUTE, &plan));
    assert_false(plugin_must_judge(HIGH, MUTE, &plan)); /* HIGH has the higher priority */
    assert_false(plugin_must_judge(DEADLINE, MUTE, &plan));
    assert_true(plugin_may_be_judged(DEADLINE) && plugin_may_be_judged(HIGH) &&
                !plugin_may_be_judged(LOW) && !plugin_may_be_judged(AWAY));
    assert_true(plugin_is_asked_alone(LOW) && plugin_is_asked_alone(MUTE) &&
                !plugin_is_asked_alone(AWAY));
    assert_true(plugin_takes_turns(AWAY)); /* AWAY's yes depends on more than a sum */
}

static void what_a_plugin_said_first_holds(void **state)
{
    (void)state;
    lines_are("A sh - 0 partition=unthrottled\n");
    greeted("A", "sufficient", true, true);
    greeted("A", "sufficient", true, true);
    assert_false(plugin_has_greeted(0, "none", true, true));
    assert_false(plugin_has_greeted(0, "sufficient", false, true));
    assert_false(plugin_has_greeted(0, "sufficient", true, false));
    assert_true(plugin_line(0)->promises && plugin_line(0)->proves);
}

#define LINE_TEST(function) cmocka_unit_test_teardown(function, after_each)

/* True if the plugin hears with a question that a timer ends runtimes. */
static bool hears_of_timer(int plugin)
{
    static const struct spec spec = {.runtime = 1000, .period = 10000};
    struct paragraph_output output = {0};
    resource_kind_of(plugin)->ask(&output, plugin, &spec, UINT64_MAX);
    const bool hears = memmem(output.data, output.length, "hrtick=1\n", 9) != NULL;
    paragraph_output_free(&output);
    return hears;
}

static void deadline_plugins_hear_of_the_timer_that_the_broker_keeps_on(void **state)
{
    (void)state;
    lines_are("A sh - 0 hrtick=on\nB sh - 1\nC sh 1-9 0\n");
    assert_false(hears_of_timer(0));
    tick_know(true);
    assert_true(hears_of_timer(0) && hears_of_timer(1) && !hears_of_timer(2));
    lines_are("B sh - 1 hrtick=off\n");
    assert_false(hears_of_timer(0)); /* somebody else keeps the timer on */
    tick_know(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINE_TEST(each_column_and_word_is_read),
        LINE_TEST(what_is_wrong_is_told_with_its_line),
        LINE_TEST(what_is_outside_a_domain_cannot_come_onto_its_cpu),
        LINE_TEST(a_test_holds_beside_what_is_below_or_judged),
        LINE_TEST(a_test_proves_nothing_beside_what_it_cannot_judge),
        LINE_TEST(who_can_be_touched_is_asked),
        LINE_TEST(what_a_plugin_said_first_holds),
        LINE_TEST(deadline_plugins_hear_of_the_timer_that_the_broker_keeps_on),
    };
    return cmocka_run_group_tests_name("plugin-lines", tests, NULL, NULL);
}
