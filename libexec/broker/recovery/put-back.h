/* rtf-brokerd --put-back: restores the kernel-wide settings of a broker that was killed. */
#ifndef RTF_PUT_BACK_H
#define RTF_PUT_BACK_H

#include <stdbool.h>

#include "allocators.h"
#include "reason.h"

/* Restores the settings. False: *reason says why. */
bool put_back_kernel(allocators_path *path, char reason[static REASON_BYTES]);

/* Does the work of put_back_kernel for a spool that does not exist any more: restores only the
 * kernel's settings (kernel-setting.h). */
bool put_back_settings(char reason[static REASON_BYTES]);

#endif
