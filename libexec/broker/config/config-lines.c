#include "config-lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "roots-file.h"

bool config_lines_wrong(char reason[static REASON_BYTES], const char *name, int line,
                        const char *format, ...)
{
    va_list arguments;
    int length = snprintf(reason, REASON_BYTES, "%s:%d: ", name, line);
    va_start(arguments, format);
    vsnprintf(reason + length, REASON_BYTES - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

bool config_lines_open(struct config_lines *conf, const char *path,
                       char reason[static REASON_BYTES])
{
    const char *slash = strrchr(path, '/');
    const int fd = roots_file_open(path, reason);
    *conf = (struct config_lines){.name = slash == NULL ? path : slash + 1,
                                  .file = fd < 0 ? NULL : fdopen(fd, "r")};
    if (fd >= 0 && conf->file == NULL)
        snprintf(reason, REASON_BYTES, "%.300s: %s", path, strerror(errno));
    return conf->file != NULL;
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((text[i] < 0x20 || text[i] > 0x7e) && text[i] != '\t' && text[i] != '\n' &&
            text[i] != '\r')
            return false;
    return true;
}

int config_lines_next(struct config_lines *conf, char reason[static REASON_BYTES])
{
    ssize_t length;
    while ((length = getline(&conf->text, &conf->size, conf->file)) >= 0) {
        conf->line++;
        conf->count = 0;
        /* A comment may have all characters, in any encoding, except NUL, because a NUL would hide
         * the rest of the line. */
        size_t rules = strcspn(conf->text, "#");
        if (strlen(conf->text) != (size_t)length || !is_plain(conf->text, rules)) {
            config_lines_wrong(reason, conf->name, conf->line,
                               "only printable ASCII is allowed outside comments");
            return -1;
        }
        conf->text[rules] = '\0';
        for (char *rest = conf->text, *word; (word = strsep(&rest, " \t\r\n")) != NULL;) {
            if (*word == '\0')
                continue;
            if (conf->count == CONFIG_WORDS) {
                config_lines_wrong(reason, conf->name, conf->line,
                                   "the line has more than %d words", CONFIG_WORDS);
                return -1;
            }
            conf->words[conf->count++] = word;
        }
        if (conf->count > 0)
            return 1;
    }
    return 0;
}

void config_lines_close(struct config_lines *conf)
{
    free(conf->text);
    fclose(conf->file);
}
