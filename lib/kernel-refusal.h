/* Why the kernel refuses scheduling attributes, for people. */
#ifndef RTF_KERNEL_REFUSAL_H
#define RTF_KERNEL_REFUSAL_H

#include <sys/types.h>

#include "apply-result.h"
#include "thread.h"

/* Of sched_setattr(2) for that thread, which failed with this error: GONE, BUSY or REFUSED, and for the latter two the sentence. */
enum apply_result refusal(int error, pid_t tid, const struct attributes *wanted, char reason[static APPLY_REASON]);

#endif
