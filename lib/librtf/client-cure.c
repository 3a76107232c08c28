#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"

char *client_starter(const char *spool, char text[static CLIENT_WHY])
{
    struct stat status;
    if (strcmp(spool, RTF_SPOOL) != 0)
        snprintf(text, CLIENT_WHY, "rtf-brokerd --spool %s", spool);
    else if (stat("/run/systemd/system", &status) == 0 && S_ISDIR(status.st_mode))
        snprintf(text, CLIENT_WHY, "systemctl start rtf");
    else if (access("/etc/init.d/rtf", X_OK) == 0)
        snprintf(text, CLIENT_WHY, "/etc/init.d/rtf start");
    else
        snprintf(text, CLIENT_WHY, "rtf-brokerd");
    return text;
}

char *client_tell_no_broker(const char *spool, char text[static CLIENT_WHY])
{
    char starter[CLIENT_WHY];
    snprintf(text, CLIENT_WHY, "no broker is running on %.200s ('%.200s', as root, starts one)",
             spool, client_starter(spool, starter));
    return text;
}

char *client_tell_join(const struct client *client, char text[static CLIENT_WHY])
{
    char buffer[4096], members[4096], number[16] = "GROUP";
    struct stat specs;
    struct group record, *group = NULL;
    struct passwd entry, *account = NULL;
    if (fstat(client->specs, &specs) == 0) {
        snprintf(number, sizeof number, "%u", specs.st_gid);
        (void)getgrgid_r(specs.st_gid, &record, members, sizeof members, &group);
    }
    (void)getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &account);
    if (account == NULL)
        snprintf(text, CLIENT_WHY, "a rule of acl.conf(5) can name uid %u, which has no account",
                 geteuid());
    else
        snprintf(text, CLIENT_WHY, "'usermod -aG %.64s %.64s', as root, makes %.64s a member",
                 group == NULL ? number : group->gr_name, account->pw_name, account->pw_name);
    return text;
}
