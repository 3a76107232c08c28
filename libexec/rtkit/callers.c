#include "callers.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PID_MOST = 4194304 };

/* Returns the last number of a line; *count: how many numbers the line has. */
static pid_t last_number(const char *text, int *count)
{
    pid_t last = 0;
    char *end;
    *count = 0;
    for (long number; (number = strtol(text, &end, 10)), end != text; text = end) {
        last = (pid_t)number;
        ++*count;
    }
    return last;
}

/* Returns the id of the thread in its innermost pid namespace: the last number of NSpid in proc(5).
 * 0: no such thread. *is_nested: NSpid has several numbers. */
static pid_t number_inside(pid_t process, pid_t thread, bool *is_nested)
{
    char path[64], line[256];
    pid_t inside = 0;
    int count;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)process, (int)thread);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        inside = last_number(line + 6, &count);
        *is_nested = count > 1;
        break;
    }
    if (file != NULL)
        fclose(file);
    return inside;
}

static bool has_thread(pid_t process, pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)process, (int)thread);
    return access(path, F_OK) == 0;
}

static pid_t find_nested(pid_t process, pid_t thread)
{
    char path[64];
    bool is_nested;
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    for (const struct dirent *entry;
         found == 0 && tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        const pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
        if (task > 0 && number_inside(process, task, &is_nested) == thread)
            found = task;
    }
    if (tasks != NULL)
        closedir(tasks);
    return found;
}

static pid_t find_thread(pid_t process, bool is_nested, uint64_t thread)
{
    if (thread == 0 || thread > PID_MOST)
        return 0;
    if (is_nested)
        return find_nested(process, (pid_t)thread);
    return has_thread(process, (pid_t)thread) ? (pid_t)thread : 0;
}

pid_t caller_thread(pid_t caller, uint64_t process, uint64_t thread)
{
    bool is_nested = false;
    const pid_t inside = number_inside(caller, caller, &is_nested);
    if (inside == 0 || process > PID_MOST)
        return 0;
    if (process == 0 || (pid_t)process == inside)
        return find_thread(caller, is_nested, thread);
    const bool is_outside =
        is_nested || number_inside((pid_t)process, (pid_t)process, &is_nested) == 0;
    return is_outside ? 0 : find_thread((pid_t)process, is_nested, thread);
}
