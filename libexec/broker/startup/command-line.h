/* The command line of rtf-brokerd(8), and the users and groups that its options name. If an option
 * names an unknown user or group, the program ends. */
#ifndef RTF_COMMAND_LINE_H
#define RTF_COMMAND_LINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "launcher.h"

struct options {
    bool foreground, check, faults, put_back;
    const char *spool, *config, *group, *plugin_user, *reader_user;
};

void command_line_read(int argc, char **argv, struct options *options);

/* Finds the group `name`. name == NULL: the group rtf. */
gid_t find_group(const char *name);
struct identity_to_run_as find_plugin_user(const char *name);
struct identity_to_run_as find_reader_user(const struct options *options);

#endif
