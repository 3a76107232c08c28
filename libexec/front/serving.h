/* Whether somebody keeps what the spool says. */
#ifndef RTF_SERVING_H
#define RTF_SERVING_H

#include <stdbool.h>

/* A broker serves the spool (`root` is open), or starts. A user who may not look is told yes. */
bool serving_or_starting(int root);

#endif
