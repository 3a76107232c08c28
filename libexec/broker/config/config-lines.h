/* What plugins.conf and acl.conf have in common: words on lines, comments behind #, and an owner who is root. */
#ifndef RTF_CONFIG_LINES_H
#define RTF_CONFIG_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "reason.h"

enum { CONFIG_WORDS = 32 };

struct config_lines {
    FILE *file;
    const char *name; /* of the file, without its directory */
    char *text;
    size_t size;
    int line;
    int count;        /* how many words the line has */
    char *words[CONFIG_WORDS];
};

/* Opens and judges the open file: somebody else's file is somebody else's rules. False: *reason. */
bool config_lines_open(struct config_lines *conf, const char *path, char reason[static REASON_BYTES]);

/* The next line that has words. 1; 0 at the end; -1: *reason names file, line and what is allowed. */
int config_lines_next(struct config_lines *conf, char reason[static REASON_BYTES]);
void config_lines_close(struct config_lines *conf);

/* "plugins.conf:7: " and the sentence, into reason. Returns false. */
bool config_lines_wrong(char reason[static REASON_BYTES], const char *name, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
