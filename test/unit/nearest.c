/* The plugins, asked as the broker asks them (rtf-plugin(7)), with random tasks for each admission
 * test. If a runtime is refused and a nearest one is named, the nearest is granted, and a
 * microsecond more is refused and names the same. If none is named, no runtime is granted. If a
 * runtime is too small and a nearest_minimum is named, this is granted. Of a desired runtime, the
 * largest possible part is given. */
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paragraph.h"
#include "unit.h"

enum { LEAST = 2 };  /* us: no plugin on SCHED_DEADLINE accepts less */
enum { OWNERS = 3 }; /* the number of users; they matter only with overrun= */

static pid_t plugin;
static FILE *to;
static int from;
static struct paragraph_input input;
static struct paragraph answer;

/* Reads the plugin's answer up to the next paragraph that has `key`. The paragraphs before it are
 * updates. */
static void hear(const char *key)
{
    const char *why = NULL;
    do {
        int got;
        while ((got = paragraph_take(&input, &answer, &why)) == 0)
            check(paragraph_fill(&input, from) > 0, "the plugin has ended");
        check(got == 1, "%s", why);
    } while (paragraph_get(&answer, key) == NULL);
}

/* Starts the program build/libexec/plugins/NAME, beside this one. `words` lacks cpus=0-1 and
 * priority=, which each plugin gets. */
static void start(const char *name, const char *priorities, const char *words)
{
    char self[PATH_MAX] = "", path[PATH_MAX + 32], text[256], *arguments[16] = {path, NULL},
         cpus[] = "cpus=0-1", own_name[] = "name=T", range[32], *rest = text;
    int count = 1, forth[2], back[2];
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(path, sizeof path, "%s/../libexec/plugins/%s", dirname(self), name);
    snprintf(text, sizeof text, "%s", words);
    snprintf(range, sizeof range, "priority=%s", priorities);
    arguments[count++] = own_name;
    arguments[count++] = cpus;
    arguments[count++] = range;
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word != '\0')
            arguments[count++] = word;
    arguments[count] = NULL;
    assert_int_equal(pipe2(forth, 0), 0);
    assert_int_equal(pipe2(back, 0), 0);
    plugin = fork();
    assert_true(plugin >= 0);
    if (plugin == 0) {
        dup2(forth[0], STDIN_FILENO);
        dup2(back[1], STDOUT_FILENO);
        for (int i = 0; i < 2; i++) {
            close(forth[i]);
            close(back[i]);
        }
        execv(path, arguments);
        _exit(127);
    }
    close(forth[0]);
    close(back[1]);
    to = fdopen(forth[1], "w");
    from = back[0];
    hear("protocol");
    check(strcmp(paragraph_get(&answer, "answer"), "ok") == 0, "%s %s: %s", name, words,
          paragraph_get(&answer, "reason"));
}

static void stop(void)
{
    int status = 0;
    fclose(to);
    close(from);
    assert_int_equal(waitpid(plugin, &status, 0), plugin);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    paragraph_input_free(&input);
}

struct asked {
    uint64_t period, deadline, desired, most; /* 0: not stated */
};

static const char *in_words(const struct asked *asked)
{
    static char words[128];
    snprintf(words, sizeof words, "period %llu, deadline %llu, desired %llu, at most %llu",
             (unsigned long long)asked->period, (unsigned long long)asked->deadline,
             (unsigned long long)asked->desired, (unsigned long long)asked->most);
    return words;
}

/* The last answer: the runtime that is given, and the least runtime that would be granted. 0: the
 * answer has none. */
static uint64_t given, least_named;

/* True: granted. Otherwise *nearest is the nearest runtime, or 0 if there is none. */
static bool grants(uint64_t task, uint64_t runtime, const struct asked *asked, bool commit,
                   uint64_t *nearest)
{
    given = 0;
    fprintf(to, "op=accept\ntask=%llu\nowner=%llu\nruntime=%llu\nperiod=%llu\n",
            (unsigned long long)task, (unsigned long long)task % OWNERS,
            (unsigned long long)runtime, (unsigned long long)asked->period);
    if (asked->deadline != 0)
        fprintf(to, "deadline=%llu\n", (unsigned long long)asked->deadline);
    if (asked->desired != 0)
        fprintf(to, "desired_runtime=%llu\n", (unsigned long long)asked->desired);
    if (asked->most != 0)
        fprintf(to, "max_runtime=%llu\n", (unsigned long long)asked->most);
    fprintf(to, "%s\n", commit ? "commit=if-ok\n" : "");
    assert_int_equal(fflush(to), 0);
    hear("answer");
    *nearest = least_named = 0;
    assert_true(paragraph_get_number(&answer, "nearest", UINT64_MAX, nearest) >= 0);
    assert_true(paragraph_get_number(&answer, "nearest_minimum", UINT64_MAX, &least_named) >= 0);
    const bool good = strcmp(paragraph_get(&answer, "answer"), "ok") == 0;
    assert_true(!good || paragraph_get_number(&answer, "runtime", UINT64_MAX, &given) == 1);
    check(!good ||
              (given >= runtime && given <= (asked->desired > runtime ? asked->desired : runtime)),
          "%llu for %llu", (unsigned long long)given, (unsigned long long)runtime);
    return good;
}

static void released(uint64_t task)
{
    fprintf(to, "op=release\ntask=%llu\n\n", (unsigned long long)task);
    assert_int_equal(fflush(to), 0);
    hear("answer");
}

/* ---- random tasks ---- */

enum { TASKS = 24 };
static int named, unnamed, too_small;
/* edf gives up to the desired runtime, and rm gives the asked runtime */
static bool gives_desired, by_sum;
static bool is_granted[TASKS];

/* Returns true if the task is refused. If `take`, the task takes the nearest runtime. */
static void nearest_is_exact(uint64_t task, uint64_t too_much, const struct asked *asked, bool take)
{
    uint64_t nearest, again;
    if (grants(task, too_much, asked, false, &nearest))
        return;
    check(least_named == 0, "%s: %llu is not too small", in_words(asked),
          (unsigned long long)too_much);
    if (nearest == 0) {
        unnamed++;
        check(!grants(task, LEAST, asked, false, &again), "%s: %d is granted", in_words(asked),
              LEAST);
        return;
    }
    named++;
    check(nearest < too_much, "%s: %llu is near %llu", in_words(asked), (unsigned long long)nearest,
          (unsigned long long)too_much);
    check(!grants(task, nearest + 1, asked, false, &again) && again == nearest,
          "%s: %llu, and then %llu", in_words(asked), (unsigned long long)nearest,
          (unsigned long long)again);
    struct asked alone = *asked; /* with a desired runtime, the nearest is the most that is given */
    alone.desired = 0;
    check(grants(task, nearest, &alone, take, &again), "%s: %llu is not granted", in_words(asked),
          (unsigned long long)nearest);
    is_granted[task] |= take;
}

/* Asks for a runtime that is too small for the kernel, and checks nearest_minimum. */
static void the_least_is_exact(uint64_t task, struct asked asked)
{
    uint64_t nearest, again;
    asked.desired = 0;
    if (grants(task, LEAST - 1, &asked, false, &nearest))
        return;
    const uint64_t least = least_named;
    const bool fits = grants(task, LEAST, &asked, false, &again);
    too_small += fits;
    check(least == (fits ? LEAST : 0), "%s: at least %llu", in_words(&asked),
          (unsigned long long)least);
    check(nearest == 0 || (nearest >= least && grants(task, nearest, &asked, false, &again)),
          "%s: at most %llu", in_words(&asked), (unsigned long long)nearest);
    check(nearest == 0 || !grants(task, nearest + 1, &asked, false, &again), "%s: more than %llu",
          in_words(&asked), (unsigned long long)nearest);
}

/* The plugin gives no more of the desired runtime than it would grant if this were the asked
 * runtime. If the admission test is a sum and the task is new, the plugin also gives no less. */
static void the_most_of_what_is_desired_is_given(uint64_t task, struct asked asked)
{
    uint64_t nearest, limit = asked.deadline != 0 ? asked.deadline : asked.period;
    asked.desired = limit;
    limit = asked.most != 0 && asked.most < limit ? asked.most : limit;
    if (!grants(task, LEAST, &asked, false, &nearest))
        return;
    const uint64_t most = given;
    asked.desired = 0;
    check(most <= limit && grants(task, most, &asked, false, &nearest), "%s: %llu is too much",
          in_words(&asked), (unsigned long long)most);
    check(most == limit || !by_sum || is_granted[task] ||
              !grants(task, most + 1, &asked, false, &nearest),
          "%s: more than %llu would be granted", in_words(&asked), (unsigned long long)most);
}

static struct asked random_times(bool with_deadlines)
{
    struct asked asked = {.period = random_below(5) == 0 ? 10000 : random_within(1000, 100000)};
    if (with_deadlines && random_below(2) == 0)
        asked.deadline = random_within(asked.period / 2, asked.period);
    if (random_below(4) == 0)
        asked.desired = asked.deadline != 0 ? asked.deadline : asked.period;
    if (random_below(4) == 0)
        asked.most = random_within(LEAST, asked.period);
    return asked;
}

/* New tasks come, and known tasks ask again, which do not count against themselves. Some tasks
 * go. */
static void step(bool with_deadlines)
{
    const uint64_t task = random_within(1, TASKS - 1);
    uint64_t nearest;
    struct asked asked = random_times(with_deadlines);
    const uint64_t window = asked.deadline != 0 ? asked.deadline : asked.period;
    if (random_below(8) == 0)
        the_least_is_exact(task, asked);
    if (gives_desired && random_below(5) == 0) {
        the_most_of_what_is_desired_is_given(task, asked);
    } else if (random_below(5) == 0) {
        released(task);
        is_granted[task] = false;
    } else if (random_below(2) == 0) {
        asked.desired = asked.most = 0;
        is_granted[task] |=
            grants(task, random_within(window / 50 + 2, window / 4 + 2), &asked, true, &nearest);
    } else
        nearest_is_exact(task,
                         random_below(2) == 0 ? window : random_within(window / 4 + 3, window),
                         &asked, random_below(3) == 0);
}

static void at_random(const char *name, const char *priorities, const char *words,
                      bool with_deadlines, int steps)
{
    named = unnamed = too_small = 0;
    gives_desired = strcmp(name, "edf") == 0;
    by_sum = strstr(words, "demand") == NULL;
    for (int seed = 1; seed <= 3; seed++) {
        memset(is_granted, 0, sizeof is_granted);
        random_from((uint64_t)seed);
        start(name, priorities, words);
        for (int i = 0; i < steps; i++)
            step(with_deadlines);
        stop();
    }
    check(named > steps / 10, "%d named, %d not", named, unnamed);
    check(!gives_desired || too_small > 0, "no runtime was too small");
}

static void of_edf_by_bandwidth(void **state)
{
    (void)state;
    at_random("edf", "-", "", true, 1500);
}

static void of_edf_by_gfb(void **state)
{
    (void)state;
    at_random("edf", "-", "admission=gfb", true, 1500);
}

static void of_edf_by_density(void **state)
{
    (void)state;
    at_random("edf", "-", "partition=unthrottled threshold=0.9", true, 1500);
    at_random("edf", "-", "partition=cpuset", true, 500);
}

static void of_edf_by_demand(void **state)
{
    (void)state;
    at_random("edf", "-", "partition=unthrottled admission=demand", true, 200);
    at_random("edf", "-", "partition=unthrottled admission=demand blocking=100us fair_server=0us",
              true, 200);
}

static void of_edf_with_overruns(void **state)
{
    (void)state;
    at_random("edf", "-", "overrun=300us", true, 1500);
    at_random("edf", "-", "overrun=4ms", true, 1500);
    at_random("edf", "-", "overrun=300us admission=gfb", true, 1500);
    at_random("edf", "-", "overrun=300us partition=unthrottled threshold=0.9", true, 1500);
    at_random("edf", "-", "overrun=300us partition=unthrottled admission=demand", true, 200);
}

static void of_rm_by_the_hyperbolic_bound(void **state)
{
    (void)state;
    at_random("rm", "21-40", "admission=hyperbolic", false, 1500);
}

static void of_rm_by_liu_and_layland(void **state)
{
    (void)state;
    at_random("rm", "21-40", "admission=liu-layland", false, 1500);
}

static void of_rm_by_the_necessary_test_and_a_threshold(void **state)
{
    (void)state;
    at_random("rm", "21-40", "admission=necessary", false, 1000);
    at_random("rm", "21-40", "admission=necessary threshold=0.777777777", false, 1000);
}

static void of_rm_by_response_times(void **state)
{
    (void)state;
    at_random("rm", "21-60", "admission=rta", true, 200);
    /* there are few levels, so tasks wait for one another */
    at_random("rm", "11-13", "admission=rta blocking=100us", true, 200);
}

/* ---- beside tasks of other plugins ---- */

/* A task of another plugin has half of each CPU at that priority. */
static void is_loaded(const char *policy, int priority)
{
    fprintf(to, "op=load\ntask=100\ncpus=0-1\npolicy=%s\nruntime=5000\nperiod=10000\n", policy);
    if (priority != 0)
        fprintf(to, "priority=%d\n", priority);
    fprintf(to, "\n");
    assert_int_equal(fflush(to), 0);
    hear("answer");
}

/* Whether a task fits beside the load. */
static bool fits_beside(const char *policy, int priority)
{
    static const struct asked asked = {.period = 10000};
    uint64_t nearest;
    is_loaded(policy, priority);
    return grants(1, 5001, &asked, false, &nearest);
}

static void what_others_run_counts_from_the_lowest_own_level_on(void **state)
{
    (void)state;
    start("rm", "21-40", "admission=necessary");
    assert_true(fits_beside("fifo", 20));
    assert_false(fits_beside("fifo", 21));
    assert_true(fits_beside("rr", 20));
    assert_false(fits_beside("rr", 21));
    assert_false(fits_beside("fifo", 41));
    assert_false(fits_beside("deadline", 0));
    stop();
    start("edf", "-", "partition=unthrottled");
    assert_true(fits_beside("fifo", 99));
    assert_true(fits_beside("rr", 99));
    assert_false(fits_beside("deadline", 0));
    stop();
}

/* ---- a bound by hand ---- */

/* Beside a half: 3/2 * 4/3 = 2, which is the bound. A task above a third does not fit, whether it
 * is above by little or by much. */
static void the_hyperbolic_bound_leaves_a_third_beside_a_half(void **state)
{
    (void)state;
    static const struct asked asked = {.period = 10000};
    uint64_t nearest;
    start("rm", "21-40", "admission=hyperbolic");
    is_loaded("fifo", 21);
    assert_true(grants(1, 3333, &asked, false, &nearest));
    assert_false(grants(1, 3334, &asked, false, &nearest));
    assert_int_equal(nearest, 3333);
    assert_false(grants(1, 5000, &asked, false, &nearest));
    assert_int_equal(nearest, 3333);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_edf_by_bandwidth),
        cmocka_unit_test(of_edf_by_gfb),
        cmocka_unit_test(of_edf_by_density),
        cmocka_unit_test(of_edf_by_demand),
        cmocka_unit_test(of_edf_with_overruns),
        cmocka_unit_test(of_rm_by_the_hyperbolic_bound),
        cmocka_unit_test(of_rm_by_liu_and_layland),
        cmocka_unit_test(of_rm_by_the_necessary_test_and_a_threshold),
        cmocka_unit_test(of_rm_by_response_times),
        cmocka_unit_test(what_others_run_counts_from_the_lowest_own_level_on),
        cmocka_unit_test(the_hyperbolic_bound_leaves_a_third_beside_a_half),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
