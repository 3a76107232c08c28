/* What data weigh on a wire: claims on a network are admitted by the bytes that its link carries, headers counted, a second. Exact integers,
 * rounded so that no more is promised than there is. */
#ifndef RTF_WIRE_H
#define RTF_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "units.h"

/* Ethernet (14), IPv4 (20) and UDP (8) around what fits into a packet of 1500 bytes. */
enum { WIRE_HEADERS = 42, WIRE_PAYLOAD = 1472 };
#define WIRE_BYTES_MAX UINT64_C(1073741824) /* of one period */

/* What may be promised of a link: paper 002, section 4.3, has 0.96, where its eight streams are 0.9601 with Ethernet's headers. From 1 on delays grow
 * without a bound that means anything. */
#define WIRE_THRESHOLD (ONE_CPU / 100 * 97)

/* "1024", "1500B", "32KiB", "4MiB", "64kB" or "1MB": from 1 to WIRE_BYTES_MAX. */
bool parse_bytes(const char *text, uint64_t *bytes);

/* "3553kbit", "100Mbit", "10Gbit" or "64000bit": powers of 1000, as tc(8) has them, up to 10 Tbit. In bits a second. */
bool parse_rate(const char *text, uint64_t *bits);

/* Bytes a second that `bytes` of data in each `period` (us, above 0) take of the wire, rounded up. */
uint64_t wire_rate(uint64_t bytes, uint64_t period);

/* The most data in each `period` with wire_rate(bytes, period) <= rate, up to WIRE_BYTES_MAX. */
uint64_t wire_bytes_within(uint64_t rate, uint64_t period);

/* Bytes a second of a link that may be promised: its rate times the threshold in billionths, rounded down. */
uint64_t wire_capacity(uint64_t bits, uint64_t threshold);

#endif
