/* A mark: the beginning of one job. The same struct is used in memory, in the files of marks and in
 * datagrams, in the machine's byte order. */
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
