#include "tickets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <mntent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int threads = -1, tickets = -1, sockets = -1, filter = -1, link_of_program = -1;

/* The map's value for a thread's id. */
struct bound {
    uint32_t mark, uid;
    uint64_t ticket;
};

static int call(int what, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, what, attributes, sizeof *attributes);
}

/* ---- maps ---- */

static int make_map(uint32_t value_size, const char *name)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_HASH,
                                 .key_size = sizeof(uint32_t),
                                 .value_size = value_size,
                                 .max_entries = BOUND_MOST,
                                 .map_flags = BPF_F_NO_PREALLOC};
    snprintf(attributes.map_name, sizeof attributes.map_name, "%s", name);
    return call(BPF_MAP_CREATE, &attributes);
}

/* Describes the types of key and value of a socket's storage; the kernel requires both. */
static int describe_types(void)
{
    enum { INTEGER = BTF_KIND_INT << 24 };
    struct {
        struct btf_header header;
        uint32_t types[8];
        char strings[1];
    } description = {.header = {.magic = BTF_MAGIC,
                                .version = BTF_VERSION,
                                .hdr_len = sizeof description.header,
                                .type_len = sizeof description.types,
                                .str_off = sizeof description.types,
                                .str_len = sizeof description.strings},
                     .types = {0, INTEGER, 4, BTF_INT_SIGNED << 24 | 32, 0, INTEGER, 8, 64}};
    union bpf_attr attributes = {.btf = (uintptr_t)&description,
                                 .btf_size = offsetof(__typeof__(description), strings) +
                                             sizeof description.strings};
    return call(BPF_BTF_LOAD, &attributes);
}

/* Makes the map from a socket to its ticket. With BPF_F_CLONE an accepted connection has the ticket
 * of its listening socket. */
static int make_map_of_sockets(void)
{
    const int types = describe_types();
    if (types < 0)
        return -1;
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_SK_STORAGE,
                                 .key_size = sizeof(int),
                                 .value_size = sizeof(uint64_t),
                                 .map_name = "rtf_sockets",
                                 .map_flags = BPF_F_NO_PREALLOC | BPF_F_CLONE,
                                 .btf_fd = (unsigned)types,
                                 .btf_key_type_id = 1,
                                 .btf_value_type_id = 2};
    const int map = call(BPF_MAP_CREATE, &attributes);
    const int error = errno;
    close(types);
    errno = error;
    return map;
}

static bool set(int map, uint32_t key, const void *value)
{
    union bpf_attr attributes = {.map_fd = (unsigned)map,
                                 .key = (uintptr_t)&key,
                                 .value = (uintptr_t)value};
    return call(BPF_MAP_UPDATE_ELEM, &attributes) == 0;
}

static void unset(int map, uint32_t key)
{
    union bpf_attr attributes = {.map_fd = (unsigned)map, .key = (uintptr_t)&key};
    (void)call(BPF_MAP_DELETE_ELEM, &attributes);
}

/* ---- programs ---- */

static struct bpf_insn instruction(uint8_t code, uint8_t to, uint8_t from, int16_t offset,
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

enum { KEY = -4 }; /* offset on the stack */

static int load(uint32_t type, uint32_t attachment, const struct bpf_insn *code, size_t count,
                const char *name)
{
    union bpf_attr attributes = {.prog_type = type,
                                 .expected_attach_type = attachment,
                                 .insns = (uintptr_t)code,
                                 .insn_cnt = (uint32_t)count,
                                 .license = (uintptr_t) "MIT"};
    snprintf(attributes.prog_name, sizeof attributes.prog_name, "%s", name);
    return call(BPF_PROG_LOAD, &attributes);
}

/* NOLINTBEGIN(misc-redundant-expression): BPF_LD, BPF_IMM and others are 0 */

/* Marks a new socket of an attached thread: first the ticket, then the mark. The program always
 * allows the socket. */
static int load_marker(void)
{
    enum { OUT_FROM_LOOKUP = 16, OUT_FROM_UID = 11, OUT_FROM_SOCKET = 4 };
    const struct bpf_insn code[] = {
        MOVE(BPF_REG_6, BPF_REG_1),
        CALL(BPF_FUNC_get_current_pid_tgid), /* lower half: the thread's id */
        STORE(BPF_W, BPF_REG_10, KEY, BPF_REG_0),
        LOAD_MAP(BPF_REG_1, threads),
        MOVE(BPF_REG_2, BPF_REG_10),
        ADD(BPF_REG_2, KEY),
        CALL(BPF_FUNC_map_lookup_elem),
        SKIP_IF(BPF_JEQ, BPF_REG_0, 0, OUT_FROM_LOOKUP),
        MOVE(BPF_REG_7, BPF_REG_0),
        /* Lower half: the uid. It must be the uid of the attached thread: by now, a thread of
         * another user may have the thread id. */
        CALL(BPF_FUNC_get_current_uid_gid),
        LOWER_HALF(BPF_REG_0),
        LOAD(BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct bound, uid)),
        SKIP_UNLESS_SAME(BPF_REG_0, BPF_REG_1, OUT_FROM_UID),
        LOAD_MAP(BPF_REG_1, sockets),
        MOVE(BPF_REG_2, BPF_REG_6),
        SET(BPF_REG_3, 0),
        SET(BPF_REG_4, BPF_SK_STORAGE_GET_F_CREATE),
        CALL(BPF_FUNC_sk_storage_get),
        SKIP_IF(BPF_JEQ, BPF_REG_0, 0, OUT_FROM_SOCKET),
        LOAD(BPF_DW, BPF_REG_1, BPF_REG_7, offsetof(struct bound, ticket)),
        STORE(BPF_DW, BPF_REG_0, 0, BPF_REG_1),
        LOAD(BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct bound, mark)),
        STORE(BPF_W, BPF_REG_6, offsetof(struct bpf_sock, mark), BPF_REG_1),
        SET(BPF_REG_0, 1),
        END,
    };
    return load(BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, code,
                sizeof code / sizeof *code, "rtf_marker");
}

/* Returns a packet's class; 0: other traffic. An unprivileged program cannot set a mark, and a mark
 * set in another network namespace does not leave that namespace. */
static int load_filter(void)
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
    return load(BPF_PROG_TYPE_SCHED_CLS, 0, code, sizeof code / sizeof *code, "rtf_filter");
}

/* NOLINTEND(misc-redundant-expression) */

/* Returns a descriptor of the root of the unified cgroup hierarchy; -1: the hierarchy is not
 * mounted. */
static int open_cgroups(void)
{
    const struct mntent *entry;
    int root = -1;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    while (mounts != NULL && root < 0 && (entry = getmntent(mounts)) != NULL)
        if (strcmp(entry->mnt_type, "cgroup2") == 0)
            root = open(entry->mnt_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mounts != NULL)
        (void)endmntent(mounts);
    return root;
}

static const char *attach_marker(int program, int cgroups)
{
    union bpf_attr attributes = {.link_create = {.prog_fd = (unsigned)program,
                                                 .target_fd = (unsigned)cgroups,
                                                 .attach_type = BPF_CGROUP_INET_SOCK_CREATE}};
    if (cgroups < 0) {
        errno = ENOENT;
        return "new sockets cannot be marked, because no unified cgroup hierarchy is mounted";
    }
    link_of_program = call(BPF_LINK_CREATE, &attributes);
    return link_of_program >= 0 ? NULL
                                : "the BPF program cannot be attached to the root of the cgroups";
}

static const char *begin_marker(void)
{
    const int program = load_marker();
    if (program < 0)
        return "the BPF program for new sockets cannot be loaded";
    const int cgroups = open_cgroups();
    const char *const why = attach_marker(program, cgroups);
    const int error = errno;
    if (cgroups >= 0)
        close(cgroups);
    close(program);
    errno = error;
    return why;
}

const char *tickets_open(void)
{
    if ((threads = make_map(sizeof(struct bound), "rtf_threads")) < 0 ||
        (tickets = make_map(sizeof(uint64_t), "rtf_tickets")) < 0)
        return "a BPF map cannot be made";
    if ((sockets = make_map_of_sockets()) < 0)
        return "the BPF map of sockets cannot be made";
    if ((filter = load_filter()) < 0)
        return "the BPF program for interfaces cannot be loaded";
    return begin_marker();
}

int tickets_filter(void)
{
    return filter;
}

uint64_t tickets_of(uint16_t class)
{
    static uint64_t last;
    const uint32_t key = class;
    uint64_t ticket = 0;
    union bpf_attr attributes = {.map_fd = (unsigned)tickets,
                                 .key = (uintptr_t)&key,
                                 .value = (uintptr_t)&ticket};
    if (call(BPF_MAP_LOOKUP_ELEM, &attributes) == 0)
        return ticket;
    ticket = ++last;
    return set(tickets, class, &ticket) ? ticket : 0;
}

void tickets_end(uint16_t class)
{
    unset(tickets, class);
}

bool tickets_remember(pid_t tid, uid_t uid, uint32_t mark, uint64_t ticket)
{
    return set(threads, (uint32_t)tid, &(struct bound){mark, uid, ticket});
}

void tickets_forget(pid_t tid)
{
    unset(threads, (uint32_t)tid);
}

bool tickets_give(int fd, uint64_t ticket)
{
    return set(sockets, (uint32_t)fd, &ticket);
}

void tickets_take(int fd)
{
    unset(sockets, (uint32_t)fd);
}
