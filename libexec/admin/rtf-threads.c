/* rtf-threads: prints the scheduling attributes of each thread that is real-time or has
 * reset-on-fork, without kernel threads, for rtf-invariants(8) and rtf-doctor(1). Each line is one
 * JSON object (lib/thread-json.h). */
#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "thread-json.h"
#include "usage.h"

static bool show(const struct identity *identity, const struct attributes *attributes)
{
    json_t *line = thread_as_json(identity, attributes);
    bool shown =
        line != NULL && json_dumpf(line, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(line);
    return shown;
}

static bool look_at(pid_t tid)
{
    struct identity identity;
    struct attributes attributes;
    if (!thread_look_at(tid, &identity, &attributes))
        return true; /* the thread has ended, or is a kernel thread */
    return (!policy_is_real_time(attributes.policy) && !attributes.reset_on_fork) ||
           show(&identity, &attributes);
}

/* False: a line could not be written. */
static bool for_each_number(const char *path, bool (*each)(pid_t))
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool good = true;
    while (good && directory != NULL && (entry = readdir(directory)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            good = each((pid_t)atoi(entry->d_name));
    if (directory != NULL)
        closedir(directory);
    return good;
}

static bool look_at_process(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    return for_each_number(path, look_at);
}

int main(int argc, char **argv)
{
    int how;
    if (usage_asked(argc, argv, "rtf-threads", "> OBJECTS", &how))
        return how;
    if (argc > 1) {
        fputs("rtf-threads: usage: rtf-threads > OBJECTS\n", stderr);
        return EX_USAGE;
    }
    const bool are_shown = for_each_number("/proc", look_at_process);
    how = end_output("rtf-threads");
    return are_shown ? how : EX_IOERR;
}
