/* The modes of a spec: the most that any of them needs is asked for, what the one that is on needs is kept. */
#ifndef RTF_SPEC_MODES_H
#define RTF_SPEC_MODES_H

#include <jansson.h>

#include "spec.h"

/* After all other keys, which say what a mode that does not needs. NULL, or the key that is wrong, and why. */
const char *take_modes(const json_t *object, struct spec *spec, char *why);

#endif
