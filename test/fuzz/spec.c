/* Fuzzes NAME.json and NAME.tid, which have any bytes of any user. */
#include <string.h>

#include "fuzz.h"
#include "spec-parse.h"
#include "program-file.h"
#include "matching-rule.h"
#include "units.h"

static void must_be_a_spec(const struct spec *spec)
{
    must(spec->runtime <= TIME_MAX && spec->desired_runtime <= TIME_MAX &&
         spec->period <= TIME_MAX && spec->deadline <= TIME_MAX);
    must(spec->priority >= 0 && spec->priority <= 99 && spec->attach >= 0);
    must(spec->plugin == NULL ||
         name_is_valid(spec->plugin, strlen(spec->plugin), PLUGIN_NAME_BYTES - 1));
    must(spec->token == NULL || name_is_valid(spec->token, strlen(spec->token), TOKEN_BYTES - 1));
    for (const struct claim *claim = spec->claims; claim != NULL; claim = claim->next) {
        must(claim->background == (claim->values[0] == 0) &&
             (!claim->background || resource_where(claim->resource) != NULL));
        for (int i = 0; i < CLAIM_VALUES; i++)
            must(!claim->background || claim->values[i] == 0);
    }
    must(spec_window(spec) <= TIME_MAX && (!spec->dry_run || spec->attach == 0));
}

static void must_be_a_program_file(const struct program_file *file)
{
    must(file->rule_count >= 1 && file->rule_count <= RULES_MAX);
    must((file->process != 0) + (file->path[0] == '/') + (file->group[0] == '/') == 1 &&
         (!file->hold || file->process == 0));
    for (int i = 0; i < file->rule_count; i++) {
        must(file->rules[i].name[0] != '\0' &&
             strnlen(file->rules[i].name, GLOB_BYTES) < GLOB_BYTES);
        must_be_a_spec(&file->rules[i].spec);
        must(file->rules[i].spec.attach == 0 && file->rules[i].spec.claims == NULL);
    }
    (void)program_rule_for(file, "camera-audio-1");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char reason[REASON_BYTES];
    struct spec spec;
    pid_t tid = 0;
    uint64_t inode;
    /* exactly as long as the input, so that the sanitizer sees a read behind its end */
    char *text = malloc(length + 1);
    must(text != NULL);
    memcpy(text, bytes, length);
    text[length] = '\0';
    memset(reason, 0, sizeof reason);
    if (spec_parse(text, length, &spec, reason))
        must_be_a_spec(&spec);
    else {
        must(reason[0] != '\0');
        must_be_text(reason, sizeof reason);
    }
    spec_free(&spec);
    struct program_file *file = NULL;
    memset(reason, 0, sizeof reason);
    const enum program_parsed parsed = program_parse(text, length, &file, reason);
    must((file != NULL) == (parsed != PROGRAM_NOT));
    if (parsed == PROGRAM_GOOD)
        must_be_a_program_file(file);
    else if (parsed == PROGRAM_BAD)
        must_be_text(reason, sizeof reason);
    program_free(file);
    if (spec_parse_tid(text, length, &tid, &inode))
        must(tid > 0);
    free(text);
    return 0;
}
