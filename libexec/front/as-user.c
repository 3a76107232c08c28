#include "as-user.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "open-spool.h"
#include "command-line.h"
#include "units.h"

/* Ends the process unless the caller is root and the user exists. A user without an account is
 * named by a uid. */
static void check_user(const char *user)
{
    uint64_t uid;
    if (geteuid() != 0)
        command_fail(EX_NOPERM, "only root may act for somebody else");
    if (getpwnam(user) == NULL && !parse_number(user, UINT32_MAX - 1, &uid))
        command_fail(EX_NOUSER, "there is no user %s", command_typed(user));
}

static void check_spool(void)
{
    struct client client;
    open_spool(&client);
    client_close(&client);
}

/* Makes a path absolute, because rtf-as-user starts the command in another directory. */
static char *real(const char *path, char resolved[static PATH_MAX])
{
    if (realpath(path, resolved) == NULL)
        command_fail(EX_OSERR, "%s: %s", command_typed(path), strerror(errno));
    return resolved;
}

/* Finds rtf-as-user in the directory above the directory of this program. */
static void find_program(char path[static PATH_MAX])
{
    char self[PATH_MAX];
    (void)real("/proc/self/exe", self);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    if (snprintf(path, PATH_MAX, "%s/rtf-as-user", self) >= PATH_MAX)
        command_fail(EX_OSERR, "%s: the name of this directory is too long", self);
}

void as_user(const char *user, const char *timeout, bool input,
             const char *const words[static AS_USER_WORDS])
{
    char program[PATH_MAX], self[PATH_MAX], place[PATH_MAX];
    const char *all[AS_USER_WORDS + 16];
    size_t count = 0;
    check_spool();
    check_user(user);
    find_program(program);
    all[count++] = program;
    if (input)
        all[count++] = "--input";
    if (timeout != NULL) {
        all[count++] = "--timeout";
        all[count++] = timeout;
    }
    all[count++] = "--spool";
    all[count++] = real(command_spool(), place);
    all[count++] = "--";
    all[count++] = user;
    all[count++] = real("/proc/self/exe", self);
    all[count++] = "--spool";
    all[count++] = place;
    for (size_t i = 0; i < AS_USER_WORDS && words[i] != NULL; i++)
        all[count++] = words[i];
    all[count] = NULL;
    execv(program, (char *const *)all);
    command_fail(EX_OSERR, "%s: %s", program, strerror(errno));
}
