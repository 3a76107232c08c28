/* The lines of acl.conf and plugins.conf that a broker has in force, from status.json, and the
 * lines that the files have now. */
#ifndef RTF_IN_FORCE_H
#define RTF_IN_FORCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum conf_file { ACL_CONF, PLUGINS_CONF };

struct conf_line {
    int line;
    char *text; /* the words of the line, with single blanks between them */
};

struct conf_lines {
    struct conf_line *list;
    size_t count;
};

/* Returns the directory of the configuration that the broker of this spool has read. `root` is the
 * open spool; the text lives as long as `status`. NULL: status.json does not name the directory, or
 * the spool belongs to another user. Another user could name a directory whose files make a reader
 * wait without end. */
const char *in_force_directory(int root, const json_t *status);

/* Reads the lines in force. False: status.json does not have the lines. */
bool in_force_lines(const json_t *status, enum conf_file file, struct conf_lines *lines);

/* Reads the lines of the file. False: the file cannot be read. */
bool in_force_file_lines(const char *directory, enum conf_file file, struct conf_lines *lines);

void in_force_free(struct conf_lines *lines);

/* Calls `tell` for each difference between the file and the lines in force, with a sentence in
 * printable ASCII. */
void in_force_differences(const json_t *status, enum conf_file file, const char *directory,
                          void (*tell)(const char *sentence));

#endif
