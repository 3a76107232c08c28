#include "moved-aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <uthash.h>

static const char list_name[] = "system.posix_acl_access", prefix[] = ".aside-";

struct owner {
    UT_hash_handle hh;
    uid_t uid;
    int count;
    bool is_denied;
};
/* The new name of a file that was moved aside. The entry is kept until the inotify event of this
 * renaming has come, so that the adopter ignores the event. */
struct renamed {
    UT_hash_handle hh;
    char name[];
};
static struct renamed *renamed;
static struct owner *owners, *before; /* before: the owners as known when the count began */
static int specs = -1;
static void (*tell)(uid_t uid, bool done);

void moved_aside_begin(int directory, void (*told)(uid_t uid, bool done))
{
    specs = directory;
    tell = told;
}

static struct owner *owner_of(uid_t uid)
{
    struct owner *owner;
    HASH_FIND(hh, owners, &uid, sizeof uid, owner);
    if (owner != NULL)
        return owner;
    owner = calloc(1, sizeof *owner);
    if (owner == NULL)
        exit(1); /* the broker starts another adopter */
    owner->uid = uid;
    HASH_ADD(hh, owners, uid, sizeof owner->uid, owner);
    return owner;
}

/* ---- the access control list of specs/ ---- */

enum {
    ENTRIES_MOST = (XATTR_SIZE_MAX - sizeof(struct posix_acl_xattr_header)) /
                   sizeof(struct posix_acl_xattr_entry)
};
static struct list {
    struct posix_acl_xattr_header header;
    struct posix_acl_xattr_entry entries[ENTRIES_MOST];
} list;
static int length;

static void add(uint16_t tag, mode_t permissions, uint32_t id)
{
    if (length < ENTRIES_MOST)
        list.entries[length++] = (struct posix_acl_xattr_entry){.e_tag = tag,
                                                                .e_perm = (uint16_t)permissions,
                                                                .e_id = id};
}

/* Reads the access control list of specs/. If there is none, makes the entries that say the same as
 * the mode. */
static bool read_list(void)
{
    struct stat status;
    const ssize_t size = fgetxattr(specs, list_name, &list, sizeof list);
    length = 0;
    if (size >= (ssize_t)sizeof list.header) {
        length = (int)(((size_t)size - sizeof list.header) / sizeof *list.entries);
        return true;
    }
    if (errno != ENODATA || fstat(specs, &status) != 0)
        return false;
    list.header.a_version = POSIX_ACL_XATTR_VERSION;
    add(ACL_USER_OBJ, status.st_mode >> 6 & 7, ACL_UNDEFINED_ID);
    add(ACL_GROUP_OBJ, status.st_mode >> 3 & 7, ACL_UNDEFINED_ID);
    add(ACL_OTHER, status.st_mode & 7, ACL_UNDEFINED_ID);
    return true;
}

static bool is_ours(const struct posix_acl_xattr_entry *entry)
{
    return entry->e_tag == ACL_USER && entry->e_perm == ACL_EXECUTE;
}

/* Writes the list with our entries after the owner's, where the kernel requires entries of
 * users. Entries of an administrator stay. */
static bool write_list(void)
{
    const struct owner *owner;
    struct stat status;
    if (!read_list() || fstat(specs, &status) != 0)
        return false;
    const int count = length;
    struct posix_acl_xattr_entry *old = calloc((size_t)count + 1, sizeof *old);
    if (old == NULL)
        return false;
    memcpy(old, list.entries, (size_t)count * sizeof *old);
    bool needs_mask = false;
    length = 0;
    for (int i = 0; i < count; i++) {
        /* A mask is needed only beside entries of users or groups. */
        if (old[i].e_tag == ACL_OTHER && needs_mask)
            add(ACL_MASK, status.st_mode >> 3 & 7, ACL_UNDEFINED_ID);
        if (!is_ours(&old[i]) && old[i].e_tag != ACL_MASK)
            add(old[i].e_tag, old[i].e_perm, old[i].e_id);
        needs_mask |= (old[i].e_tag == ACL_USER && !is_ours(&old[i])) || old[i].e_tag == ACL_GROUP;
        for (owner = owners; owner != NULL && old[i].e_tag == ACL_USER_OBJ; owner = owner->hh.next)
            if (owner->is_denied) {
                add(ACL_USER, ACL_EXECUTE, owner->uid);
                needs_mask = true;
            }
    }
    free(old);
    return fsetxattr(specs, list_name, &list,
                     sizeof list.header + (size_t)length * sizeof *list.entries, 0) == 0;
}

/* Takes the write permission from an owner of too many files. Root is left out, because no ACL
 * binds root. */
static void deny_write(struct owner *owner)
{
    if (owner->is_denied || owner->count < MOVED_ASIDE_MOST || owner->uid == 0)
        return;
    owner->is_denied = true;
    tell(owner->uid, write_list());
}

/* ---- moving files ---- */

static void expect_event(const char *name)
{
    const size_t size = strlen(name) + 1;
    struct renamed *one = calloc(1, sizeof *one + size);
    if (one == NULL)
        exit(1); /* the broker starts another adopter */
    memcpy(one->name, name, size);
    HASH_ADD_KEYPTR(hh, renamed, one->name, size - 1, one);
}

bool moved_aside_take_event(const char *name)
{
    struct renamed *one;
    HASH_FIND_STR(renamed, name, one);
    if (one == NULL)
        return false;
    HASH_DEL(renamed, one);
    free(one);
    return true;
}

void moved_aside_forget_events(void)
{
    struct renamed *one, *next;
    HASH_ITER (hh, renamed, one, next) {
        HASH_DEL(renamed, one);
        free(one);
    }
}

/* Removes the moved file if it is one of several links. Users do not know its new name, so no user
 * can put another file in its place between fstatat(2) and unlinkat(2). */
static bool remove_link(const char *aside)
{
    struct stat status;
    return fstatat(specs, aside, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode) &&
           status.st_nlink > 1 && unlinkat(specs, aside, 0) == 0;
}

/* Renames the file. The new name has a random number: otherwise a user could make a file of this
 * name first, and keep the move from succeeding. No user can list specs/. */
bool moved_aside_move(const char *name, uid_t uid)
{
    char aside[NAME_MAX + 1];
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return false;
    snprintf(aside, sizeof aside, "%s%u-%016llx-%.200s", prefix, uid, (unsigned long long)number,
             name);
    if (renameat2(specs, name, specs, aside, RENAME_NOREPLACE) != 0)
        return false;
    expect_event(aside);
    if (remove_link(aside))
        return true;
    struct owner *owner = owner_of(uid);
    owner->count++;
    deny_write(owner);
    return true;
}

void moved_aside_begin_count(void)
{
    before = owners;
    owners = NULL;
}

/* True if the name has the form of a moved file's. Any user may give a file such a name. The file
 * then counts as one of the moved files of its owner, although nothing has moved it. */
bool moved_aside_is(const char *name, uid_t uid)
{
    char wanted[sizeof prefix + 16];
    const int known = snprintf(wanted, sizeof wanted, "%s%u-", prefix, uid);
    return strncmp(name, wanted, (size_t)known) == 0 &&
           strspn(name + known, "0123456789abcdef") == 16 && name[known + 16] == '-';
}

void moved_aside_count(const struct stat *status)
{
    owner_of(status->st_uid)->count++;
}

static bool has_ours(void)
{
    bool any = false;
    for (int i = 0; read_list() && i < length && !any; i++)
        any = is_ours(&list.entries[i]);
    return any;
}

void moved_aside_end_count(void)
{
    struct owner *owner, *now;
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): the last HASH_DEL frees the table */
    while ((owner = before) != NULL) {
        HASH_FIND(hh, owners, &owner->uid, sizeof owner->uid, now);
        if (now != NULL)
            now->is_denied = owner->is_denied && now->count >= MOVED_ASIDE_MOST;
        HASH_DEL(before, owner);
        free(owner);
    } /* NOLINTEND(clang-analyzer-unix.Malloc) */
    /* the access control list may have an entry that is not needed: the entry's user has few files
     * now, or an earlier adopter made the entry */
    if (has_ours())
        (void)write_list();
    for (owner = owners; owner != NULL; owner = owner->hh.next)
        deny_write(owner);
}
