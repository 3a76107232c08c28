/* The form of plugins.conf and acl.conf: words on lines, and comments behind #. The files belong to
 * root. */
#ifndef RTF_CONFIG_LINES_H
#define RTF_CONFIG_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "reason.h"

enum { CONFIG_WORDS = 32 };

struct config_lines {
    FILE *file;
    const char *name; /* the name of the file, without its directory */
    char *text;
    size_t size;
    int line;
    int count; /* number of words of the line */
    char *words[CONFIG_WORDS];
};

/* Opens the file and checks that root owns it, because the owner of a file can change its content.
 * False: *reason says why. */
bool config_lines_open(struct config_lines *conf, const char *path,
                       char reason[static REASON_BYTES]);

/* Reads the next line that has words. 1: a line; 0: the end; -1: *reason names the file, the line
 * and what is allowed. */
int config_lines_next(struct config_lines *conf, char reason[static REASON_BYTES]);
void config_lines_close(struct config_lines *conf);

/* Writes "plugins.conf:7: " and the sentence into reason. Returns false. */
bool config_lines_wrong(char reason[static REASON_BYTES], const char *name, int line,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
