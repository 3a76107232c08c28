/* The reservation of rtf-every(1): its spec in the spool, and the broker's answers. */
#ifndef RTF_EVERY_SPEC_H
#define RTF_EVERY_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens the spool and finds the broker. From here on SIGINT, SIGTERM and SIGHUP wait until the spec
 * is taken back. False: the reason is printed. */
bool every_begin(void);

/* Puts the spec into the spool, and waits for the answer. The reservation of a thread ends with the
 * thread; without a thread (0) it has a lease. False: the reason is printed. */
bool every_reserve(pid_t thread);

/* Waits for an answer for up to `within` us. False: the reason is printed. */
bool every_await(const char *token, ino_t inode, uint64_t within);

/* Names the thread in NAME.tid. False: the reason is printed. */
bool every_put_thread(pid_t thread);

/* Renews the lease. */
void every_renew(void);

/* Removes the spec and NAME.tid, which the broker may not have read yet. */
void every_withdraw(void);

#endif
