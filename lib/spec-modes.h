/* The modes of a spec: the broker admits the maximum need over all modes, and enforces the need of
 * the current mode. */
#ifndef RTF_SPEC_MODES_H
#define RTF_SPEC_MODES_H

#include <jansson.h>

#include "spec.h"

/* Call this after all other keys are taken, because their values hold in every mode that states no
 * other value. NULL: valid; else the wrong key, and *why says what is wrong. */
const char *take_modes(const json_t *object, struct spec *spec, char *why);

#endif
