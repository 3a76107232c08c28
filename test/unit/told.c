#include "told.h"

#include "attach.h"
#include "event.h"
#include "guard.h"
#include "readers.h"
#include "unit.h"

struct told_plugin told[TOLD_MAX];
int told_count;
static uint64_t last_answer;

static uint64_t note(enum told what, int plugin, uint64_t task, const struct grant *grant)
{
    struct told_plugin *entry = &told[told_count];
    if (told_count < TOLD_MAX) {
        *entry = (struct told_plugin){.what = what,
                                      .plugin = plugin,
                                      .task = task,
                                      .has_plan = grant != NULL};
        if (grant != NULL) {
            entry->plan = grant->plan;
            entry->owner = grant->owner;
        }
        told_count++;
    }
    return ++last_answer;
}

uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant)
{
    return note(TOLD_SCHEDULE, index, task, grant);
}

uint64_t plugin_release(int index, uint64_t task)
{
    return note(TOLD_RELEASE, index, task, NULL);
}

void plugin_load(int index, uint64_t task, const struct grant *grant)
{
    (void)note(TOLD_LOAD, index, task, grant);
}

uint64_t plugin_judge(int index, uint64_t task, const struct grant *offer)
{
    return note(TOLD_JUDGE, index, task, offer);
}

uint64_t plugin_accept(int index, uint64_t task, uint64_t owner, const struct spec *spec,
                       uint64_t most, bool commit)
{
    const uint64_t id = note(TOLD_ACCEPT, index, task, NULL);
    if (told_count > 0) {
        told[told_count - 1].owner = owner;
        told[told_count - 1].spec = *spec;
        told[told_count - 1].max_runtime = most;
        told[told_count - 1].commit = commit;
    }
    return id;
}

int told_lies;
bool may_lie;

void plugin_fail(int index, const char *reason)
{
    (void)index;
    check(may_lie, "the plugin lied: %s", reason);
    told_lies++;
}

bool plugin_is_releasing(int index, uint64_t task)
{
    (void)index;
    (void)task;
    return false;
}

void plugins_are(const char *lines)
{
    char reason[REASON_BYTES] = "";
    check(plugins_load(file_with(lines), "/bin", reason), "%s", reason);
}

void plugin_says(const char *name, const char *tests, bool judges, bool tested)
{
    assert_true(plugin_has_greeted(plugin_index(name), tests, judges, tested));
}

/* ---- other programs that would be told ---- */

uint64_t attach_sweep(const struct attachment *attachment)
{
    (void)attachment;
    return ++last_answer;
}

struct message *attach_give(const struct attachment *attachment)
{
    (void)attachment;
    return helper_begin("give", 1);
}

uint64_t attach_given(struct message *message)
{
    (void)message;
    return ++last_answer;
}

void open_file_close(const struct user *user, struct open_file *file)
{
    (void)user;
    file->fd = -1;
}

uint64_t guarded_from;

bool guard_can_enforce(int plugin, const struct spec *spec, uint64_t *least,
                       char reason[static REASON_BYTES])
{
    (void)plugin;
    *least = guarded_from;
    snprintf(reason, REASON_BYTES, "the guard cannot");
    return spec->runtime >= guarded_from;
}

const char *kind_name(enum kind kind)
{
    (void)kind;
    return "create";
}
