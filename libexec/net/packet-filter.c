#include "packet-filter.h"

#include <linux/bpf.h>
#include <stddef.h>

#include "bpf.h"

/* NOLINTBEGIN(misc-redundant-expression): BPF_LD, BPF_IMM and others are 0 */

/* Loads the filter. The filter may trust marks: an unprivileged program cannot set a mark, and a
 * mark that is set in another network namespace does not leave that namespace. */
int load_filter(int sockets, int tickets)
{
    enum {
        OUT_FROM_MARK = 22,
        OUT_FROM_NO_SOCKET = 20,
        OUT_FROM_SOCKET = 14,
        OUT_FROM_LOOKUP = 4,
        OUT_FROM_TICKET = 2
    };
    const struct bpf_insn code[] = {
        LOAD(BPF_W, BPF_REG_7, BPF_REG_1, offsetof(struct __sk_buff, mark)),
        MOVE(BPF_REG_2, BPF_REG_7),
        instruction(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_2, 0, 0, 16),
        SKIP_IF(BPF_JNE, BPF_REG_2, TICKETS_OURS, OUT_FROM_MARK),
        LOAD(BPF_DW, BPF_REG_2, BPF_REG_1, offsetof(struct __sk_buff, sk)),
        SKIP_IF(BPF_JEQ, BPF_REG_2, 0, OUT_FROM_NO_SOCKET),
        LOAD_MAP(BPF_REG_1, sockets),
        SET(BPF_REG_3, 0),
        SET(BPF_REG_4, 0),
        CALL(BPF_FUNC_sk_storage_get),
        SKIP_IF(BPF_JEQ, BPF_REG_0, 0, OUT_FROM_SOCKET),
        LOAD(BPF_DW, BPF_REG_8, BPF_REG_0, 0),
        MOVE(BPF_REG_1, BPF_REG_7),
        instruction(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, 0xffff),
        STORE(BPF_W, BPF_REG_10, KEY, BPF_REG_1),
        LOAD_MAP(BPF_REG_1, tickets),
        MOVE(BPF_REG_2, BPF_REG_10),
        ADD(BPF_REG_2, KEY),
        CALL(BPF_FUNC_map_lookup_elem),
        SKIP_IF(BPF_JEQ, BPF_REG_0, 0, OUT_FROM_LOOKUP),
        LOAD(BPF_DW, BPF_REG_1, BPF_REG_0, 0),
        SKIP_UNLESS_SAME(BPF_REG_8, BPF_REG_1, OUT_FROM_TICKET),
        MOVE(BPF_REG_0, BPF_REG_7),
        END,
        SET(BPF_REG_0, 0),
        END,
    };
    return bpf_load(BPF_PROG_TYPE_SCHED_CLS, 0, code, sizeof code / sizeof *code, "rtf_filter");
}

/* NOLINTEND(misc-redundant-expression) */
