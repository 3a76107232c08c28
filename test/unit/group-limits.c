/* The limits of a process in its cgroup, and which of them also hold in another cgroup
 * (group-limits.h). The cgroups here are a table. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "cgroup.h"
#include "disk/group-limits.h"

static struct file {
    const char *path;
    char value[64];
} files[16];
static int count;
static bool controllers_can_be_had;
static char reason[SERVE_REASON];

static struct file *find(const char *group, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", group, name);
    for (int i = 0; i < count; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    errno = ENOENT;
    return NULL;
}

static void file(const char *path, const char *value)
{
    files[count].path = path;
    snprintf(files[count++].value, sizeof files->value, "%s", value);
}

bool group_read(int root, const char *path, const char *name, char *value, size_t size)
{
    const struct file *found = find(path, name);
    (void)root;
    if (found != NULL)
        snprintf(value, size, "%s", found->value);
    return found != NULL;
}

bool group_write(int root, const char *path, const char *name, const char *value)
{
    struct file *found = find(path, name);
    (void)root;
    if (found != NULL)
        snprintf(found->value, sizeof found->value, "%s", value);
    else if (controllers_can_be_had && strcmp(path, "ours") == 0 && strcmp(value, "+pids") == 0) {
        file("ours/c1/pids.max", "max");
        return true;
    }
    return found != NULL;
}

static int begin(void **state)
{
    (void)state;
    count = 0;
    controllers_can_be_had = true;
    return 0;
}

static void copied(const char *from, bool anew)
{
    check(limits_copy(-1, "ours", "ours/c1", from, anew, reason), "%s", reason);
}

static void is(const char *name, const char *value)
{
    const struct file *found = find("ours/c1", name);
    check(found != NULL && strcmp(found->value, value) == 0, "%s is %s, not %s", name,
          found == NULL ? "nowhere" : found->value, value);
}

static void the_least_of_all_above_counts(void **state)
{
    (void)state;
    file("./user/pids.max", "10");
    file("./user/ann/pids.max", "max");
    file("./user/ann/app/pids.max", "30");
    file("./user/memory.max", "max");
    file("./user/ann/memory.max", "4096");
    file("ours/c1/pids.max", "7");
    file("ours/c1/memory.max", "max");
    copied("/user/ann/app", true);
    is("pids.max", "10");
    is("memory.max", "4096");
    copied("/", true);
    is("pids.max", "max");
    is("memory.max", "max");
}

static void quotas_are_compared_by_their_periods(void **state)
{
    (void)state;
    file("./user/cpu.max", "50000 100000");
    file("./user/ann/cpu.max", "6000 10000");
    file("./user/bob/cpu.max", "4000 10000");
    file("./user/eve/cpu.max", "max 10000");
    file("ours/c1/cpu.max", "max 100000");
    copied("/user/ann", true);
    is("cpu.max", "50000 100000");
    copied("/user/bob", true);
    is("cpu.max", "4000 10000");
    copied("/user/eve", true);
    is("cpu.max", "50000 100000");
}

static void who_is_there_already_keeps_what_is_less(void **state)
{
    (void)state;
    file("./user/pids.max", "10");
    file("./few/pids.max", "5");
    file("ours/c1/pids.max", "7");
    copied("/user", false);
    is("pids.max", "7");
    copied("/few", false);
    is("pids.max", "5");
    copied("/user", true);
    is("pids.max", "10");
}

static void a_controller_is_had_when_it_is_needed(void **state)
{
    (void)state;
    file("./user/pids.max", "max");
    file("./few/pids.max", "5");
    copied("/user", true);
    check(count == 2, "a controller is on that nobody needs");
    copied("/few", true);
    is("pids.max", "5");
}

static void what_cannot_be_kept_is_refused(void **state)
{
    (void)state;
    file("./few/pids.max", "5");
    file("./odd/pids.max", "many");
    controllers_can_be_had = false;
    check(!limits_copy(-1, "ours", "ours/c1", "/few", true, reason) &&
              strstr(reason, "pids.max") != NULL,
          "it goes without a limit");
    check(!limits_copy(-1, "ours", "ours/c1", "/odd", true, reason),
          "a limit that is no number is none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_least_of_all_above_counts, begin),
        cmocka_unit_test_setup(quotas_are_compared_by_their_periods, begin),
        cmocka_unit_test_setup(who_is_there_already_keeps_what_is_less, begin),
        cmocka_unit_test_setup(a_controller_is_had_when_it_is_needed, begin),
        cmocka_unit_test_setup(what_cannot_be_kept_is_refused, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
