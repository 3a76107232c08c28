/* Reads the user's own specs, and the broker's answers to them, from the user's directory. */
#ifndef RTF_OWN_SPECS_H
#define RTF_OWN_SPECS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

struct own_spec {
    const char *name; /* NAME; or NAME+TID, a thread of a program file */
    /* The broker's answer; NULL: there is no answer. For a thread of a program file, this is the
     * thread's part of the program's verdict, in the form of a verdict. The listener owns it. */
    json_t *verdict;
    bool is_current;         /* the verdict answers the spec file in its present state */
    const struct stat *file; /* the status of NAME.json; NULL for a thread */
};

struct own_specs_listener {
    bool (*is_wanted)(const char *name); /* false: the spec and its verdict are not read */
    void (*take)(const char *user, const struct own_spec *spec);
};

/* Calls the listener for each spec in the directory `user` of specs/. False with errno: the
 * directory cannot be read. */
bool own_specs_read(int specs, const char *user, const struct own_specs_listener *listener);

#endif
