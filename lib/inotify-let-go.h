/* The end of an inotify instance, for who has no time for it. */
#ifndef RTF_INOTIFY_LET_GO_H
#define RTF_INOTIFY_LET_GO_H

/* Closes it; whoever closes it last, and so waits for the kernel, is a process that nobody waits for. From any thread. */
void inotify_let_go(int events);

#endif
