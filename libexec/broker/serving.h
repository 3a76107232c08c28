/* The loop of a broker, and what ends it. */
#ifndef RTF_SERVING_H
#define RTF_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "reason.h"

/* plugins.conf and acl.conf, for the first time: what is wrong there ends the program. */
void serving_configure(const char *config);

void serving_catch_signals(void);

/* From then on it is heard. False with errno. */
bool fork_launcher(bool in_background);

void turn(void);

/* What is true of everybody is waited for; not, beyond that, what only keeps its own user waiting. */
void turn_until(bool (*is_so)(void), int64_t at_most);

/* Even if it is to end: what was in force is taken up before it is laid down. */
bool start_plugins(char reason[static REASON_BYTES]);

/* Until a signal ends it. */
void serve(void);

/* As it was asked to, and its helper processes with it. */
void stop(void);
void stop_children(void);

/* Without a launcher no helper process that dies comes back. */
bool launcher_was_killed(void);

#endif
