/* Parses the values of a spec's keys from jansson: times, sizes and whole numbers. False: *why says
 * what is allowed; the caller puts the key and its line before this sentence. */
#ifndef RTF_SPEC_VALUES_H
#define RTF_SPEC_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "reason.h"

#define fault(why, ...) fault_in(why, REASON_BYTES, __VA_ARGS__)

/* Parses a time, from 1 to TIME_MAX microseconds, into a uint64_t. (`into` is void *, because all
 * functions in the table of keys have the same type.) */
bool take_time(const json_t *value, void *into, char *why);

/* A whole number from 1 to max. */
bool take_integer(const json_t *value, json_int_t max, json_int_t *into, char *why);

/* Bytes, from 1 to WIRE_BYTES_MAX. */
bool take_bytes(const json_t *value, uint64_t *bytes, char *why);

#endif
