/* Calls bpf(2), and has macros for the instructions of a BPF program. */
#ifndef RTF_NET_BPF_H
#define RTF_NET_BPF_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* Calls bpf(2) with the command `what`, such as BPF_MAP_CREATE. -1: errno says why. */
int bpf_call(int what, union bpf_attr *attributes);

/* Loads a program, and returns its descriptor. -1: errno says why. */
int bpf_load(uint32_t type, uint32_t attachment, const struct bpf_insn *code, size_t count,
             const char *name);

static inline struct bpf_insn instruction(uint8_t code, uint8_t to, uint8_t from, int16_t offset,
                                          int32_t value)
{
    return (struct bpf_insn){
        .code = code, .dst_reg = to & 15, .src_reg = from & 15, .off = offset, .imm = value};
}

#define MOVE(to, from)                instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, value)                instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define ADD(to, value)                instruction(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value)
#define LOWER_HALF(to)                instruction(BPF_ALU | BPF_MOV | BPF_X, to, to, 0, 0)
#define LOAD(size, to, from, offset)  instruction(BPF_LDX | BPF_MEM | (size), to, from, offset, 0)
#define STORE(size, to, offset, from) instruction(BPF_STX | BPF_MEM | (size), to, from, offset, 0)
#define LOAD_MAP(to, map)                                                  \
    instruction(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, map), \
        instruction(0, 0, 0, 0, 0)
#define CALL(function) instruction(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define SKIP_IF(condition, left, value, count) \
    instruction(BPF_JMP | (condition) | BPF_K, left, 0, count, value)
#define SKIP_UNLESS_SAME(left, right, count) \
    instruction(BPF_JMP | BPF_JNE | BPF_X, left, right, count, 0)
#define END instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

enum { KEY = -4 }; /* the offset of a key on the stack of the program */

#endif
