/* The rules and the plugins' lines that a broker has in force, as status.json tells them, beside the files as they are now. */
#ifndef RTF_IN_FORCE_H
#define RTF_IN_FORCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum conf_file { ACL_CONF, PLUGINS_CONF };

struct conf_line {
    int line;
    char *text; /* its words, between single blanks */
};

struct conf_lines {
    struct conf_line *list;
    size_t count;
};

/* The directory of the configuration that the broker of this spool has read, which lives as long as status. NULL: the broker does not tell it. The spool
 * (`root` is open) of a user leads root nowhere: the user can hold up whoever looks there. */
const char *in_force_directory(int root, const json_t *status);

/* What is in force. False: status.json does not tell it. */
bool in_force_lines(const json_t *status, enum conf_file file, struct conf_lines *lines);

/* What the file has. False: it cannot be read. */
bool in_force_file_lines(const char *directory, enum conf_file file, struct conf_lines *lines);

void in_force_free(struct conf_lines *lines);

/* Where the file and what is in force differ: `tell` gets a sentence for each, in printable ASCII. */
void in_force_differences(const json_t *status, enum conf_file file, const char *directory, void (*tell)(const char *sentence));

#endif
