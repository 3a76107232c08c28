/* Asks the account database for the broker, which must never wait for one (a directory server may be slow or
 * down). A filter over paragraphs on standard input and output:
 *
 *   op=user id=N uid=U   answer=ok, name= (absent: no such account), groups= (names, comma-separated),
 *                        gids= (all of the account's groups, comma-separated)
 *   op=known id=N name=X   answer=ok when X is a user name, or with a leading @ a group name; else answer=no */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "paragraph.h"
#include "units.h"

enum { GROUPS = 512, LIST = 6000 };

/* Names that acl.conf can name: anything else (blanks, commas) is not worth a way to write it. */
static bool name_is_plain(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == ',')
            return false;
    return *name != '\0';
}

static void append(char list[static LIST], const char *item)
{
    size_t length = strlen(list);
    if (length + strlen(item) + 2 <= LIST)
        snprintf(list + length, LIST - length, "%s%s", length == 0 ? "" : ",", item);
}

static void answer_user(struct paragraph_output *output, uid_t uid)
{
    static char names[LIST], gids[LIST];
    gid_t groups[GROUPS];
    int count = GROUPS;
    const struct passwd *account = getpwuid(uid);
    paragraph_add(output, "answer", "ok");
    if (account == NULL || !name_is_plain(account->pw_name))
        return;
    paragraph_add(output, "name", "%.255s", account->pw_name);
    if (getgrouplist(account->pw_name, account->pw_gid, groups, &count) < 0)
        count = GROUPS;
    names[0] = gids[0] = '\0';
    for (int i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", groups[i]);
        append(gids, number);
        const struct group *group = getgrgid(groups[i]);
        if (group != NULL && name_is_plain(group->gr_name))
            append(names, group->gr_name);
    }
    paragraph_add(output, "groups", "%.4000s", names);
    paragraph_add(output, "gids", "%.4000s", gids);
}

static void answer_known(struct paragraph_output *output, const char *name)
{
    bool known = name[0] == '@' ? getgrnam(name + 1) != NULL : getpwnam(name) != NULL;
    paragraph_add(output, "answer", "%s", known ? "ok" : "no");
}

static void answer(struct paragraph_output *output, const struct paragraph *request)
{
    uint64_t uid;
    const char *op = paragraph_get(request, "op"), *name = paragraph_get(request, "name");
    const char *id = paragraph_get(request, "id");
    paragraph_add(output, "id", "%s", id == NULL ? "" : id);
    if (op != NULL && strcmp(op, "user") == 0 && paragraph_get_number(request, "uid", UINT32_MAX, &uid) == 1)
        answer_user(output, (uid_t)uid);
    else if (op != NULL && strcmp(op, "known") == 0 && name != NULL)
        answer_known(output, name);
    else
        paragraph_add(output, "answer", "no");
    paragraph_close(output);
}

int main(void)
{
    struct paragraph_input input = {0};
    struct paragraph_output output = {0};
    struct paragraph request;
    const char *why;
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
