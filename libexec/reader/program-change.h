/* Takes a program file that has been rewritten. */
#ifndef RTF_READER_PROGRAM_CHANGE_H
#define RTF_READER_PROGRAM_CHANGE_H

#include "program.h"

/* Has the program use this file from now on, in this state. Takes over `file`; the caller still owns
 * the descriptor. */
void program_use_file(struct program *program, struct program_file *file, const struct file *json,
                      int fd);

/* Like program_use_file, and has the broker asked under the new rules. */
void program_change(struct program *program, struct program_file *file, const struct file *json,
                    int fd);

/* Call this when the changed NAME.json is wrong. True: what is granted stays granted, the rules of
 * the earlier version stay in force, and NAME.verdict says so. In this case the program takes over
 * the token of the snapshot. */
bool program_keep(struct program *program, struct snapshot *snapshot);

#endif
