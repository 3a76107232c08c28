/* Helps to read the text of an experiment. The functions say where a fault is in the text, and read
 * objects by tables of their keys. */
#ifndef RTF_MUSE_EXPERIMENT_READING_H
#define RTF_MUSE_EXPERIMENT_READING_H

#include "experiment.h"

/* The largest number of keys that lead to a value. struct reading has the text, and the keys that
 * lead to the present value. */
enum { READING_DEPTH = 8 };
struct reading {
    const char *text;
    size_t length;
    const char *path[READING_DEPTH];
    int depth;
    char *why;
    struct experiment *experiment;
};

/* Writes the place and the sentence into *why. Returns false. */
bool reading_fault(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef bool reading_value(struct reading *reading, const json_t *value, void *into);

struct key {
    const char *name;
    reading_value *take;
    bool compat; /* true: the key is known only with --compat */
};

/* Reads an object by a table, which ends with the name NULL. An unknown key is a fault. */
bool reading_object(struct reading *reading, const json_t *object, const struct key *keys,
                    void *into);

/* Accepts any value, and does nothing with it. For keys that are ignored. */
bool reading_ignore(struct reading *reading, const json_t *value, void *into);

#endif
