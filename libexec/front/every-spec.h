/* The reservation of rtf-every(1): its spec in the spool, and the broker's answers. */
#ifndef RTF_EVERY_SPEC_H
#define RTF_EVERY_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens the spool and finds the broker. From then on SIGINT, SIGTERM and SIGHUP are blocked, so
 * that rtf-every can remove its spec before it ends. False: the reason is printed. */
bool every_begin(void);

/* Puts the spec into the spool, and waits for the answer. The reservation ends with `thread`;
 * thread 0: the reservation belongs to no thread yet, and has a lease. False: the reason is
 * printed. */
bool every_reserve(pid_t thread);

/* Waits up to `within` us for the answer to the spec with this token and inode. token NULL: waits
 * for the answer to NAME.json and NAME.tid as they are now. False: the reason is printed. */
bool every_await(const char *token, ino_t inode, uint64_t within);

/* Writes the thread's id to NAME.tid, so that the broker attaches the thread. False: the reason is
 * printed. */
bool every_put_thread(pid_t thread);

/* Renews the lease of the spec. */
void every_renew(void);

/* Removes the spec, and also NAME.tid if the broker has not read NAME.tid yet. */
void every_withdraw(void);

#endif
