#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "capabilities.h"
#include "client.h"
#include "confine.h"
#include "spec.h"

/* True: the file in the spool has this text. The user may have put anything in the place of the
 * file, but can delay only this process. */
static bool has_text(const struct client *client, const struct order *order)
{
    static char bytes[SPEC_BYTES_MAX + 1];
    char file[NAME_BYTES + sizeof ".json"];
    const size_t length = strlen(order->text);
    snprintf(file, sizeof file, "%s.json", order->name);
    const int fd = openat(client->directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool same = fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)length &&
                      memcmp(bytes, order->text, length) == 0;
    if (fd >= 0)
        close(fd);
    return same;
}

static enum client_outcome put(struct client *client, const struct order *order)
{
    ino_t inode;
    if (has_text(client, order))
        return CLIENT_OK;
    const enum client_outcome outcome = client_put(client, order->name, order->text, &inode);
    if (outcome != CLIENT_TAKEN)
        return outcome;
    inode = client_inode(client, order->name);
    return client_change(client, order->name, order->text, &inode);
}

/* True: the user has a file NAME.json, which replaces admin:NAME.json. */
static bool is_replaced(const struct client *client, const struct order *order)
{
    return client_inode(client, order->name + strlen(GIVEN_PREFIX)) != 0;
}

static enum client_outcome obey(struct client *client, const struct order *order)
{
    if (order->what == PUT && !is_replaced(client, order))
        return put(client, order);
    const ino_t inode = order->what == KEEP ? 0 : client_inode(client, order->name);
    return inode == 0 ? CLIENT_OK : client_remove(client, order->name, inode);
}

static bool puts_any(const struct order *orders, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (orders[i].what == PUT)
            return true;
    return false;
}

/* Becomes the user, with the spool's group even if the user is no member: the administrator has
 * named the user, and acl.conf says how much the broker grants. PR_SET_DUMPABLE: no process of the
 * user can trace this process. From then on the process can only work with files. */
static bool become(const struct order *order, gid_t group)
{
    static const char *const calls[] = {
        "read write openat open close fstat newfstatat statx lseek linkat mkdirat open_tree",
        "renameat renameat2 unlinkat getrandom getuid geteuid getgid getegid getpid gettid brk",
        "mmap munmap mremap mprotect madvise futex rt_sigreturn restart_syscall exit exit_group",
        NULL};
    return order->uid != 0 && become_unprivileged(order->uid, order->gid, group) &&
           prctl(PR_SET_DUMPABLE, 0) == 0 && confine_calls(calls);
}

/* True: the account's name can be the name of a directory, as for client_enter. */
static bool names_directory(const char *account)
{
    return account != NULL && account[0] != '\0' && account[0] != '.' &&
           strchr(account, '/') == NULL && strlen(account) <= NAME_MAX;
}

/* CLIENT_OK: the user has a directory of this name. */
static enum client_outcome look(const struct client *client, const char *name)
{
    struct stat status;
    if (fstatat(client->specs, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? CLIENT_GONE : CLIENT_ERROR;
    return S_ISDIR(status.st_mode) && status.st_uid == geteuid() ? CLIENT_OK : CLIENT_ERROR;
}

/* Like client_enter: the directory of the user has the uid as its name, or else the name of the
 * account. If client_enter does not find the directory $USER, it looks up the account. A module of
 * the account database then makes a system call that this process may not make, and the kernel ends
 * the process. So this function finds or makes the directory before client_enter. */
static enum client_outcome enter(struct client *client, const struct order *order, bool create)
{
    char decimal[16];
    const char *name = decimal;
    snprintf(decimal, sizeof decimal, "%u", (unsigned)order->uid);
    if (look(client, decimal) != CLIENT_OK && names_directory(order->account))
        name = order->account;
    if (create && mkdirat(client->specs, name, S_IRWXU) != 0 && errno != EEXIST)
        return CLIENT_ERROR;
    const enum client_outcome outcome = look(client, name);
    if (outcome != CLIENT_OK)
        return outcome;
    return setenv("USER", name, 1) == 0 ? client_enter(client, false) : CLIENT_ERROR;
}

int worker_run(const char *spool, gid_t group, const struct order *orders, size_t count)
{
    struct client client;
    if (!become(&orders[0], group))
        return EX_OSERR;
    enum client_outcome outcome = client_open(&client, spool);
    if (outcome == CLIENT_OK)
        outcome = enter(&client, &orders[0], puts_any(orders, count));
    if (outcome == CLIENT_GONE && !puts_any(orders, count))
        return EX_OK;
    for (size_t i = 0; i < count && outcome == CLIENT_OK; i++)
        outcome = obey(&client, &orders[i]);
    client_close(&client);
    return client_status_of_outcome(outcome);
}
