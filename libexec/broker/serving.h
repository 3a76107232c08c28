/* The loop of a broker: signals, turns and the end. */
#ifndef RTF_SERVING_H
#define RTF_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "reason.h"

/* Reads plugins.conf and acl.conf for the first time. An error there ends the program. */
void serving_configure(const char *config);

void serving_catch_signals(void);

/* Forks the launcher, and listens to it. False: errno says why. */
bool fork_launcher(bool in_background);

/* Takes one turn: sends what is waiting, waits for events, and handles them. */
void turn(void);

/* Takes turns until is_so() is true, a signal ends the broker, or at_most ns have passed. */
void turn_until(bool (*is_so)(void), int64_t at_most);

/* Starts the plugins, even if a signal has told the broker to end, because the broker takes over
 * all grants of the journal before it ends. False: *reason says why. */
bool start_plugins(char reason[static REASON_BYTES]);

/* Takes turns until a signal ends the broker. */
void serve(void);

/* stop: gives all threads their former attributes back, or leaves the grants in force, as the
 * signal says; then ends the helper processes. stop_children: only ends the helper processes. */
void stop(void);
void stop_children(void);

/* True: the launcher was killed. Without the launcher the broker cannot start a helper process
 * again. */
bool launcher_was_killed(void);

#endif
