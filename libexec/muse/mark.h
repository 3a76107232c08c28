/* A mark is the record of the beginning of one job. The same struct, in the machine's byte order,
 * is used in memory, in the files of marks and in datagrams. */
#ifndef RTF_MUSE_MARK_H
#define RTF_MUSE_MARK_H

#include <stdint.h>

struct mark {
    int64_t time; /* ns */
    uint32_t job; /* from 0 */
    uint16_t cpu;
    uint16_t thread; /* from 0 */
};

#endif
