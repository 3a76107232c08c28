/* Finds threads of other pid namespaces. A program in a container knows its thread by an id that
 * another thread has outside the container. The inode of the thread's pidfd is the same in all
 * namespaces, and the kernel never gives the inode to another thread (Linux 6.9). */
#ifndef RTF_READER_PID_NAMESPACES_H
#define RTF_READER_PID_NAMESPACES_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the id, in the reader's pid namespace, of the thread whose pidfd has this inode; 0: there
 * is no such thread, or the kernel cannot find the thread (before Linux 6.14). The owner of the
 * thread is not checked. */
pid_t namespaces_translate(uint64_t inode);

#endif
