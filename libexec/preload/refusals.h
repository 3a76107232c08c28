/* Notes the refused calls of this process for rtf-doctor(1), because many programs hide their
 * standard error. The notes are in the file .refused-PID of the user's directory, a line for each
 * call. PID is the id in the pid namespace of the process.
 *
 *     START TID ERROR NAME CALL REASON      with tabs between
 *
 * START is the start time of the process (/proc/PID/stat, field 22). It keeps a reader from taking
 * the note for one about a later process with the same id. The last line about a thread counts. In
 * it, ERROR 0 says that the thread has a reservation now. The process removes its file when it
 * exits. A killed process leaves its file; the next process of the user that begins a file removes
 * this file. */
#ifndef RTF_REFUSALS_H
#define RTF_REFUSALS_H

#include <sys/types.h>

/* Notes that a call for this thread was refused with the errno `error`. name: the thread's name.
 * call: what the program asked for, such as "SCHED_FIFO 80". Does nothing if the user has no
 * directory. */
void refusals_note(pid_t thread, int error, const char *name, const char *call, const char *reason);

/* Notes that a call for this thread was granted, if this process has notes. */
void refusals_end(pid_t thread);

#endif
