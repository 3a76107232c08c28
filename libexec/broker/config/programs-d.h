/* The program files of programs.d (rtf-programs(5)). The broker does not read them: rtf-programs
 * writes each of them into the directories of its users, and ends. */
#ifndef RTF_PROGRAMS_D_H
#define RTF_PROGRAMS_D_H

/* Before the fork of the launcher. The words are copied. */
void programs_d_prepare(const char *program, const char *config, const char *spool);

/* Has the files read, and given to their users. For the start, and for each reload: an earlier run
 * that has not ended is ended. `record`: the directory that keeps the record of what was given. */
void programs_d_give(int record);

void programs_d_stop(void);

#endif
