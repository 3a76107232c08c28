/* The functions of libc that rtf-preload replaces, and functions that the replacements share. */
#ifndef RTF_PRELOAD_LIBC_H
#define RTF_PRELOAD_LIBC_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

enum { HIGHEST = 99 }; /* the highest priority of SCHED_FIFO and SCHED_RR */

/* The function of libc with this name, as a function pointer of the right type. */
#define LIBC(name) ((__typeof__(&(name)))libc_function(#name))
typedef void libc_any(void);
libc_any *libc_function(const char *name);

/* True: SCHED_FIFO or SCHED_RR, with or without SCHED_RESET_ON_FORK. */
bool is_fixed(int policy);

/* The kernel's id of a thread; thread 0: the calling thread. id_of_pthread: 0 or less: unknown. */
pid_t id_of(pid_t thread);
pid_t id_of_pthread(pthread_t thread);

/* The policy in the kernel; -1: errno says why. */
int policy_of(pid_t thread);

#endif
