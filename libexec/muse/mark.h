/* One mark, as it is in memory, in files of a thread's marks and in datagrams: in the byte order of the machine. */
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
