/* rtf-names: asks the account database for the broker, which must not wait for a directory server
 * that is slow or down. rtf-names is a filter: it answers each paragraph on standard input with
 * paragraphs on standard output.
 *
 *     op=user id=N uid=U     uid=U, answer=ok, name= (missing: no such account), groups= (names) and
 *                            gids= (numbers) of all the account's groups, separated by commas; many
 *                            groups take several paragraphs, all but the last with answer=more
 *     op=known id=N name=X   answer=ok if X is a user name or, after a leading @, a group name;
 *                            answer=no otherwise */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "lock-memory.h"
#include "paragraph.h"
#include "usage.h"
#include "units.h"

/* GROUPS_MAX: the kernel's limit (NGROUPS_MAX); LIST: bytes of a list in one paragraph */
enum { GROUPS_MAX = 65536, LIST = 3000 };

/* True: acl.conf can have this name. There is no way to write names with blanks or commas in
 * acl.conf. */
static bool name_is_plain(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == ',')
            return false;
    return *name != '\0';
}

struct lists {
    char names[LIST], gids[LIST];
};

static bool has_room(const char list[static LIST], const char *item)
{
    return strlen(list) + strlen(item) + 2 <= LIST;
}

static void append(char list[static LIST], const char *item)
{
    size_t length = strlen(list);
    snprintf(list + length, LIST - length, "%s%s", length == 0 ? "" : ",", item);
}

static void add_lists(struct paragraph_output *output, struct lists *lists)
{
    paragraph_add(output, "groups", lists->names);
    paragraph_add(output, "gids", lists->gids);
    lists->names[0] = lists->gids[0] = '\0';
}

/* Adds all groups, or fails: if a group were left out, a rule of acl.conf that bounds this group
 * would not bind the user. */
static bool add_groups(struct paragraph_output *output, const char *id, uid_t uid,
                       const gid_t *groups, int count)
{
    struct lists lists = {"", ""};
    for (int i = 0; i < count; i++) {
        char number[16];
        const struct group *group = getgrgid(groups[i]);
        const char *name = group != NULL && name_is_plain(group->gr_name) ? group->gr_name : NULL;
        snprintf(number, sizeof number, "%u", groups[i]);
        if (name != NULL && strlen(name) >= LIST / 2)
            return false;
        if (!has_room(lists.gids, number) || (name != NULL && !has_room(lists.names, name))) {
            add_lists(output, &lists);
            paragraph_add(output, "answer", "more");
            paragraph_close(output);
            paragraph_add(output, "id", id);
            paragraph_add_number(output, "uid", uid);
        }
        append(lists.gids, number);
        if (name != NULL)
            append(lists.names, name);
    }
    add_lists(output, &lists);
    return true;
}

static void answer_user(struct paragraph_output *output, const char *id, uid_t uid)
{
    int count = GROUPS_MAX;
    const struct passwd *account = getpwuid(uid);
    paragraph_add_number(output, "uid", uid);
    if (account == NULL || !name_is_plain(account->pw_name)) {
        paragraph_add(output, "answer", "ok");
        return;
    }
    gid_t *groups = malloc(GROUPS_MAX * sizeof *groups);
    bool all =
        groups != NULL && getgrouplist(account->pw_name, account->pw_gid, groups, &count) >= 0;
    paragraph_add_format(output, "name", "%.255s", account->pw_name);
    all = all && add_groups(output, id, uid, groups, count);
    paragraph_add(output, "answer", all ? "ok" : "no");
    free(groups);
}

static void answer_known(struct paragraph_output *output, const char *name)
{
    bool known = name[0] == '@' ? getgrnam(name + 1) != NULL : getpwnam(name) != NULL;
    paragraph_add(output, "answer", known ? "ok" : "no");
}

static void answer(struct paragraph_output *output, const struct paragraph *request)
{
    uint64_t uid;
    const char *op = paragraph_get(request, "op"), *name = paragraph_get(request, "name");
    const char *id = paragraph_get(request, "id");
    if (id == NULL)
        id = "";
    paragraph_add(output, "id", id);
    if (op != NULL && strcmp(op, "user") == 0 &&
        paragraph_get_number(request, "uid", UINT32_MAX, &uid) == 1)
        answer_user(output, id, (uid_t)uid);
    else if (op != NULL && strcmp(op, "known") == 0 && name != NULL)
        answer_known(output, name);
    else
        paragraph_add(output, "answer", "no");
    paragraph_close(output);
}

int main(int argc, char **argv)
{
    int how;
    if (usage_asked(argc, argv, "rtf-names", "< PARAGRAPHS", &how))
        return how;
    static struct paragraph_input input;
    static struct paragraph_output output;
    struct paragraph request;
    const char *why;
    /* plugins run as the same user and must not write into this process's memory */
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)memory_lock_without_power(MCL_ONFAULT); /* an answer must not wait for the disk */
    while (paragraph_fill(&input, STDIN_FILENO) > 0) {
        int taken;
        while ((taken = paragraph_take(&input, &request, &why)) == 1)
            answer(&output, &request);
        if (taken < 0)
            return EX_DATAERR;
        for (size_t written = 0; written < output.length;) {
            ssize_t put = write(STDOUT_FILENO, output.data + written, output.length - written);
            if (put < 0)
                return EX_IOERR;
            written += (size_t)put;
        }
        paragraph_drop(&output, output.length);
    }
    return EX_OK;
}
