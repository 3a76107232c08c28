/* The program files of programs.d (rtf-programs(5)). The broker does not read these files: the
 * program rtf-programs writes each file into the directories of the users that the file is for, and
 * ends. */
#ifndef RTF_PROGRAMS_HELPER_H
#define RTF_PROGRAMS_HELPER_H

/* Call this before the launcher is forked. The arguments are copied. */
void programs_helper_prepare(const char *program, const char *config, const char *spool);

/* Starts rtf-programs. Call this at the start and for each reload. If the last run of rtf-programs
 * has not ended, ends this run first. `record`: the directory in which rtf-programs records the
 * files that it has given to users. */
void programs_helper_give(int record);

void programs_helper_stop(void);

#endif
