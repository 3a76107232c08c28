/* lib/spec.c: what a spec may say. Any other text is refused with a sentence that names the key, the
 * line and what is allowed. A process checks the paragraphs of another process about a spec as
 * strictly as the text. */
#include "spec-parse.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "units.h"

static char reason[REASON_BYTES];
static struct spec spec;
static char text[2 * SPEC_BYTES_MAX];

static const char *const times[] = {"runtime", "period", "deadline", "desired_runtime", "blocking"};
#define A_TIME \
    "must be a whole number of microseconds, or a string such as \"8ms\" with us, ms, s, min, h or d, from 1us to 3600s"
#define A_NAME " characters [A-Za-z0-9_.@:-] that starts with [A-Za-z0-9_]"

static bool parses(const char *json, size_t length)
{
    spec_free(&spec);
    memset(reason, 'x', sizeof reason);
    reason[0] = '\0';
    return spec_parse(json, length, &spec, reason);
}

/* The message is one sentence for a log line, and has all of these parts (NULL ends the list). */
static void refused_bytes(const char *json, size_t length, const char *const parts[])
{
    check(!parses(json, length), "%.200s", json);
    assert_true(memchr(reason, '\0', sizeof reason) != NULL);
    for (const char *at = reason; *at != '\0'; at++)
        check(*at >= 0x20 && *at <= 0x7e, "%.100s: byte %d", json, *at);
    for (; *parts != NULL; parts++)
        check(strstr(reason, *parts) != NULL, "%.100s: \"%s\" misses \"%s\"", json, reason, *parts);
}

#define refused(json, ...) \
    refused_bytes(json, strlen(json), (const char *const[]){__VA_ARGS__, NULL})

static void taken(const char *json)
{
    check(parses(json, strlen(json)), "%.200s: %s", json, reason);
}

/* A text that is repeated this many times, then the rest. */
static const char *many(const char *before, const char *one, int count, const char *behind)
{
    char *end = stpcpy(text, before);
    while (count-- > 0)
        end = stpcpy(end, one);
    stpcpy(end, behind);
    return text;
}

/* Each value is refused when the key is on the third line. */
static void values_refused(const char *key, const char *allowed, const char *const values[],
                           size_t count)
{
    char json[256], place[64];
    snprintf(place, sizeof place, "key \"%s\" (line 3)", key);
    for (size_t i = 0; i < count; i++) {
        snprintf(json, sizeof json, "{\n\n\"%s\": %s}", key, values[i]);
        refused(json, place, allowed);
    }
}

#define VALUES(...)                     \
    (const char *const[]){__VA_ARGS__}, \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

static void what_is_not_json_is_told_with_its_place(void **state)
{
    static const char *const wrong[] = {"not json",
                                        "{\"runtime\": \"5ms\"",
                                        "{",
                                        " ",
                                        "\n\n",
                                        "",
                                        "{\"runtime\": \"5ms\",}",
                                        "{'runtime': 5}",
                                        "{\"runtime\": 5ms}",
                                        "{\"runtime\": NaN}",
                                        "{\"runtime\": 0x10}",
                                        "{\"runtime\": 05}",
                                        "{\"runtime\": +5}",
                                        "{\"runtime\" \"5ms\"}",
                                        "{runtime: 5}",
                                        "// {}",
                                        "{\"comment\": \"a",
                                        "{\"comment\": \"\\x\"}",
                                        "{\"comment\": \"\\ud800\"}",
                                        "{\"comment\": \"a\\u0000b\"}",
                                        "{\"comment\": \"a\tb\"}",
                                        "{}{}",
                                        "{} x",
                                        "{},"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i], "JSON object", "line ", "column ");
    refused("{\"runtime\": \"5ms\",\n \"period\": oops}", "line 2");
    refused("{\"runtime\": \"5ms\",\n \"period\": \"10ms\"\n\n", "line 4");
}

static void arrays_and_scalars_are_no_object(void **state)
{
    static const char *const wrong[] = {"[]",    "[{\"runtime\": \"1ms\", \"period\": \"10ms\"}]",
                                        "\"x\"", "5",
                                        "null",  "true"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i], "one JSON object");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
#define BYTES(bytes)             \
    {                            \
        bytes, sizeof(bytes) - 1 \
    }
    static const struct {
        const char *bytes;
        size_t length;
    } wrong[] = {BYTES("\0"),
                 BYTES("{}\0"),
                 BYTES("{\0}"),
                 BYTES("\0{}"),
                 BYTES("{\"runtime\": \"1ms\0\", \"period\": \"10ms\"}"),
                 BYTES("{\"comment\": \"a\0b\"}"),
                 BYTES("{\"runtime\0\": \"1ms\"}"),
                 BYTES("\xef\xbb\xbf{\"runtime\": \"1ms\", \"period\": \"10ms\"}"),
                 BYTES("\xff\xfe{\0}\0"),
                 BYTES("{\"comment\": \"\xff\"}"),
                 BYTES("{\"comment\": \"\xc0\x80\"}"),
                 BYTES("{\"comment\": \"\xed\xa0\x80\"}"),
                 BYTES("{\"comment\": \"\xf4\x90\x80\x80\"}"),
                 BYTES("{\"comment\": \"\xe2\x82\"}"),
                 BYTES("{\"\xff\": 1}"),
                 BYTES("\x1b[31m{}")};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused_bytes(wrong[i].bytes, wrong[i].length,
                      (const char *const[]){"JSON object", "line 1", NULL});
}

static void depth_and_length_are_bounded(void **state)
{
    (void)state;
    refused(many("", "[", 10000, ""), "line 1", "depth");
    refused(many("", "{\"a\":", 10000, ""), "line 1", "depth");
    refused(many("{\"runtime\": ", "[", 10000, "}"), "line 1", "depth");
    refused("{\"runtime\": [[[\"5ms\"]]]}", "key \"runtime\" (line 1)", A_TIME);
    taken(many("{\"runtime\": 5}", " ", SPEC_BYTES_MAX - 14, ""));
    refused(many("{\"runtime\": 5}", " ", SPEC_BYTES_MAX - 13, ""), "is longer than 65536 bytes");
}

static void unknown_keys_are_named_with_their_line(void **state)
{
#define LISTED "is unknown: rtf-spec(5) lists the keys"
    static const char *const wrong[][2] = {{"perod", "period"},
                                           {"Runtime", "runtime"},
                                           {"RUNTIME", "runtime"},
                                           {"runtime_", "runtime"},
                                           {"plugins", "plugin"},
                                           {"modus", "modes"},
                                           {"mods", "modes"},
                                           {"desired-runtime", "desired_runtime"},
                                           {"desierd_runtime", "desired_runtime"},
                                           {"netwrk", "network"},
                                           {"unit", "units"},
                                           {"dryrun", "dry_run"}};
    static const char *const odd[] = {"",       " ",    "dur\303\251e",   "-",
                                      "_",      "uid",  "cpxxs",          "a/b",
                                      "$(id)",  "a\\n", "\\u001b[31mred", "\\u202eevil",
                                      "a\\\"b", "\\\\"};
    char json[128], meant[64];
    (void)state;
    refused("{\"runtime\": \"1ms\",\n \"perod\": \"10ms\"}",
            "key \"perod\" (line 2) is unknown; did you mean \"period\"?");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(json, sizeof json, "{\"%s\": 1}", wrong[i][0]);
        snprintf(meant, sizeof meant, "is unknown; did you mean \"%s\"?", wrong[i][1]);
        refused(json, meant);
    }
    /* The misspelt name occurs as a value first, or has blanks before its colon. */
    refused("{\"token\": \"perod\",\n \"perod\"\n : 1}", "key \"perod\" (line 2)");
    refused("{\"comment\": \"\\\"perod\\\": 1\",\n \"perod\": 1}", "key \"perod\" (line 2)");
    refused("{\"comment\": \"{[\\\\\",\n \"perod\": 1}", "key \"perod\" (line 2)");
    /* the sentence does not repeat the key, but names its line */
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        snprintf(json, sizeof json, "{\"runtime\": \"1ms\",\n\n\"%s\": 1}", odd[i]);
        refused(json, "key \"", "(line 3)", LISTED);
    }
    refused("{\"run time\": 1}", "key \"?\" (line 1) is unknown; did you mean \"runtime\"?");
    refused("{\"runtime \": 1}", "key \"?\" (line 1) is unknown; did you mean \"runtime\"?");
    refused(many("{\"runtime\": \"1ms\",\n\n\"", "x", 65, "\": 1}"), "key \"?\" (line 3)", LISTED);
    refused(many("{\"runtime\": \"1ms\",\n\n\"", "x", 2000, "\": 1}"), "key \"?\" (line 3)",
            LISTED);
}

static void a_key_stands_once(void **state)
{
    (void)state;
    refused("{\"runtime\": \"1ms\",\n\"period\": \"10ms\",\n\"runtime\": \"1ms\"}", "runtime",
            "line 3", "duplicate");
    refused("{\"runtime\": \"1ms\",\n\n\n\"runt\\u0069me\": \"1ms\"}", "line 4", "duplicate");
    refused("{\"comment\": \"a\", \"comment\":\n\"a\"}", "comment", "line 1", "duplicate");
    /* a key that is written with escapes is the same key */
    taken("{\"\\u0072untime\": \"1ms\", \"p\\u0065rio\\u0064\": \"10ms\"}");
    assert_true(spec.runtime == 1000 && spec.period == 10000);
    refused("{\"period\": \"10ms\",\n\"\\u0072untime\": 0}", "key \"runtime\" (line 2)", A_TIME);
}

static void times_of_another_type_form_or_size_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        values_refused(times[i], A_TIME,
                       VALUES("null", "true", "[]", "{}", "[5]", "\"\"", "\"5\"", "\"ms\"",
                              "\"5 ms\"", "\" 5ms\"", "\"5ms \"", "\"5MS\"", "\"5m\"", "\"5ns\"",
                              "\"5\xc2\xb5s\"", "\"1.5ms\"", "\"5e3us\"", "\"0x5us\"", "\"+5ms\"",
                              "\"5ms5us\"", "\"5,000us\"", "1.5", "5.0", "5e3"));
        values_refused(times[i], A_TIME,
                       VALUES("0", "-0", "-1", "-9223372036854775808", "3600000001",
                              "9223372036854775807", "1e30", "-1e30", "\"0\"", "\"0us\"", "\"0s\"",
                              "\"-5ms\"", "\"3601s\"", "\"3600001ms\"", "\"3600000001us\"",
                              "\"18446744073709551616us\"", "\"18446744073709551s\"",
                              "\"1000000000000000000000000000000s\""));
    }
}

static void what_was_meant_is_told(void **state)
{
    static const char *const pairs[][2] = {{"\"1.5ms\"", "; write \"1500us\""},
                                           {"1000.0", "; write 1000"},
                                           {"1e3", "; write 1000"},
                                           {"\"5 ms\"", "; write \"5000us\""},
                                           {"\"2e-3s\"", "; write \"2000us\""},
                                           {"\"0.25S\"", "; write \"250000us\""}};
    static const char *const none[] = {"1.5",        "\"1.5us\"",
                                       "1e-3",       "1e30",
                                       "\"5\"",      "\"ms\"",
                                       "\"1e99us\"", "0.0",
                                       "-5.0",       "\"99999999999999999999ms\"",
                                       "\".\"",      "\"1.2.3ms\""};
    char json[80];
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        snprintf(json, sizeof json, "{\"period\": %s}", pairs[i][0]);
        refused(json, A_TIME, pairs[i][1]);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(json, sizeof json, "{\"period\": %s}", none[i]);
        refused(json, A_TIME);
        check(strstr(reason, "; write") == NULL, "%s: %s", json, reason);
    }
}

static void a_number_that_no_integer_holds_is_told_as_such(void **state)
{
    (void)state;
    refused(many("{\n\n\"runtime\": ", "9", 31, "}"),
            "line 3: a number is too big: no key takes more than 3600000000");
    refused(many("{\n\n\"priority\": -", "9", 31, "}"), "line 3", "too big");
    refused("{\n\n\"deadline\": 9223372036854775808}", "line 3", "3600");
    refused("{\n\n\"runtime\": 1e400}", "line 3", "3600");
}

static void other_values_are_what_they_must_be(void **state)
{
    (void)state;
    values_refused("priority", "must be a whole number from 1 to 99",
                   VALUES("0", "-1", "100", "98.5", "99.0", "1e1", "2147483648", "4294967297",
                          "\"30\"", "null", "true", "[30]", "{}"));
    values_refused("attach", "must be a whole number from 1 to 4194304",
                   VALUES("0", "-1", "4194305", "4294967297", "1.5", "\"42\"", "true", "[42]",
                          "{}"));
    values_refused("ignore_admission", "must be true or false",
                   VALUES("0", "1", "\"true\"", "null", "[]", "{}", "1.0"));
    values_refused("reclaim", "must be true or false", VALUES("0", "1", "\"true\"", "null", "{}"));
    values_refused("overrun_signal", "must be true or false",
                   VALUES("0", "1", "\"true\"", "null", "{}"));
    values_refused("dry_run", "must be true or false",
                   VALUES("0", "1", "\"true\"", "null", "[]", "{}", "1.0"));
    values_refused("lifetime", "must be \"spec\" or \"thread\"",
                   VALUES("\"\"", "\"Thread\"", "\"spec \"", "\"thread\\n\"", "\"forever\"", "1",
                          "null", "true", "[\"spec\"]", "{}"));
    values_refused("move", "must be \"thread\" or \"process\"",
                   VALUES("\"\"", "\"spec\"", "1", "null", "true", "[\"thread\"]"));
}

static void names_are_short_words_of_their_alphabet(void **state)
{
#define NO_NAMES                                                                                   \
    VALUES("\"\"", "\".x\"", "\"-\"", "\"@x\"", "\"a b\"", "\"a/b\"", "\"../EDF\"",                \
           "\"\xc3\xa9\"", "\"EDF\\n\"", "\"\\u001b[31m\"", "\"\\u202e\"", "\"a=b\"", "5", "null", \
           "true", "[\"EDF\"]", "{}")
    (void)state;
    values_refused("plugin", "must be a string of 1 to 32" A_NAME, NO_NAMES);
    values_refused("token", "must be a string of 1 to 64" A_NAME, NO_NAMES);
    refused(many("{\"plugin\": \"", "p", 33, "\"}"), "1 to 32");
    refused(many("{\"plugin\": \"", "p", 60000, "\"}"), "1 to 32");
    refused(many("{\"token\": \"", "t", 65, "\"}"), "1 to 64");
    refused(many("{\"token\": \"", "t", 60000, "\"}"), "1 to 64");
    values_refused("comment", "must be a string of at most 1024 bytes",
                   VALUES("5", "null", "true", "[\"x\"]", "{\"x\": 1}"));
    refused(many("{\"comment\": \"", "c", 1025, "\"}"), "at most 1024 bytes");
    refused(many("{\"comment\": \"", "\xc3\xa9", 513, "\"}"), "at most 1024 bytes");
}

static void times_that_contradict_one_another_are_told(void **state)
{
    (void)state;
    refused("{\"period\": \"10ms\",\n\"runtime\": \"11ms\"}", "key \"runtime\" (line 2)",
            "must not exceed the period: 11000us against 10000us");
    refused("{\"deadline\": \"5ms\",\n\"runtime\": \"5001us\"}", "key \"runtime\" (line 2)",
            "must not exceed the deadline: 5001us against 5000us");
    refused("{\"deadline\": \"5ms\", \"period\": \"10ms\",\n\"runtime\": \"6ms\"}",
            "key \"runtime\" (line 2)", "must not exceed the deadline: 6000us against 5000us");
    refused("{\"runtime\": \"1ms\", \"period\": \"10ms\",\n\"deadline\": 10001}",
            "key \"deadline\" (line 2)", "must not exceed the period: 10001us against 10000us");
    refused("{\"period\": \"10ms\",\n\"desired_runtime\": \"2ms\"}",
            "key \"desired_runtime\" (line 2)", "needs the key \"runtime\"");
    refused("{\"runtime\": \"2ms\", \"period\": \"10ms\",\n\"desired_runtime\": 1999}",
            "key \"desired_runtime\" (line 2)",
            "must not be below the runtime: 1999us against 2000us");
    refused("{\"runtime\": \"2ms\", \"period\": \"10ms\",\n\"desired_runtime\": \"11ms\"}",
            "key \"desired_runtime\" (line 2)",
            "must not exceed the period: 11000us against 10000us");
    refused(
        "{\"runtime\": \"2ms\", \"period\": \"10ms\", \"deadline\": \"5ms\",\n\"desired_runtime\": \"6ms\"}",
        "key \"desired_runtime\" (line 2)", "must not exceed the deadline: 6000us against 5000us");
    refused("{\"period\": \"10ms\",\n\"blocking\": \"2ms\"}", "key \"blocking\" (line 2)",
            "needs the key \"runtime\"");
    refused("{\"runtime\": \"2ms\", \"period\": \"10ms\",\n\"blocking\": \"11ms\"}",
            "key \"blocking\" (line 2)", "must not exceed the period: 11000us against 10000us");
    refused(
        "{\"runtime\": 1, \"desired_runtime\": 2, \"deadline\": \"5ms\",\n\"blocking\": \"6ms\"}",
        "key \"blocking\" (line 2)", "must not exceed the deadline: 6000us against 5000us");
    refused("{\"token\": \"t\", \"runtime\": 0}", "key \"runtime\"");
    /* a client can recognize even the answer to a refused spec */
    assert_string_equal(spec.token, "t");
}

static void a_dry_run_attaches_nothing(void **state)
{
    (void)state;
    refused("{\"attach\": 1,\n\"dry_run\": true}", "key \"dry_run\" (line 2)",
            "cannot stand beside the key \"attach\"");
    taken("{\"dry_run\": true}");
    assert_true(spec.dry_run);
    taken("{\"attach\": 1, \"dry_run\": false}");
    assert_true(!spec.dry_run && spec.attach == 1);
}

static void each_key_takes_its_whole_range(void **state)
{
    static const char *const good[] = {
        "1",         "\"1us\"",  "3600000000", "\"3600000000us\"", "\"3600000ms\"",
        "\"3600s\"", "\"007ms\""};
    char json[256];
    (void)state;
    taken("{}");
    taken(
        "{\"runtime\": \"3600s\", \"desired_runtime\": \"3600s\", \"period\": \"3600s\", \"deadline\": \"3600s\", \"blocking\": \"3600s\"}");
    assert_true(spec.runtime == TIME_MAX && spec.desired_runtime == TIME_MAX &&
                spec.period == TIME_MAX && spec.deadline == TIME_MAX && spec.blocking == TIME_MAX);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) {
            snprintf(json, sizeof json, "{%s\"%s\": %s}", j >= 3 ? "\"runtime\": 1, " : "",
                     times[j], good[i]);
            taken(json);
        }
    taken(
        "{\"priority\": 1, \"attach\": 1, \"lifetime\": \"thread\", \"move\": \"process\", \"budget\": \"process\", \"ignore_admission\": true}");
    assert_true(spec.priority == 1 && spec.attach == 1 && spec.lifetime_thread &&
                spec.move_process && spec.budget_process && spec.ignore_admission);
    taken(
        "{\"priority\": 99, \"attach\": 4194304, \"lifetime\": \"spec\", \"move\": \"thread\", \"budget\": \"thread\", \"ignore_admission\": false}");
    assert_true(spec.priority == 99 && spec.attach == 4194304 && !spec.lifetime_thread &&
                !spec.move_process && !spec.budget_process && !spec.ignore_admission);
    taken("{\"reclaim\": true, \"overrun_signal\": false}");
    assert_true(spec.reclaim && !spec.overrun_signal && spec_claims_cpu(&spec));
    taken("{\"reclaim\": false, \"overrun_signal\": true}");
    assert_true(!spec.reclaim && spec.overrun_signal && spec_claims_cpu(&spec));
    taken(many("{\"plugin\": \"", "p", 32, "\"}"));
    taken(many("{\"token\": \"", "t", 64, "\"}"));
    taken("{\"token\": \"a.b@c:d-e_F9\"}");
    assert_string_equal(spec.token, "a.b@c:d-e_F9");
    taken(many("{\"comment\": \"", "\xc3\xa9", 512, "\"}"));
    taken("{\"comment\": \"\\u0001\\u001b[31m\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00\"}");
    taken("\r\n\t{ \"period\" : \"20000us\" ,\r\n\"runtime\" : \"2ms\" }\r\n\n");
    assert_true(spec.runtime == 2000 && spec.period == 20000);
}

static void the_window_is_the_shorter_of_what_is_stated(void **state)
{
    (void)state;
    assert_int_equal(spec_window(&(struct spec){.period = 10, .deadline = 5}), 5);
    assert_int_equal(spec_window(&(struct spec){.period = 10, .deadline = 10}), 10);
    assert_int_equal(spec_window(&(struct spec){.period = 10}), 10);
    assert_int_equal(spec_window(&(struct spec){.deadline = 5}), 5);
    assert_int_equal(spec_window(&(struct spec){0}), 0);
}

static void a_thread_id_is_one_number(void **state)
{
    static const char *const wrong[] = {
        "",     "\n",    "0",     "0\n", "-1",        "+1",      " 1",
        "1 ",   "1\n\n", "1\r\n", "1 2", "1 inode=0", "4194305", "99999999999999999999",
        "0x10", "1.0"};
    pid_t tid = 0;
    uint64_t inode;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!spec_parse_tid(wrong[i], strlen(wrong[i]), &tid, &inode), "\"%s\"", wrong[i]);
    assert_false(spec_parse_tid("1\0", 2, &tid, &inode));
    assert_true(spec_parse_tid("4194304\n", 8, &tid, &inode) && tid == 4194304);
    assert_true(spec_parse_tid("17", 2, &tid, &inode) && tid == 17 && inode == 0);
    assert_true(spec_parse_tid("7 inode=81234\n", 14, &tid, &inode) && tid == 7 && inode == 81234);
    assert_false(spec_parse_tid("7 inode=", 8, &tid, &inode));
    assert_false(spec_parse_tid("7 inode=1 2", 11, &tid, &inode));
    assert_false(spec_parse_tid("7  inode=1", 10, &tid, &inode));
}

/* ---- from one process to another ---- */

static bool comes_back(const struct spec *sent, struct spec *got)
{
    struct paragraph_output output = {0};
    struct paragraph_input input = {0};
    struct paragraph paragraph;
    const char *why = NULL;
    spec_add(&output, sent);
    paragraph_add(&output, "end", "");
    paragraph_close(&output);
    assert_true(paragraph_feed(&input, output.data, output.length));
    check(paragraph_take(&input, &paragraph, &why) == 1, "%s", why);
    const bool good = spec_get(&paragraph, got);
    paragraph_input_free(&input);
    paragraph_output_free(&output);
    return good;
}

static uint64_t random_time(void)
{
    return random_below(3) == 0 ? 0 : random_within(1, random_below(2) == 0 ? 20 : TIME_MAX);
}

/* spec_get refuses each spec that spec_parse refuses, and returns an accepted spec unchanged. */
static void what_is_told_is_checked_as_the_text_was(void **state)
{
    int good = 0, bad = 0;
    (void)state;
    random_from(8);
    for (int round = 0; round < ROUNDS(40000); round++) {
        struct spec sent = {.runtime = random_time(),
                            .desired_runtime = random_time(),
                            .period = random_time(),
                            .deadline = random_time(),
                            .blocking = random_time(),
                            .priority = (int)random_below(100),
                            .attach = (pid_t)(random_below(2) * random_below(4194305)),
                            .ignore_admission = random_below(2),
                            .reclaim = random_below(2),
                            .overrun_signal = random_below(2),
                            .lifetime_thread = random_below(2),
                            .move_process = random_below(2),
                            .budget_process = random_below(2),
                            .dry_run = random_below(2)},
                    got;
        char json[400], *end = json;
        const uint64_t *const values[] = {&sent.runtime, &sent.period, &sent.deadline,
                                          &sent.desired_runtime, &sent.blocking};
        end += sprintf(end, "{\"comment\": \"\"");
        for (int i = 0; i < 5; i++)
            if (*values[i] != 0)
                end += sprintf(end, ", \"%s\": %llu", times[i], (unsigned long long)*values[i]);
        if (sent.attach != 0)
            end += sprintf(end, ", \"attach\": %d", (int)sent.attach);
        stpcpy(end, sent.dry_run ? ", \"dry_run\": true}" : "}");
        const bool was_taken = parses(json, strlen(json)), is_taken = comes_back(&sent, &got);
        check(was_taken == is_taken, "%s: %s", json, reason);
        if (is_taken)
            assert_memory_equal(&got, &sent, sizeof got);
        *(is_taken ? &good : &bad) += 1;
    }
    assert_true(good > ROUNDS(2000) && bad > ROUNDS(2000));
}

static bool lines_are_taken(const char *lines)
{
    struct paragraph_input input = {0};
    struct paragraph paragraph;
    struct spec got;
    const char *why = NULL;
    assert_true(paragraph_feed(&input, lines, strlen(lines)));
    const bool good = paragraph_take(&input, &paragraph, &why) == 1 && spec_get(&paragraph, &got);
    if (why == NULL)
        spec_free(&got);
    paragraph_input_free(&input);
    return good;
}

static void lines_that_no_spec_has_are_refused(void **state)
{
    static const char *const wrong[] = {
        "runtime=-1\n\n",
        "runtime=1us\n\n",
        "runtime=3600000001\n\n",
        "priority=100\n\n",
        "attach=4194305\n\n",
        "ignore_admission=2\n\n",
        "reclaim=2\n\n",
        "overrun_signal=true\n\n",
        "lifetime_thread=true\n\n",
        "plugin=\n\n",
        "plugin=a/b\n\n",
        "token=.\n\n",
        "token= \n\n",
        "plugin=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n",
        "period=10\nruntime=11\n\n",
        "desired_runtime=1\n\n",
        "blocking=1\n\n",
        "runtime=1\nperiod=2\nblocking=3\n\n",
        "attach=1\ndry_run=1\n\n",
        "dry_run=2\n\n",
        "units_count=0\n\n",
        "units_count=1000000001\n\n",
        "network_bytes=1\n\n",
        "network_bytes=0\nnetwork_period=1\n\n",
        "network_bytes=1073741825\nnetwork_period=1\n\n",
        "network_bytes=1\nnetwork_period=1\nnetwork_interface=a/b\n\n",
        "network_bytes=1\nnetwork_period=1\nnetwork_interface=0123456789abcdef\n\n",
        "disk_bytes=1\ndisk_period=1\ndisk_device=a/b\n\n",
        "disk_bytes=1\ndisk_period=1\ndisk_block=16777217\n\n",
        "disk_bytes=1\n\n",
        "units_count=1\nunits_plugin=a/b\n\n",
        "units_count=1\nattach=1\n\n",
        "runtime=10\nperiod=10\nmode=a b\n\n",
        "runtime=10\nperiod=10\nmode=a\nruntime_in_mode=11\nruntime_least=10\n\n",
        "runtime=10\nperiod=10\nmode=a\nruntime_in_mode=5\n\n",
        "runtime=10\nperiod=10\nmode=a\nruntime_in_mode=5\nruntime_least=6\n\n",
        "runtime=10\nperiod=10\nmode=a\nruntime_least=11\n\n",
        "units_count=1\nunits_in_mode=2\n\n",
        "units_background=1\n\n",
        "network_background=2\n\n",
        "disk_background=1\ndisk_block=512\n\n",
        "network_background=1\nnetwork_bytes=5\nnetwork_period=5\n\n",
        "network_background=0\n\n",
        "network_background=1\nnetwork_least=1\n\n"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!lines_are_taken(wrong[i]), "%s", wrong[i]);
    assert_true(lines_are_taken("runtime=10\nperiod=10\nplugin=EDF\ntoken=x\n\n"));
    assert_true(lines_are_taken("units_count=1\nunits_plugin=CAMERA\n\n"));
    assert_true(lines_are_taken(
        "runtime=10\nperiod=10\nmode=a\nruntime_in_mode=5\nruntime_least=2\nunits_count=3\nunits_in_mode=2\n\n"));
    assert_true(lines_are_taken(
        "network_background=1\nnetwork_interface=eth0\ndisk_background=1\ndisk_plugin=DISK\n\n"));
    assert_true(
        lines_are_taken("network_bytes=1024\nnetwork_period=20000\nnetwork_interface=eth0.5\n\n"));
}

static void claims_are_told_with_their_key(void **state)
{
    (void)state;
    taken(
        "{\"units\": {\"count\": 2, \"plugin\": \"CAMERA\"}, \"token\": \"t\", \"lifetime\": \"thread\"}");
    assert_non_null(spec.claims);
    assert_int_equal(spec.claims->resource, RESOURCE_UNITS);
    assert_int_equal(spec.claims->values[0], 2);
    assert_string_equal(spec.claims->plugin, "CAMERA");
    assert_null(spec.claims->next);
    assert_false(spec_claims_cpu(&spec));
    taken("{\"units\": {\"count\": 1000000000}, \"priority\": 1}");
    assert_true(spec_claims_cpu(&spec));
    taken("{}");
    /* no value for a plugin is set, but the spec claims nothing else */
    assert_true(spec_claims_cpu(&spec));
    refused("{\"units\": 2}", "key \"units\" (line 1) must be an object, such as {\"count\": 1}");
    refused("{\"runtime\": 5,\n\"units\": {}}", "key \"units\" (line 2) lacks the key \"count\"");
    refused("{\"units\": {\"count\": 0}}",
            "has the key \"count\", which must be a whole number from 1 to 1000000000");
    refused("{\"units\": {\"count\": 1.0}}", "which must be a whole number");
    refused("{\"units\": {\"count\": 1, \"size\": 1}}",
            "has the key \"size\", which is unknown there");
    refused("{\"units\": {\"cuont\": 1}}",
            "has the key \"cuont\", which is unknown there; did you mean \"count\"?");
    refused("{\"network\": {\"bandwith\": 1}}",
            "which is unknown there; did you mean \"bandwidth\"?");
    refused("{\"disk\": {\"devise\": \"sda\"}}",
            "which is unknown there; did you mean \"device\"?");
    refused("{\"units\": {\"count\": 1, \"\\u001b[31m\": 1}}",
            "has the key \"?\", which is unknown there");
    refused("{\"units\": {\"count\": 1, \"plugin\": \"a b\"}}",
            "has the key \"plugin\", which must be a string");
    refused("{\"units\": {\"count\": 1},\n\"attach\": 5}",
            "key \"attach\" (line 2) needs a claim beside it: on CPU time");
    refused("{\"cpu\": {\"count\": 1}}", "is unknown");
}

static void what_a_loop_needs_beside_cpu_time_is_bounded(void **state)
{
    struct spec told;
    (void)state;
    taken(
        "{\"lock_memory\": \"256MiB\", \"cpu_latency\": \"10us\", \"nice\": -11, \"clamp\": {\"min\": 0, \"max\": 1024}, \"attach\": 5}");
    assert_int_equal(spec.extras.lock_memory, 268435456);
    assert_int_equal(spec.extras.cpu_latency, 10);
    assert_int_equal(spec.extras.nice, -11);
    assert_int_equal(spec.extras.clamp_min, 1);
    assert_int_equal(spec.extras.clamp_max, 1025);
    assert_false(spec_claims_cpu(&spec));
    assert_true(comes_back(&spec, &told));
    assert_memory_equal(&told.extras, &spec.extras, sizeof told.extras);
    spec_free(&told);
    taken("{\"lock_memory\": \"1024GiB\", \"priority\": 5, \"clamp\": {\"max\": 0}}");
    assert_true(spec_claims_cpu(&spec));
    assert_int_equal(spec.extras.clamp_min, 0);
    values_refused("lock_memory", "from 1B to 1024GiB",
                   VALUES("0", "-1", "\"1025GiB\"", "1099511627777", "\"1TiB\"", "1.5", "null"));
    values_refused("cpu_latency", "from 1us to",
                   VALUES("0", "-1", "\"2s\"", "1000001", "\"1\"", "true"));
    values_refused("nice", "must be a whole number from -20 to -1",
                   VALUES("0", "1", "-21", "\"-5\"", "-1.5"));
    values_refused("clamp", "min not above max",
                   VALUES("1", "{}", "{\"min\": 1025}", "{\"min\": -1}", "{\"max\": \"5\"}",
                          "{\"min\": 6, \"max\": 5}", "{\"min\": 5, \"x\": 5}"));
}

static void what_a_grant_keeps_of_a_spec_is_its_own(void **state)
{
    struct spec told, kept;
    (void)state;
    taken(
        "{\"mode\": \"b\", \"modes\": {\"b\": {\"runtime\": 2}}, \"period\": 9, \"cpus\": \"0,65\", \"plugin\": \"P\", \"token\": \"t\", \"units\": {\"count\": 4}}");
    assert_true(comes_back(&spec, &told));
    kept = spec_copy(&told);
    spec_free(&told);
    assert_int_equal(kept.runtime, 2);
    assert_string_equal(kept.mode->name, "b");
    assert_true(CPU_EQUAL(kept.cpus, spec.cpus) && CPU_COUNT(kept.cpus) == 2 &&
                CPU_ISSET(65, kept.cpus));
    assert_true(kept.plugin == NULL && kept.token == NULL && kept.claims == NULL);
    spec_free(&kept);
}

static void of_modes_the_most_is_asked_for(void **state)
{
    (void)state;
    taken(
        "{\"mode\": \"b\", \"modes\": {\"a\": {\"runtime\": 7}, \"b\": {\"units\": {\"count\": 2}}, \"c\": {\"runtime\": 3, \"units\": {\"count\": 1}}},"
        " \"runtime\": 5, \"period\": 9, \"units\": {\"count\": 4}}");
    assert_string_equal(spec.mode->name, "b");
    assert_int_equal(spec.runtime, 7);
    assert_int_equal(spec.mode->runtime, 5);
    assert_int_equal(spec_least_runtime(&spec), 3);
    assert_int_equal(spec.claims->values[0], 4);
    assert_int_equal(spec.claims->in_mode, 2);
    /* The current mode needs more than all others. */
    taken(
        "{\"modes\": {\"a\": {\"runtime\": 7}, \"b\": {\"runtime\": 2}}, \"mode\": \"a\", \"period\": 9}");
    assert_int_equal(spec.runtime, 7);
    assert_int_equal(spec.mode->runtime, 0);
    assert_int_equal(spec_least_runtime(&spec), 2);
    taken("{\"runtime\": 4, \"period\": 9}");
    assert_null(spec.mode);
    assert_int_equal(spec_least_runtime(&spec), 4);
    refused(
        "{\"runtime\": 4, \"period\": 9,\n\"modes\": {\"a\": {\"runtime\": 10}}, \"mode\": \"a\"}",
        "key \"runtime\" (line 1) must not exceed the period");
    refused("{\"runtime\": 4, \"period\": 9,\n\"modes\": {\"a\": {}}, \"mode\": \"b\"}",
            "key \"mode\" (line 2) must be the name of one of the modes");
    refused("{\"runtime\": 4, \"period\": 9,\n\"modes\": {\"\\u001b\": {}}, \"mode\": \"b\"}",
            "key \"modes\" (line 2) must have names");
}

static void what_a_wire_carries_is_said_in_bytes_and_times(void **state)
{
    (void)state;
    taken(
        "{\"network\": {\"interface\": \"eth0\", \"bytes\": \"32KiB\", \"period\": \"20ms\"}, \"units\": {\"count\": 1}}");
    /* the claims are in the order of the resources */
    assert_int_equal(spec.claims->resource, RESOURCE_UNITS);
    assert_int_equal(spec.claims->next->values[0], 32768);
    assert_int_equal(spec.claims->next->values[1], 20000);
    assert_string_equal(spec.claims->next->where, "eth0");
    assert_false(spec_claims_cpu(&spec));
    refused("{\"network\": {\"bytes\": 1}}", "key \"network\" (line 1) lacks the key \"period\"");
    refused("{\"network\": {\"period\": 1}}", "key \"network\" (line 1) lacks the key \"bytes\"");
    refused("{\"network\": {\"bytes\": \"1GiB\", \"period\": 1}}",
            "has the key \"bytes\", which must be a whole number of bytes");
    refused("{\"network\": {\"bytes\": 1, \"period\": \"1w\"}}",
            "has the key \"period\", which must be a whole number of microseconds");
    refused("{\"network\": {\"bytes\": 1, \"period\": 1, \"interface\": \"a b\"}}",
            "has the key \"interface\", which must be the name of an interface");
    refused("{\"units\": {\"count\": 1, \"interface\": \"eth0\"}}",
            "has the key \"interface\", which is unknown there");
}

static void what_a_disk_carries_has_a_block(void **state)
{
    (void)state;
    taken(
        "{\"disk\": {\"device\": \"/dev/sda\", \"bytes\": \"32KiB\", \"period\": \"50ms\", \"block\": \"32KiB\"}}");
    assert_string_equal(spec.claims->where, "sda");
    assert_int_equal(spec.claims->values[2], 32768);
    assert_false(spec_claims_cpu(&spec));
    taken("{\"disk\": {\"bandwidth\": \"640kB\"}}");
    assert_int_equal(spec.claims->values[0], 640000);
    assert_int_equal(spec.claims->values[1], 1000000);
    assert_int_equal(spec.claims->values[2], 4096);
    refused("{\"disk\": {\"bytes\": 1}}", "key \"disk\" (line 1) lacks the key \"period\"");
    refused("{\"disk\": {\"bandwidth\": 1, \"block\": \"17MiB\"}}",
            "has the key \"block\", which must be from 1B to 16777216B");
    refused(
        "{\"disk\": {\"bandwidth\": 1, \"device\": \"/var/rec\"}}",
        "has the key \"device\", which must be the name of a whole disk, such as \"sda\", and not a path");
    refused("{\"disk\": {\"bandwidth\": 1, \"interface\": \"eth0\"}}",
            "has the key \"interface\", which is unknown there");
}

static void what_asks_for_no_guarantee_says_only_where(void **state)
{
    (void)state;
    taken(
        "{\"disk\": {\"background\": true, \"device\": \"/dev/sda\", \"plugin\": \"DISK\"}, \"network\": {\"background\": true}, \"attach\": 5}");
    assert_int_equal(spec.claims->resource, RESOURCE_NETWORK);
    assert_true(spec.claims->background);
    assert_true(spec.claims->next->background);
    assert_string_equal(spec.claims->next->where, "sda");
    assert_string_equal(spec.claims->next->plugin, "DISK");
    for (const struct claim *claim = spec.claims; claim != NULL; claim = claim->next)
        for (int i = 0; i < CLAIM_VALUES; i++)
            assert_int_equal(claim->values[i], 0); /* no preset value either */
    assert_false(spec_claims_cpu(&spec));
    taken("{\"disk\": {\"background\": false, \"bandwidth\": 5}}");
    assert_false(spec.claims->background);
    assert_int_equal(spec.claims->values[0], 5);
    refused("{\"disk\": {\"background\": false}}", "key \"disk\" (line 1) lacks the key \"bytes\"");
    refused("{\"disk\": {\"background\": 1}}",
            "has the key \"background\", which must be true or false");
    static const char *const beside[] = {"\"bytes\": 1", "\"period\": 1", "\"bandwidth\": 1",
                                         "\"desired_bytes\": 1", "\"desired_bandwidth\": 1"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        for (int on_disk = 0; on_disk < 2; on_disk++) {
            char json[128], said[160];
            snprintf(json, sizeof json, "{\"%s\": {%s, \"background\": true}}",
                     on_disk ? "disk" : "network", beside[i]);
            snprintf(
                said, sizeof said,
                "has the key %.*s beside \"background\": a claim without a guarantee states only %s and plugin",
                (int)(strlen(beside[i]) - 3), beside[i], on_disk ? "device" : "interface");
            refused(json, said);
        }
    refused("{\"disk\": {\"background\": true, \"block\": 512}}",
            "has the key \"block\" beside \"background\"");
    refused("{\"units\": {\"background\": true}}",
            "key \"units\" (line 1) has the key \"background\", which is unknown there");
    refused("{\"background\": true, \"runtime\": 5}", "key \"background\" (line 1) is unknown");
    /* A mode has to state an amount, and this one states none. */
    taken(
        "{\"runtime\": 4, \"period\": 9, \"modes\": {\"a\": {\"runtime\": 5}}, \"mode\": \"a\", \"disk\": {\"background\": true}}");
    assert_true(spec.claims->background);
    refused(
        "{\"modes\": {\"a\": {\"disk\": {\"bytes\": 5}}}, \"mode\": \"a\", \"disk\": {\"background\": true}}",
        "with the key \"disk\", which is a claim without a guarantee");
}

static int tear_down(void **state)
{
    (void)state;
    spec_free(&spec);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_json_is_told_with_its_place),
        cmocka_unit_test(arrays_and_scalars_are_no_object),
        cmocka_unit_test(of_modes_the_most_is_asked_for),
        cmocka_unit_test(what_a_grant_keeps_of_a_spec_is_its_own),
        cmocka_unit_test(what_a_wire_carries_is_said_in_bytes_and_times),
        cmocka_unit_test(what_a_disk_carries_has_a_block),
        cmocka_unit_test(what_asks_for_no_guarantee_says_only_where),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(unknown_keys_are_named_with_their_line),
        cmocka_unit_test(a_key_stands_once),
        cmocka_unit_test(times_of_another_type_form_or_size_are_refused),
        cmocka_unit_test(what_was_meant_is_told),
        cmocka_unit_test(a_number_that_no_integer_holds_is_told_as_such),
        cmocka_unit_test(other_values_are_what_they_must_be),
        cmocka_unit_test(names_are_short_words_of_their_alphabet),
        cmocka_unit_test(times_that_contradict_one_another_are_told),
        cmocka_unit_test(a_dry_run_attaches_nothing),
        cmocka_unit_test(each_key_takes_its_whole_range),
        cmocka_unit_test(the_window_is_the_shorter_of_what_is_stated),
        cmocka_unit_test(a_thread_id_is_one_number),
        cmocka_unit_test(what_is_told_is_checked_as_the_text_was),
        cmocka_unit_test(lines_that_no_spec_has_are_refused),
        cmocka_unit_test(claims_are_told_with_their_key),
        cmocka_unit_test(what_a_loop_needs_beside_cpu_time_is_bounded),
    };
    return cmocka_run_group_tests_name("spec", tests, NULL, tear_down);
}
