/* What of this machine, under this plugins.conf, can keep the broker or the kernel from doing their work. */
#ifndef RTF_WARNINGS_H
#define RTF_WARNINGS_H

/* Into the log, at start. */
void warn_of_machine(void);

#endif
