/* lib/program-file.c: parses program files, which reserve for the threads of a program. Each error
 * message names the rule and the key. */
#include "program-file.h"
#include "matching-rule.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static char reason[REASON_BYTES];
static struct program_file *file;

static enum program_parsed parse(const char *json)
{
    program_free(file);
    reason[0] = '\0';
    return program_parse(json, strlen(json), &file, reason);
}

static void taken(const char *json)
{
    check(parse(json) == PROGRAM_GOOD, "%s: %s", json, reason);
}

static void refused(const char *json, const char *part)
{
    check(parse(json) == PROGRAM_BAD, "%s", json);
    check(strstr(reason, part) != NULL, "%s: \"%s\" misses \"%s\"", json, reason, part);
    for (const char *at = reason; *at != '\0'; at++)
        check(*at >= 0x20 && *at <= 0x7e, "%s: byte %d", json, *at);
}

static void a_rule_has_what_a_spec_has(void **state)
{
    (void)state;
    taken(
        "{\"process\": 4242, \"plugin\": \"EDF\", \"on_refusal\": \"wait\", \"token\": \"t\", \"threads\": ["
        "{\"name\": \"camera*\", \"runtime\": \"2ms\", \"period\": \"33ms\"},"
        "{\"name\": \"audio\", \"priority\": 30, \"plugin\": \"FP\"}, {\"name\": \"*\", \"leave\": true}]}");
    assert_int_equal(file->process, 4242);
    assert_int_equal(file->rule_count, 3);
    assert_true(file->waits && !file->hold && !file->ends);
    assert_string_equal(file->token, "t");
    assert_int_equal(file->rules[0].spec.runtime, 2000);
    assert_string_equal(file->rules[0].spec.plugin, "EDF");
    assert_string_equal(file->rules[1].spec.plugin, "FP");
    assert_true(file->rules[2].leave && file->rules[2].spec.plugin == NULL);
}

static void the_first_rule_that_matches_counts(void **state)
{
    (void)state;
    taken(
        "{\"process\": 1, \"threads\": [{\"name\": \"camera-?\", \"priority\": 1}, {\"name\": \"camera*\", \"leave\": true}]}");
    assert_int_equal(program_rule_for(file, "camera-1"), 0);
    assert_int_equal(program_rule_for(file, "camera-10"), 1);
    assert_int_equal(program_rule_for(file, "audio"), -1);
}

static void a_pattern_matches_the_whole_name(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {{"", "", true},        {"a", "a", true},     {"a", "ab", false},
                 {"?", "", false},      {"*", "", true},      {"a*b*c", "aXbYc", true},
                 {"a*b", "abab", true}, {"*ab", "aab", true}, {"a*b", "abac", false},
                 {"[a]", "a", false},   {"\\*", "*", false},  {"**?", "x", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(glob_matches(cases[i].pattern, cases[i].name) == cases[i].matches, "%s %s",
              cases[i].pattern, cases[i].name);
}

/* A matcher that tries each way to split the name would never finish. */
static void a_hostile_pattern_costs_little(void **state)
{
    (void)state;
    assert_false(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void a_spec_is_no_program_file(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"runtime\": 5000, \"comment\": \"\\\"threads\\\"\"}"), PROGRAM_NOT);
    assert_int_equal(parse("{\"comment\": \"threads\", \"token\": \"threads\"}"), PROGRAM_NOT);
    assert_int_equal(parse("[\"threads\"]"), PROGRAM_NOT);
    assert_int_equal(parse("{\"threads\": "), PROGRAM_NOT);
    assert_null(file);
}

#define ONE "\"threads\": [{\"name\": \"a\", \"priority\": 1}]"

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refused("{\"threads\": {}}", "must be an array of 1 to 64 rules");
    refused("{\"threads\": []}", "must be an array of 1 to 64 rules");
    refused("{" ONE "}", "needs the key \"process\", \"program\" or \"cgroup\"");
    refused("{\"process\": 1, \"program\": \"/x\", " ONE "}", "not two");
    refused("{\"process\": 1, \"program\": \"/x\", \"cgroup\": \"/x\", " ONE "}", "not all");
    refused("{\"process\": null, " ONE "}", "must be a whole number from 1 to 4194304");
    refused("{\"process\": {\"tid\": 7}, " ONE "}", "{\"tid\": NUMBER, \"inode\": NUMBER}");
    refused("{\"cgroup\": \"x\", " ONE "}", "must be the absolute path of a cgroup");
    refused("{\"cgroup\": \"/\", " ONE "}", "below the root");
    refused("{\"cgroup\": \"/x/\", " ONE "}", "end without a slash");
    refused("{\"process\": 0, " ONE "}", "must be a whole number from 1 to 4194304");
    refused("{\"program\": \"x\", " ONE "}", "must be the absolute path");
    refused("{\"program\": \"/x\\n\", " ONE "}", "must be the absolute path");
    refused("{\"process\": 1, \"hold\": true, " ONE "}", "needs the key \"program\" or \"cgroup\"");
    refused("{\"program\": \"/x\", \"lifetime\": \"process\", " ONE "}",
            "only if the file also has the key \"process\"");
    refused("{\"process\": 1, \"lifetime\": \"thread\", " ONE "}",
            "must be \"spec\" or \"process\"");
    refused("{\"process\": 1, \"runtime\": 5000, " ONE "}", "cannot stand beside \"threads\"");
    refused("{\"process\": 1, \"on_refusl\": \"wait\", " ONE "}", "did you mean \"on_refusal\"");
    refused(
        "{\"process\": 1,\n\"threads\": [{\"name\": \"a\", \"priority\": 1}, {\"name\": \"b\", \"runtim\": 1}]}",
        "key \"threads\" (line 2) rule 2: key \"runtim\" is unknown; did you mean \"runtime\"?");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\", \"attach\": 1}]}",
            "key \"attach\" cannot stand in a rule");
    refused("{\"process\": 1, \"threads\": [{\"priority\": 1}]}", "key \"name\" is missing");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\"}]}", "states no needs");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\", \"comment\": \"c\"}]}",
            "states no needs");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\", \"leave\": true, \"priority\": 1}]}",
            "must not state needs");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\\u0007\", \"priority\": 1}]}",
            "printable ASCII");
    refused(
        "{\"process\": 1, \"threads\": [{\"name\": \"a\", \"runtime\": 9000, \"period\": 5000}]}",
        "must not exceed the period");
    refused("{\"process\": 1, \"threads\": [5]}", "rule 1: must be an object");
}

static void what_is_for_the_process_stands_beside_the_rules(void **state)
{
    (void)state;
    taken(
        "{\"process\": 1, \"plugin\": \"FP\", \"lock_memory\": \"1MiB\", \"cpu_latency\": \"10us\", \"network\": {\"bytes\": 512, \"period\": \"20ms\"},"
        " \"threads\": [{\"name\": \"a\", \"nice\": -11, \"clamp\": {\"min\": 256}}, {\"name\": \"b\", \"priority\": 1}]}");
    assert_true(program_states_whole(file));
    assert_int_equal(file->whole.extras.lock_memory, 1 << 20);
    assert_int_equal(file->whole.extras.cpu_latency, 10);
    assert_int_equal(file->whole.claims->values[0], 512);
    assert_int_equal(file->rules[0].spec.extras.nice, -11);
    /* A rule that claims no CPU time asks no plugin. */
    assert_null(file->rules[0].spec.plugin);
    assert_string_equal(file->rules[1].spec.plugin, "FP");
    taken("{\"process\": 1, " ONE "}");
    assert_false(program_states_whole(file));
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\", \"lock_memory\": \"1MiB\"}]}",
            "key \"lock_memory\" is for the whole process: state it beside \"threads\"");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\", \"disk\": {\"bytes\": 1}}]}",
            "key \"disk\" is for the whole process");
    refused("{\"process\": 1, \"nice\": -11, " ONE "}", "state it in each rule that needs it");
    refused("{\"process\": 1, \"cpu_latncy\": 5, " ONE "}", "did you mean \"cpu_latency\"?");
    refused("{\"process\": 1, \"lock_memory\": 0, " ONE "}", "must be a whole number of bytes");
    refused("{\"process\": 1, \"expires\": 5, " ONE "}", "cannot stand beside \"threads\"");
}

static void a_rule_has_modes_and_units(void **state)
{
    (void)state;
    taken(
        "{\"process\": 1, \"threads\": [{\"name\": \"a\", \"runtime\": \"2ms\", \"period\": \"33ms\", \"units\": {\"count\": 2}, "
        "\"modes\": {\"sd\": {}, \"hd\": {\"runtime\": \"5ms\"}}, \"mode\": \"sd\"}]}");
    assert_int_equal(file->rules[0].spec.runtime, 5000);
    assert_int_equal(file->rules[0].spec.mode->runtime, 2000);
    assert_int_equal(file->rules[0].spec.claims->values[0], 2);
    refused(
        "{\"process\": 1, \"threads\": [{\"name\": \"a\", \"runtime\": 2, \"modes\": {\"sd\": {}}, \"mode\": \"hd\"}]}",
        "rule 1: key \"mode\" must be the name of one of the modes");
    refused("{\"process\": 1, \"threads\": [{\"name\": \"a\", \"units\": {\"count\": 2}}]}",
            "key \"units\" needs a claim on CPU time beside it");
}

static void the_token_of_a_wrong_file_is_known(void **state)
{
    (void)state;
    refused("{\"threads\": [], \"token\": \"f3a9\"}", "array");
    assert_string_equal(file->token, "f3a9");
}

static void there_are_at_most_64_rules(void **state)
{
    (void)state;
    char *json = malloc(8192), *end = stpcpy(json, "{\"process\": 1, \"threads\": [");
    for (int i = 0; i < RULES_MAX; i++)
        end = stpcpy(end, "{\"name\": \"a\", \"leave\": true},");
    strcpy(end - 1, "]}");
    taken(json);
    strcpy(end, "{\"name\": \"a\", \"leave\": true}]}");
    end[-1] = ',';
    refused(json, "must be an array of 1 to 64 rules");
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_rule_has_what_a_spec_has),
                                       cmocka_unit_test(the_first_rule_that_matches_counts),
                                       cmocka_unit_test(a_pattern_matches_the_whole_name),
                                       cmocka_unit_test(a_hostile_pattern_costs_little),
                                       cmocka_unit_test(a_spec_is_no_program_file),
                                       cmocka_unit_test(what_is_wrong_is_named),
                                       cmocka_unit_test(
                                           what_is_for_the_process_stands_beside_the_rules),
                                       cmocka_unit_test(a_rule_has_modes_and_units),
                                       cmocka_unit_test(the_token_of_a_wrong_file_is_known),
                                       cmocka_unit_test(there_are_at_most_64_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
