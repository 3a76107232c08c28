#include "disk-option.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "reason.h"

#define no(why, ...) fault_in(why, DISK_OPTION_WHY, __VA_ARGS__)

/* True if the administrator has given this device its own line in plugins.conf. */
static bool has_line(const char *spool, const char *disk)
{
    const int directory = open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    json_t *status = directory < 0 ? NULL : client_read_object(directory, "status.json");
    const json_t *line;
    size_t i;
    bool found = false;
    json_array_foreach(json_object_get(status, "plugins"), i, line)
    {
        const char *resource = client_string(line, "resource"),
                   *where = client_string(line, "where");
        found |= resource != NULL && where != NULL && strcmp(resource, "disk") == 0 &&
                 strcmp(where, disk) == 0;
    }
    json_decref(status);
    if (directory >= 0)
        close(directory);
    return found;
}

/* Adds the disk to the claim. A word without a slash is a name, and goes into the claim unchanged;
 * for a path the disk is looked up. */
static bool add_place(json_t *claim, const char *place, const char *spool, char *why)
{
    char disk[DISK_NAME_BYTES], reason[DISK_PLACE_REASON];
    if (strchr(place, '/') == NULL && place[0] != '.') {
        json_object_set_new(claim, "device", json_string(place));
        return true;
    }
    const enum disk_place is = disk_place(place, disk, reason);
    if (is == DISK_PLACE_NONE || (is == DISK_PLACE_STACKED && !has_line(spool, disk)))
        return no(why, "%s", reason);
    json_object_set_new(claim, "device", json_string(disk));
    return true;
}

/* Takes SIZE/TIME, SIZE per second, or the word "background". */
static bool add_size(json_t *claim, const char *size, char *why)
{
    const char *slash = strchr(size, '/');
    if (strcmp(size, "background") == 0) {
        json_object_set_new(claim, size, json_true());
        return true;
    }
    if (!isdigit((unsigned char)size[0]))
        return no(why, "no size is given: write SIZE or DISK:SIZE, with a size such as 640kB");
    json_object_set_new(claim, slash == NULL ? "bandwidth" : "bytes",
                        slash == NULL ? json_string(size)
                                      : json_stringn(size, (size_t)(slash - size)));
    if (slash != NULL)
        json_object_set_new(claim, "period", json_string(slash + 1));
    return true;
}

static bool add_block(json_t *claim, const char *word, char *why)
{
    static const char block[] = "block=";
    if (strncmp(word, block, strlen(block)) != 0)
        return no(why, "write block= and a size after the comma, such as block=32KiB");
    json_object_set_new(claim, "block", json_string(word + strlen(block)));
    return true;
}

/* Cuts `text` into its parts. A path may have colons and commas; the last colon ends the path. */
static bool add_all(json_t *claim, char *text, const char *spool, char *why)
{
    char *colon = strrchr(text, ':'), *size = colon == NULL ? text : colon + 1,
         *comma = strchr(size, ',');
    if (colon != NULL)
        *colon = '\0';
    if (comma != NULL)
        *comma = '\0';
    return add_size(claim, size, why) && (comma == NULL || add_block(claim, comma + 1, why)) &&
           (colon == NULL || add_place(claim, text, spool, why));
}

json_t *disk_option(const char *text, const char *spool, char why[static DISK_OPTION_WHY])
{
    char *words = strdup(text);
    json_t *claim = json_object();
    const bool good = words == NULL ? no(why, "out of memory") : add_all(claim, words, spool, why);
    free(words);
    if (good)
        return claim;
    json_decref(claim);
    return NULL;
}
