#include "tickets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <mntent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf.h"
#include "packet-filter.h"

static int threads = -1, tickets = -1, sockets = -1, filter = -1, link_of_program = -1;

/* The value in the map of attached threads. The key is the thread's id. */
struct bound {
    uint32_t mark, uid;
    uint64_t ticket;
};

/* ---- maps ---- */

static int make_map(uint32_t value_size, const char *name)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_HASH,
                                 .key_size = sizeof(uint32_t),
                                 .value_size = value_size,
                                 .max_entries = BOUND_MOST,
                                 .map_flags = BPF_F_NO_PREALLOC};
    snprintf(attributes.map_name, sizeof attributes.map_name, "%s", name);
    return bpf_call(BPF_MAP_CREATE, &attributes);
}

/* Describes the types of the key and the value of a socket's storage, because the kernel requires
 * both. */
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
    return bpf_call(BPF_BTF_LOAD, &attributes);
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
    const int map = bpf_call(BPF_MAP_CREATE, &attributes);
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
    return bpf_call(BPF_MAP_UPDATE_ELEM, &attributes) == 0;
}

static void unset(int map, uint32_t key)
{
    union bpf_attr attributes = {.map_fd = (unsigned)map, .key = (uintptr_t)&key};
    (void)bpf_call(BPF_MAP_DELETE_ELEM, &attributes);
}

/* ---- the program for new sockets ---- */

/* NOLINTBEGIN(misc-redundant-expression): BPF_LD, BPF_IMM and others are 0 */

/* Loads the program that gives a new socket of an attached thread first the ticket, then the mark.
 * The program allows every socket. */
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
        /* Lower half: the uid. The program compares it with the uid of the attached thread, because
         * by now a thread of another user may have the thread's id. */
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
    return bpf_load(BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, code,
                    sizeof code / sizeof *code, "rtf_marker");
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
    link_of_program = bpf_call(BPF_LINK_CREATE, &attributes);
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
    if ((filter = load_filter(sockets, tickets)) < 0)
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
    if (bpf_call(BPF_MAP_LOOKUP_ELEM, &attributes) == 0)
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
