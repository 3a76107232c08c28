#include "bpf.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpf_call(int what, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, what, attributes, sizeof *attributes);
}

int bpf_load(uint32_t type, uint32_t attachment, const struct bpf_insn *code, size_t count,
             const char *name)
{
    union bpf_attr attributes = {.prog_type = type,
                                 .expected_attach_type = attachment,
                                 .insns = (uintptr_t)code,
                                 .insn_cnt = (uint32_t)count,
                                 .license = (uintptr_t) "MIT"};
    snprintf(attributes.prog_name, sizeof attributes.prog_name, "%s", name);
    return bpf_call(BPF_PROG_LOAD, &attributes);
}
