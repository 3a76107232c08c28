/* What a program takes from itself, or from what it is about to run, before it reads a byte from anybody: files
 * (landlock(7)), system calls (seccomp(2)). Powers are in powers.h.
 *
 * What every supported kernel has must work, and false is the end of the program; landlock may be absent, and then the
 * caller says so and goes on. All of it is inherited, and none can be taken back. */
#ifndef RTF_CONFINE_H
#define RTF_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* No execve gives more than there is now: no set-user-ID programs. Needed before all others but confine_powers. */
bool confine_for_good(void);

/* What may be done beneath `path`; the list ends with a path of NULL. What is not there is left out. */
struct confine_path {
    const char *path;
    enum { MAY_READ, MAY_WRITE, MAY_CHANGE, MAY_REPLACE } may; /* MAY_WRITE: into files that exist; MAY_CHANGE: also make and remove; MAY_REPLACE: regular files, and read none */
};

/* With hidepid=, only who may trace a process sees it in /proc; and nobody under landlock may trace one that is not. */
bool confine_proc_is_hidden(void);

/* Nothing else can be opened, and no signal reaches another program. NULL: done; else why not, for a log. */
const char *confine_files(const struct confine_path paths[]);

/* Anything can be read, as the user may, but nothing be written; no signal reaches another program. */
void confine_writes(void);

/* Only these system calls, by name, with NULL at the end, and what every program needs in some form: fcntl without signals, ioctl of
 * a terminal's mode and of perf events, limits of its own, a signal to itself. All others fail with EPERM. */
bool confine_calls(const char *const names[]);

/* The same, and a call with these arguments and no others: of a text the address, which has to be in memory that can no longer be written. The list
 * ends with a name of NULL. */
struct confine_exact {
    const char *name;
    unsigned count;
    struct {
        unsigned argument;
        uint64_t value;
    } is[4];
};
bool confine_calls_exactly(const char *const names[], const struct confine_exact exact[]);

/* What no filter over standard input and output has to do is refused: network, tracing, name spaces, real-time scheduling,
 * rights of files, what outlives a process. */
bool confine_program(void);

/* Few descriptors and processes, bounded memory, no real-time scheduling of its own making, no core. */
void confine_resources(void);

#endif
