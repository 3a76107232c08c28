/* The watches that the broker has asked for, and the processes of each watch. */
#ifndef RTF_WATCHED_PROCESSES_H
#define RTF_WATCHED_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "task-records.h"
#include "watched-threads.h"

void watched_begin(const struct watched_events *events);

/* watch_process watches a process of this user; watch_program watches the processes of this user
 * that run the program, one at a time; watch_group watches all processes of this user in the
 * cgroup and in the cgroups below it. NULL: done; else a sentence that says why not. */
const char *watch_process(uint64_t id, uid_t uid, pid_t process);
const char *watch_program(uint64_t id, uid_t uid, const char *program);
const char *watch_group(uint64_t id, uid_t uid, const char *group);
void watch_end(uint64_t id);
bool watched_any(void);

/* The arguments is_wanted and take of task_records_take. */
bool watched_wants(const struct task_record *record);
void watched_take(const struct task_record *record);

/* Looks at threads and processes that have changed; after lost records, at all of them. One call
 * does a limited part of this work. watched_has_more: the rest waits for the next call. */
void watched_look(bool lost);
bool watched_has_more(void);

#endif
