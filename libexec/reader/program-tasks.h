/* Takes the messages of rtf-tasks about the threads of a program. */
#ifndef RTF_READER_PROGRAM_TASKS_H
#define RTF_READER_PROGRAM_TASKS_H

#include "paragraph.h"
#include "program.h"

/* Takes news of a thread or process (op=task). program: NULL if its watch has just been ended.
 * False: the news are malformed. */
bool program_take_task(struct program *program, const struct paragraph *said);

#endif
