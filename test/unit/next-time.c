/* libexec/front/next-time.c: the command line that rtf-run --learn prints at its end. */
#include "front/next-time.h"

#include <stdlib.h>
#include <string.h>

#include "command-line.h"
#include "unit.h"

static struct followed_thread threads[4];
static struct followed followed = {.process = 42, .threads = threads};
static char *command[] = {"./camera", "--left", NULL};
static char *said;

static int begin(void **state)
{
    (void)state;
    memset(threads, 0, sizeof threads);
    followed.count = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(said);
    said = NULL;
    return 0;
}

static void add(pid_t tid, const char *name, uint64_t runtime, uint64_t period)
{
    struct followed_thread *thread = &threads[followed.count++];
    thread->tid = tid;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    thread->behaviour = period == 0 ? BEHAVIOUR_HOG : BEHAVIOUR_PERIODIC;
    thread->reservation = (struct learned_reservation){.runtime = runtime, .period = period};
}

/* Returns the last line. */
static const char *say(char *const words[])
{
    size_t size;
    FILE *usual = stderr;
    stderr = open_memstream(&said, &size);
    next_time_say(&followed, words);
    (void)fclose(stderr);
    stderr = usual;
    if (size > 0)
        said[size - 1] = '\0';
    const char *last = strrchr(said, '\n');
    return last == NULL ? said : last + 1;
}

static void the_main_thread_alone_needs_two_options(void **state)
{
    (void)state;
    add(42, "camera", 2200, 20000);
    add(43, "pool", 0, 0);
    assert_string_equal(say(command), "rtf-run -T 2200us -P 20ms -- ./camera --left");
    assert_non_null(strstr(said, "thread pool gets no reservation (hog: it never sleeps)\n"));
}

static void a_small_reservation_begins_after_the_start(void **state)
{
    (void)state;
    add(42, "camera", 100, 20000);
    assert_string_equal(say(command), "rtf-run -T 100us -P 20ms --attach=1s -- ./camera --left");
}

static void threads_get_rules_by_their_names(void **state)
{
    (void)state;
    add(42, "camera", 0, 0);
    add(43, "left", 2000, 20000);
    add(44, "left", 3000, 30000);
    add(45, "it's\033", 1000, 10000);
    assert_string_equal(
        say(command),
        "printf '%s\\n' '{\"threads\": [{\"name\": \"left\", \"runtime\": 3000, \"period\": 20000}, "
        "{\"name\": \"it'\\''s?\", \"runtime\": 1000, \"period\": 10000}]}' >camera.threads && "
        "rtf-run -f camera.threads -- ./camera --left");
}

static void words_are_quoted_for_a_shell(void **state)
{
    char *words[] = {"a b", "", "it's", "$x", "\033[1m", NULL};
    (void)state;
    add(42, "camera", 2200, 20000);
    assert_string_equal(say(words), "rtf-run -T 2200us -P 20ms -- 'a b' '' 'it'\\''s' '$x' "
                                    "\"$(printf '\\033\\133\\061\\155')\"");
}

static void no_period_means_no_command(void **state)
{
    (void)state;
    add(42, "camera", 0, 0);
    assert_non_null(strstr(say(command), "no thread has a period"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
    static const struct command_option none[] = {{0}};
    static const struct command run = {.name = "run", .program = "rtf-run", .options = none};
    (void)command_parse(&run, argc, argv, NULL);
    const struct CMUnitTest tests[] = {TEST(the_main_thread_alone_needs_two_options),
                                       TEST(a_small_reservation_begins_after_the_start),
                                       TEST(threads_get_rules_by_their_names),
                                       TEST(words_are_quoted_for_a_shell),
                                       TEST(no_period_means_no_command)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
