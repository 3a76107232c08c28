/* The modes of a spec: the broker admits the maximum need over all modes, and enforces the need of
 * the current mode. */
#ifndef RTF_SPEC_MODES_H
#define RTF_SPEC_MODES_H

#include <jansson.h>

#include "spec.h"

/* Call this after all other keys, which hold for every mode that states nothing else. NULL, or the
 * wrong key with the fault in *why. */
const char *take_modes(const json_t *object, struct spec *spec, char *why);

#endif
