/* contrib/slurm/request.c: the value of srun --rtf. */
#include "../../contrib/slurm/request.h"

#include <string.h>

#include "unit.h"

static struct request request;
static char why[REQUEST_WHY];

static void times_are_taken(void **state)
{
    (void)state;
    assert_true(request_parse("2ms/20ms", &request, why));
    assert_true(request.runtime == 2000 && request.period == 20000 && request.deadline == 0);
    assert_true(request.desired == 0 && request.priority == 0 && *request.plugin == '\0');
    assert_true(request_parse("500us/20ms/10ms", &request, why));
    assert_true(request.runtime == 500 && request.period == 20000 && request.deadline == 10000);
}

static void keys_follow_in_any_order(void **state)
{
    (void)state;
    assert_true(request_parse("2ms/20ms,desired=4ms,plugin=RM,priority=12", &request, why));
    assert_true(request.desired == 4000 && request.priority == 12);
    assert_string_equal(request.plugin, "RM");
    assert_true(request_parse("2ms/20ms,priority=99", &request, why));
    assert_true(request.priority == 99 && request.desired == 0 && *request.plugin == '\0');
}

static void wrong_words_are_refused_with_a_sentence(void **state)
{
    static const char *const wrong[] = {
        "",
        "2ms",
        "2/20ms",
        "2ms/20",
        "2ms/",
        "/20ms",
        "2ms/20ms/",
        "2ms/20ms/20ms/20ms",
        "2ms/20ms,",
        "2ms/20ms,plugin",
        "2ms/20ms,plugin=",
        "2ms/20ms,plugin=../etc",
        "2ms/20ms,priority=0",
        "2ms/20ms,priority=100",
        "2ms/20ms,priority=-1",
        "2ms/20ms,desired=4",
        "2ms/20ms,other=1",
        "2ms/20ms plugin=RM",
        "2h/20ms",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        *why = '\0';
        check(!request_parse(wrong[i], &request, why), "\"%s\"", wrong[i]);
        check(*why != '\0', "\"%s\"", wrong[i]);
    }
}

static void no_text_is_too_long(void **state)
{
    char text[1024];
    (void)state;
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(request_parse(text, &request, why));
    assert_false(request_parse(NULL, &request, why));
    snprintf(text, sizeof text, "2ms/20ms,plugin=%0200d", 0);
    assert_false(request_parse(text, &request, why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_taken),
        cmocka_unit_test(keys_follow_in_any_order),
        cmocka_unit_test(wrong_words_are_refused_with_a_sentence),
        cmocka_unit_test(no_text_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
