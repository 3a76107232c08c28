#include "snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "units.h"

static const char *const states[] = {
    [FILE_ABSENT] = "absent", [FILE_BAD] = "bad", [FILE_SAME] = "same", [FILE_READ] = "read"};

bool stamp_equal(const struct stamp *one, const struct stamp *other)
{
    return one->inode == other->inode && one->changed == other->changed;
}

bool file_is_another(const struct file *file, const struct stamp *judged)
{
    return !stamp_equal(&file->stamp, judged) ||
           (judged->fresh && file->state == FILE_READ && file->stamp.digest != judged->digest);
}

static bool get_number(const struct paragraph *paragraph, const char *file, const char *what,
                       uint64_t max, uint64_t *number)
{
    char key[KEY_BYTES];
    *number = 0;
    return paragraph_get_number(paragraph, paragraph_key(key, file, what), max, number) >= 0;
}

void stamp_add(struct paragraph_output *output, const char *key, const struct stamp *stamp)
{
    char joined[KEY_BYTES];
    paragraph_add_number(output, paragraph_key(joined, key, "inode"), stamp->inode);
    paragraph_add_number(output, paragraph_key(joined, key, "changed"),
                         stamp->changed < 0 ? 0 : (uint64_t)stamp->changed);
    if (stamp->digest != 0)
        paragraph_add_number(output, paragraph_key(joined, key, "digest"), stamp->digest);
    if (stamp->fresh)
        paragraph_add(output, paragraph_key(joined, key, "fresh"), "1");
}

bool stamp_get(const struct paragraph *paragraph, const char *key, struct stamp *stamp)
{
    uint64_t changed, digest, fresh;
    *stamp = (struct stamp){0};
    if (!get_number(paragraph, key, "inode", UINT64_MAX, &stamp->inode) ||
        !get_number(paragraph, key, "changed", INT64_MAX, &changed) ||
        !get_number(paragraph, key, "digest", UINT_MAX, &digest) ||
        !get_number(paragraph, key, "fresh", 1, &fresh))
        return false;
    stamp->changed = (int64_t)changed;
    stamp->digest = (unsigned)digest;
    stamp->fresh = fresh != 0;
    return true;
}

static void add_file(struct paragraph_output *output, const char *key, const struct file *file)
{
    char joined[KEY_BYTES];
    if (file->state == FILE_ABSENT)
        return;
    paragraph_add(output, key, states[file->state]);
    stamp_add(output, key, &file->stamp);
    if (file->state == FILE_BAD)
        paragraph_add(output, paragraph_key(joined, key, "reason"), file->reason);
}

static bool get_file(const struct paragraph *paragraph, const char *key, struct file *file)
{
    char joined[KEY_BYTES];
    const char *state = paragraph_get(paragraph, key), *reason;
    *file = (struct file){.state = FILE_ABSENT};
    if (state == NULL)
        return true;
    for (int i = FILE_BAD; i <= FILE_READ; i++)
        if (strcmp(state, states[i]) == 0)
            file->state = (enum file_state)i;
    if (file->state == FILE_ABSENT || !stamp_get(paragraph, key, &file->stamp) ||
        file->stamp.inode == 0)
        return false;
    if (file->state != FILE_BAD)
        return true;
    reason = paragraph_get(paragraph, paragraph_key(joined, key, "reason"));
    if (reason == NULL || reason[0] == '\0')
        return false;
    snprintf(file->reason, sizeof file->reason, "%s", reason);
    return true;
}

void snapshot_add(struct paragraph_output *output, const struct snapshot *snapshot)
{
    add_file(output, "json", &snapshot->json);
    if (snapshot->json.state == FILE_READ) {
        paragraph_add_stated(output, "json_modified",
                             snapshot->json.modified < 0 ? 0 : (uint64_t)snapshot->json.modified);
        spec_add(output, &snapshot->spec);
    } else if (snapshot->json.state == FILE_BAD && snapshot->spec.token != NULL)
        paragraph_add(output, "token", snapshot->spec.token);
    add_file(output, "tid", &snapshot->tid);
    if (snapshot->tid.state == FILE_READ) {
        paragraph_add_number(output, "thread", (uint64_t)snapshot->thread);
        paragraph_add_stated(output, "thread_unseen", (uint64_t)snapshot->thread_unseen);
    }
}

bool snapshot_get(const struct paragraph *paragraph, struct snapshot *snapshot)
{
    uint64_t thread = 0, unseen = 0, modified;
    snapshot->spec = (struct spec){0};
    snapshot->thread = snapshot->thread_unseen = 0;
    if (!spec_get(paragraph, &snapshot->spec) || !get_file(paragraph, "json", &snapshot->json) ||
        !get_number(paragraph, "json", "modified", INT64_MAX, &modified) ||
        !get_file(paragraph, "tid", &snapshot->tid))
        return false;
    snapshot->json.modified = (int64_t)modified;
    if (snapshot->tid.state == FILE_READ &&
        (paragraph_get_number(paragraph, "thread", TID_MAX, &thread) != 1 || thread == 0 ||
         paragraph_get_number(paragraph, "thread_unseen", TID_MAX, &unseen) < 0))
        return false;
    snapshot->thread = (pid_t)thread;
    snapshot->thread_unseen = (pid_t)unseen;
    return true;
}
