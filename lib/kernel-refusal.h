/* Explains why the kernel refuses scheduling attributes. */
#ifndef RTF_KERNEL_REFUSAL_H
#define RTF_KERNEL_REFUSAL_H

#include <sys/types.h>

#include "apply-result.h"
#include "thread.h"

/* sched_setattr(2) with *wanted for the thread has failed with `error`. Returns APPLY_GONE,
 * APPLY_BUSY or APPLY_REFUSED; with APPLY_BUSY and APPLY_REFUSED *reason has the sentence. */
enum apply_result kernel_refusal(int error, pid_t tid, const struct attributes *wanted,
                                 char reason[static APPLY_REASON]);

#endif
