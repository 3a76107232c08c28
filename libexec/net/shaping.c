#include "shaping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/htb.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLASS_ROOT = 1,
    CLASS_REST = 2,
    PRIORITY_REST = 7,
    FRAME = 1514,
    QUEUE_REST = 100 * FRAME,
    QUEUE = 1000 * FRAME /* bytes */
};

/* The guaranteed rate of the class for other traffic: capacity / REST_SHARE, at least REST_LEAST
 * (bytes per second), because the kernel refuses the rate 0. */
enum { REST_SHARE = 100, REST_LEAST = 125 };

static struct nl_sock *kernel; /* the netlink socket; NULL after an error */

bool shaping_open(void)
{
    if (kernel != NULL)
        return true;
    kernel = nl_socket_alloc();
    if (kernel != NULL && nl_connect(kernel, NETLINK_ROUTE) == 0)
        return true;
    nl_socket_free(kernel);
    kernel = NULL;
    return false;
}

bool shaping_is_lost(void)
{
    return kernel == NULL;
}

/* Writes the reason of a failure, and closes the netlink socket, so that the next request gets a
 * new socket. libnl counts requests and answers. After a request that could not be sent, or an
 * answer that could not be read, libnl would assign later answers to the wrong requests. */
static bool no(char *reason, const char *interface, const char *what, int error)
{
    snprintf(reason, SHAPING_REASON, "interface %s: %s: %s", interface, what, nl_geterror(error));
    nl_socket_free(kernel);
    kernel = NULL;
    return false;
}

static bool is_open(const char *interface, char *reason)
{
    if (shaping_open())
        return true;
    snprintf(reason, SHAPING_REASON, "interface %s: a netlink socket cannot be opened: %s",
             interface, strerror(errno));
    return false;
}

static int find(const char *interface, char *reason)
{
    const int index = (int)if_nametoindex(interface);
    if (index == 0)
        snprintf(reason, SHAPING_REASON, "there is no interface %s", interface);
    return is_open(interface, reason) ? index : 0;
}

static uint32_t handle(uint16_t minor)
{
    return TC_HANDLE(SHAPING_MAJOR, minor);
}

/* ---- the root qdisc ---- */

enum root { ROOT_DEFAULT, ROOT_OURS, ROOT_OTHERS, ROOT_UNKNOWN };

/* Finds out whether the interface has rtf's root qdisc, the kernel's default, or another one. The
 * kernel's default qdisc has the handle 0. */
static enum root root_of(int index, char name[static IFNAMSIZ])
{
    struct nl_cache *cache;
    enum root root = ROOT_DEFAULT;
    if (rtnl_qdisc_alloc_cache(kernel, &cache) != 0)
        return ROOT_UNKNOWN;
    for (struct nl_object *object = nl_cache_get_first(cache); object != NULL;
         object = nl_cache_get_next(object)) {
        struct rtnl_tc *qdisc = (struct rtnl_tc *)object;
        if (rtnl_tc_get_ifindex(qdisc) != index || rtnl_tc_get_parent(qdisc) != TC_H_ROOT ||
            rtnl_tc_get_handle(qdisc) == 0)
            continue;
        const char *kind = rtnl_tc_get_kind(qdisc);
        root = rtnl_tc_get_handle(qdisc) == handle(0) && kind != NULL && strcmp(kind, "htb") == 0
                   ? ROOT_OURS
                   : ROOT_OTHERS;
        snprintf(name, IFNAMSIZ, "%s", kind == NULL ? "?" : kind);
    }
    nl_cache_free(cache);
    return root;
}

static struct rtnl_qdisc *qdisc_of(int index, uint32_t parent, uint32_t name, const char *kind)
{
    struct rtnl_qdisc *qdisc = rtnl_qdisc_alloc();
    if (qdisc == NULL)
        abort();
    rtnl_tc_set_ifindex(TC_CAST(qdisc), index);
    rtnl_tc_set_parent(TC_CAST(qdisc), parent);
    rtnl_tc_set_handle(TC_CAST(qdisc), name);
    if (kind != NULL && rtnl_tc_set_kind(TC_CAST(qdisc), kind) != 0)
        abort();
    return qdisc;
}

static int add_root(int index)
{
    struct rtnl_qdisc *qdisc = qdisc_of(index, TC_H_ROOT, handle(0), "htb");
    rtnl_htb_set_defcls(qdisc, CLASS_REST);
    const int error = rtnl_qdisc_add(kernel, qdisc, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_qdisc_put(qdisc);
    return error;
}

/* Returns the length of the longest frame of an interface, with headers, in bytes. */
static int longest_frame(const char *interface)
{
    struct ifreq request = {0};
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    const bool known = any >= 0 && ioctl(any, SIOCGIFMTU, &request) == 0;
    if (any >= 0)
        close(any);
    return (known && request.ifr_mtu > 1500 ? request.ifr_mtu : 1500) + 100;
}

/* Adds a queue to a class: a token bucket (tc-tbf(8)). Without the queue, HTB sends a TCP segment
 * of up to 64 KiB, which the interface will split, as one packet, and this packet blocks the link.
 * A token bucket that holds no more than one frame splits such a packet before HTB sends it
 * (tbf_segment of net/sched/sch_tbf.c). The bucket never delays a packet, because its rate FAST is
 * higher than the rate of HTB. If the interface is about as fast as the bucket, 64 KiB take only
 * half a millisecond, and the class needs no queue. The kernel stores the bucket's size as whole
 * microseconds. */
/* FAST: bytes per second; A_MICROSECOND: the same rate in bytes per microsecond */
enum { FAST = 200000000, A_MICROSECOND = FAST / 1000000 };
static int add_queue(int index, const char *interface, uint16_t class, uint64_t capacity, int bytes)
{
    if (capacity > FAST / 2)
        return 0;
    struct rtnl_qdisc *qdisc = qdisc_of(index, handle(class), 0, "tbf");
    rtnl_qdisc_tbf_set_limit(qdisc, bytes);
    rtnl_qdisc_tbf_set_rate(qdisc, FAST,
                            (longest_frame(interface) / A_MICROSECOND + 1) * A_MICROSECOND, 0);
    const int error = rtnl_qdisc_add(kernel, qdisc, NLM_F_CREATE | NLM_F_REPLACE);
    rtnl_qdisc_put(qdisc);
    return error;
}

/* Attaches the BPF program to the interface; the program tells the kernel the class of each
 * packet. */
static int add_filter(int index, int program)
{
    struct tcmsg header = {.tcm_family = AF_UNSPEC,
                           .tcm_ifindex = index,
                           .tcm_handle = 1,
                           .tcm_parent = handle(0),
                           .tcm_info = TC_H_MAKE(1U << 16, htons(ETH_P_ALL))};
    struct nl_msg *message = nlmsg_alloc_simple(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE);
    struct nl_msg *filter = message;
    if (message == NULL || nlmsg_append(filter, &header, sizeof header, NLMSG_ALIGNTO) != 0)
        abort();
    NLA_PUT_STRING(filter, TCA_KIND, "bpf");
    struct nlattr *options = nla_nest_start(filter, TCA_OPTIONS);
    NLA_PUT_U32(filter, TCA_BPF_FD, (unsigned)program);
    NLA_PUT_STRING(filter, TCA_BPF_NAME, "rtf_filter");
    nla_nest_end(filter, options);
    return nl_send_sync(kernel, message); /* frees the message */
nla_put_failure:
    nlmsg_free(message);
    return -NLE_NOMEM;
}

/* ---- classes ---- */

static struct rtnl_class *class_of(int index, uint16_t minor, uint16_t parent)
{
    struct rtnl_class *class = rtnl_class_alloc();
    if (class == NULL)
        abort();
    rtnl_tc_set_ifindex(TC_CAST(class), index);
    rtnl_tc_set_handle(TC_CAST(class), handle(minor));
    rtnl_tc_set_parent(TC_CAST(class), handle(parent));
    if (rtnl_tc_set_kind(TC_CAST(class), "htb") != 0)
        abort();
    return class;
}

static int set_class(int index, uint16_t minor, uint16_t parent, uint32_t priority, uint64_t rate,
                     uint64_t most)
{
    struct rtnl_class *class = class_of(index, minor, parent);
    int error = rtnl_htb_set_rate64(class, rate);
    error = error != 0 ? error : rtnl_htb_set_ceil64(class, most);
    error = error != 0 ? error : rtnl_htb_set_prio(class, priority);
    error = error != 0 ? error : rtnl_htb_set_quantum(class, FRAME);
    error = error != 0 ? error : rtnl_class_add(kernel, class, NLM_F_CREATE);
    rtnl_class_put(class);
    return error;
}

/* True if the interface has the root qdisc of rtf, or a default root qdisc that rtf may replace. */
static bool look(const char *interface, int index, enum root *root, char *reason)
{
    char name[IFNAMSIZ] = "";
    *root = root_of(index, name);
    if (*root == ROOT_UNKNOWN)
        return no(reason, interface, "the root qdisc cannot be read", -NLE_FAILURE);
    if (*root == ROOT_OTHERS)
        snprintf(
            reason, SHAPING_REASON,
            "interface %s has another root qdisc (%s), which rtf does not replace; to remove it: tc qdisc del dev %s root",
            interface, name, interface);
    return *root != ROOT_OTHERS;
}

bool shaping_look(const char *interface, char reason[static SHAPING_REASON])
{
    enum root root;
    const int index = find(interface, reason);
    return index != 0 && look(interface, index, &root, reason);
}

bool shaping_begin(const char *interface, uint64_t capacity, int program,
                   char reason[static SHAPING_REASON])
{
    enum root root;
    const int index = find(interface, reason);
    if (index == 0 || !look(interface, index, &root, reason))
        return false;
    int error = root == ROOT_OURS ? 0 : add_root(index);
    if (error != 0)
        return no(reason, interface, "the qdisc htb cannot be set (does the kernel have sch_htb?)",
                  error);
    const uint64_t rest = capacity / REST_SHARE > REST_LEAST ? capacity / REST_SHARE : REST_LEAST;
    if ((error = set_class(index, CLASS_ROOT, 0, 0, capacity, capacity)) != 0 ||
        (error = set_class(index, CLASS_REST, CLASS_ROOT, PRIORITY_REST, rest, capacity)) != 0 ||
        (error = add_queue(index, interface, CLASS_REST, capacity, QUEUE_REST)) != 0)
        return no(reason, interface, "a class cannot be made", error);
    error = program < 0 ? 0 : add_filter(index, program);
    return error == 0 ||
           no(reason, interface, "the filter cannot be set (does the kernel have cls_bpf?)", error);
}

bool shaping_class(const char *interface, uint16_t class, bool is_new, uint64_t rate,
                   uint64_t capacity, char reason[static SHAPING_REASON])
{
    const int index = find(interface, reason);
    if (index == 0)
        return false;
    int error = set_class(index, class, CLASS_ROOT, 0, rate, capacity);
    error = error != 0 || !is_new ? error : add_queue(index, interface, class, capacity, QUEUE);
    return error == 0 || no(reason, interface, "the class cannot be made", error);
}

static int remove_class(int index, uint16_t minor)
{
    struct rtnl_class *class = class_of(index, minor, CLASS_ROOT);
    const int error = rtnl_class_delete(kernel, class);
    rtnl_class_put(class);
    /* the error INVAL may also mean that there is no such qdisc */
    return error == -NLE_OBJ_NOTFOUND || error == -NLE_NODEV || error == -NLE_INVAL ? 0 : error;
}

bool shaping_drop(const char *interface, uint16_t class, char reason[static SHAPING_REASON])
{
    const int index = (int)if_nametoindex(interface);
    if (!is_open(interface, reason))
        return false;
    const int error = index == 0 ? 0 : remove_class(index, class);
    return error == 0 || no(reason, interface, "the class cannot be removed", error);
}

bool shaping_settle(const char *interface, bool (*keep)(uint16_t class),
                    char reason[static SHAPING_REASON])
{
    struct nl_cache *cache;
    const int index = find(interface, reason);
    if (index == 0)
        return false;
    int error = rtnl_class_alloc_cache(kernel, index, &cache);
    if (error != 0)
        return no(reason, interface, "the classes cannot be read", error);
    for (struct nl_object *object = nl_cache_get_first(cache); object != NULL;
         object = nl_cache_get_next(object)) {
        const uint32_t name = rtnl_tc_get_handle((struct rtnl_tc *)object);
        const uint16_t minor = (uint16_t)TC_H_MIN(name);
        if (TC_H_MAJ(name) == handle(0) && minor >= CLASS_LEAST && !keep(minor) && error == 0)
            error = remove_class(index, minor);
    }
    nl_cache_free(cache);
    return error == 0 || no(reason, interface, "an unused class cannot be removed", error);
}

bool shaping_end(const char *interface, char reason[static SHAPING_REASON])
{
    char name[IFNAMSIZ];
    const int index = (int)if_nametoindex(interface);
    if (index == 0)
        return true;
    if (!is_open(interface, reason))
        return false;
    const enum root root = root_of(index, name);
    if (root == ROOT_UNKNOWN)
        return no(reason, interface, "the root qdisc cannot be read", -NLE_FAILURE);
    if (root != ROOT_OURS)
        return true;
    struct rtnl_qdisc *qdisc = qdisc_of(index, TC_H_ROOT, handle(0), NULL);
    const int error = rtnl_qdisc_delete(kernel, qdisc);
    rtnl_qdisc_put(qdisc);
    return error == 0 || no(reason, interface, "the qdisc cannot be removed", error);
}
