/* Computes the load of data on a network link. The broker admits a claim on a network by the bytes
 * per second that the link carries for the claim, including headers. All values are integers,
 * rounded so that the broker never promises more than the link has. */
#ifndef RTF_WIRE_H
#define RTF_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "units.h"

/* Headers around the payload of a 1500-byte packet: Ethernet (14), IPv4 (20) and UDP (8). */
enum { WIRE_HEADERS = 42, WIRE_PAYLOAD = 1472 };
#define WIRE_BYTES_MAX UINT64_C(1073741824) /* the most bytes per period */

/* The share of a link that all claims together may have by default. The paper on FRSH/FORB (section
 * 4.3) has 0.96, but the eight streams of the paper need 0.9601 with Ethernet's headers. So this
 * share is a little larger. With a share of 1, delays would have no useful bound. */
#define WIRE_THRESHOLD (ONE_CPU / 100 * 97)

/* Parses a size such as "1024", "1500B", "32KiB", "4MiB", "64kB" or "1MB", from 1 to WIRE_BYTES_MAX
 * bytes. */
bool parse_bytes(const char *text, uint64_t *bytes);

/* Parses a size of memory. Like parse_bytes, but also with "GB" and "GiB", from 1 B to 1 TiB. */
bool parse_memory(const char *text, uint64_t *bytes);

/* Parses a rate such as "3553kbit", "100Mbit", "10Gbit" or "64000bit". The units are powers of 1000
 * as in tc(8), and the largest rate is 10 Tbit. The result is in bits per second. */
bool parse_rate(const char *text, uint64_t *bits);

/* Returns the rate on the link for `bytes` of data per `period` (us, above 0), in bytes per second,
 * rounded up. */
uint64_t wire_rate(uint64_t bytes, uint64_t period);

/* Returns the largest number of bytes with wire_rate(bytes, period) <= rate, up to WIRE_BYTES_MAX.
 * period: us. */
uint64_t wire_bytes_within(uint64_t rate, uint64_t period);

/* Returns the bytes per second that plugins may promise on a link: the rate of the link times the
 * threshold in billionths, rounded down. */
uint64_t wire_capacity(uint64_t bits, uint64_t threshold);

#endif
