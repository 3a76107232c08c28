/* Fuzzes acl.conf, which the administrator may have copied from any source, and the judgement of
 * its rules on some specs. */
#include <string.h>

#include "acl.h"
#include "fuzz.h"
#include "plugin-lines.h"
#include "units.h"

/* Rules can name these plugins. */
static void prepare(void)
{
    static const char lines[] =
        "EDF true - 0-1\nRM true 1-40 0-1\nCAMERA true - - resource=units capacity=4\nSDA true - - resource=disk device=sda throughput=1MB\n";
    static char reason[REASON_BYTES];
    if (plugins_count() == 0)
        must(plugins_load(fuzz_file((const uint8_t *)lines, sizeof lines - 1), "/bin", reason));
}

static void claim(struct acl *acl, const struct account *account, int plugin,
                  const struct claim *asked)
{
    static char reason[REASON_BYTES];
    struct charge hold = {0};
    struct refusal refusal = {0};
    uint64_t left = 0;
    if (acl_check_claim(acl, account, plugin, asked, NULL, &hold, &left, &refusal, reason))
        must(left >= claim_amount(asked));
    else
        must_be_text(reason, sizeof reason);
    acl_release(&hold);
}

static void see(const char *name)
{
    must(name[0] != '\0');
}

static void ask(struct acl *acl, const struct account *account, const struct spec *spec)
{
    static char reason[REASON_BYTES];
    struct charge hold = {0};
    struct refusal refusal = {0};
    uint64_t least = 0, ceiling = 0;
    const struct grant *const own[2] = {NULL, NULL};
    bool may =
        acl_check(acl, account, 0, "EDF", spec, own, &hold, &least, &ceiling, &refusal, reason);
    if (!may)
        must_be_text(reason, sizeof reason);
    else if (spec->runtime != 0)
        must(ceiling >= spec->runtime && least <= spec->runtime);
    (void)acl_priority_passes(acl, account, 0, 50, &refusal, reason);
    acl_release(&hold);
}

/* A user who may have a byte may also have none, and a user without a rule gets nothing. */
static void in_the_background(struct acl *acl, const struct account *account, int plugin)
{
    static char reason[REASON_BYTES];
    const struct claim byte = {.resource = RESOURCE_DISK, .values = {1, 1000000, 4096}};
    struct refusal refusal = {0};
    struct charge hold;
    uint64_t left;
    const bool may_have_one =
        acl_check_claim(acl, account, plugin, &byte, NULL, &hold, &left, &refusal, reason);
    if (may_have_one)
        acl_release(&hold);
    if (!acl_check_background(acl, account, plugin, &refusal, reason)) {
        must(!may_have_one && refusal.never);
        must_be_text(reason, sizeof reason);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char reason[REASON_BYTES];
    static char student[] = "student", class[] = "students";
    char *groups[] = {class, NULL};
    gid_t gids[] = {1000};
    struct account account = {.uid = 20017,
                              .state = ACCOUNT_KNOWN,
                              .name = student,
                              .groups = groups,
                              .gids = gids,
                              .gid_count = 1};
    prepare();
    struct acl *acl = acl_load(fuzz_file(bytes, length), reason);
    if (acl == NULL) {
        must_be_text(reason, sizeof reason);
        return 0;
    }
    acl_names(acl, see);
    (void)acl_names_uid(acl, 20017);
    ask(acl, &account, &(struct spec){.runtime = 1000, .period = 10000, .deadline = 10000});
    ask(acl, &account,
        &(struct spec){
            .runtime = 1, .desired_runtime = TIME_MAX, .period = TIME_MAX, .deadline = 1});
    ask(acl, &account, &(struct spec){.priority = 99, .ignore_admission = true});
    ask(acl, &account, &(struct spec){.runtime = 1, .period = 10, .reclaim = true});
    claim(acl, &account, 2, &(struct claim){.resource = RESOURCE_UNITS, .values = {2}});
    claim(acl, &account, 3,
          &(struct claim){.resource = RESOURCE_DISK, .values = {32768, 50000, 4096}});
    in_the_background(acl, &account, 3);
    acl_free(acl);
    return 0;
}
