/* The values of a spec's keys, as jansson has them: times, sizes and whole numbers. False: *why says what is allowed; key and line are put before it. */
#ifndef RTF_SPEC_VALUES_H
#define RTF_SPEC_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

#define fault(why, ...) fault_in(why, REASON_BYTES, __VA_ARGS__)

/* Microseconds, from 1 to TIME_MAX: into a uint64_t, which is void here for it stands in a table with others. */
bool take_time(const json_t *value, void *into, char *why);

/* From 1 to max. */
bool take_integer(const json_t *value, json_int_t max, json_int_t *into, char *why);

/* From 1 to WIRE_BYTES_MAX. */
bool take_bytes(const json_t *value, uint64_t *bytes, char *why);

#endif
