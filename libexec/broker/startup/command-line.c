#include "command-line.h"

#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "fatal.h"
#include "options.h"
#include "reservations.h"
#include "units.h"

enum {
    OPTION_PLUGIN_USER = 256,
    OPTION_READER_USER,
    OPTION_MAX_SPECS,
    OPTION_CHECK,
    OPTION_PUT_BACK
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    uint64_t number;
    switch (key) {
    case 'f': options->foreground = true; return 0;
    case 's': options->spool = argument; return 0;
    case 'c': options->config = argument; return 0;
    case 'g': options->group = argument; return 0;
    case OPTION_PLUGIN_USER: options->plugin_user = argument; return 0;
    case OPTION_READER_USER: options->reader_user = argument; return 0;
    case OPTION_MAX_SPECS:
        if (!parse_number(argument, 10000000, &number) || number == 0)
            argp_error(state, "--max-specs takes a number from 1 to 10000000");
        max_specs = (int)number;
        return 0;
    case OPTION_CHECK:
        options->check = true;
        options->faults = argument != NULL;
        if (options->faults && strcmp(argument, "faults") != 0)
            argp_error(state, "--check takes no value, or the value faults: --check=faults");
        return 0;
    case OPTION_PUT_BACK: options->put_back = true; return 0;
    case ARGP_KEY_ARG: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option argp_options[] = {
    {"foreground", 'f', NULL, 0,
     "Stay in the foreground, and write log lines about no user to standard error, too", 0},
    {"spool", 's', "DIR", 0, "The spool (default /var/spool/rtf)", 0},
    {"config", 'c', "DIR", 0, "Where plugins.conf and acl.conf are (default /etc/rtf)", 0},
    {"group", 'g', "GROUP", 0,
     "Name or number of the group whose members may use the spool (default rtf)", 0},
    {"plugin-user", OPTION_PLUGIN_USER, "USER", 0,
     "User that plugins run as (default rtf-plugin, else nobody)", 0},
    {"reader-user", OPTION_READER_USER, "USER", 0,
     "User of the programs that read users' files (default rtf-reader, else the plugins' user)", 0},
    {"max-specs", OPTION_MAX_SPECS, "N", 0, "The most specs that one user may have (default 1000)",
     0},
    {"check", OPTION_CHECK, "faults", OPTION_ARG_OPTIONAL,
     "Check plugins.conf and acl.conf, print errors and, unless =faults, probable mistakes, and end",
     0},
    {"put-back", OPTION_PUT_BACK, NULL, 0,
     "Restore kernel-wide settings that a broker left changed, and end", 0},
    {0}};

void command_line_read(int argc, char **argv, struct options *options)
{
    static const struct argp argp = {argp_options, parse_option,
                                     NULL,         "Serve a spool of real-time reservations.",
                                     NULL,         NULL,
                                     NULL};
    *options = (struct options){.spool = "/var/spool/rtf"};
    parse_options(&argp, argc, argv, 0, options, EX_USAGE, EX_IOERR);
}

gid_t find_group(const char *name)
{
    uint64_t number;
    char reason[160];
    if (name == NULL)
        name = "rtf";
    const struct group *group = getgrnam(name);
    if (group != NULL)
        return group->gr_gid;
    if (parse_number(name, UINT32_MAX - 1, &number))
        return (gid_t)number;
    snprintf(reason, sizeof reason,
             "there is no group \"%.80s\"; make it, or name another with --group", name);
    die(EX_CONFIG, reason);
}

/* Finds the account `name`. name == NULL: the account `usual` if it exists, otherwise the account
 * `other`. */
static struct identity_to_run_as find_unprivileged(const char *option, const char *name,
                                                   const char *usual, const char *other)
{
    char reason[160];
    uint64_t number;
    const struct passwd *account = getpwnam(name == NULL ? usual : name);
    if (account == NULL && name == NULL)
        account = getpwnam(other);
    if (account != NULL && account->pw_uid != 0)
        return (struct identity_to_run_as){account->pw_uid, account->pw_gid};
    if (account == NULL && name != NULL && parse_number(name, UINT32_MAX - 1, &number) &&
        number != 0)
        return (struct identity_to_run_as){(uid_t)number, (gid_t)number};
    snprintf(reason, sizeof reason, "%s must name an unprivileged account or uid", option);
    die(EX_CONFIG, reason);
}

struct identity_to_run_as find_plugin_user(const char *name)
{
    return find_unprivileged("--plugin-user", name, "rtf-plugin", "nobody");
}

/* If possible, the readers run as another user than the plugins. Otherwise a plugin that an
 * attacker controls could trace the readers with ptrace(2). */
struct identity_to_run_as find_reader_user(const struct options *options)
{
    const struct identity_to_run_as plugin_user = find_plugin_user(options->plugin_user);
    if (options->reader_user == NULL && getpwnam("rtf-reader") == NULL)
        return plugin_user;
    return find_unprivileged("--reader-user", options->reader_user, "rtf-reader", "nobody");
}
