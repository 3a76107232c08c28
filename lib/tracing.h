/* Opens tracefs, the file system by which the kernel hands out its events. */
#ifndef RTF_TRACING_H
#define RTF_TRACING_H

/* Mounts tracefs for this process alone, and returns its root. The mount ends when the last
 * descriptor of the root is closed. If the process may not mount, the function returns the root of
 * the tracefs that is mounted already. -1 with errno: there is no tracefs, or the process has no
 * right to it. */
int tracing_open(void);

#endif
