/* The files of rtf-ls(1) share a row. */
#ifndef RTF_LS_H
#define RTF_LS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "states.h"

/* One reservation. */
struct ls_row {
    char *user, *name;
    enum state state;
    json_t *verdict; /* NULL: no answer yet */
    int64_t left;    /* us until the lease ends; -1: there is no lease */
    char comm[64];   /* the name of the thread; "": there is no thread */
};

/* Returns the number of this key; 0: the key is missing or has no number. */
json_int_t ls_number(const json_t *object, const char *key);

#endif
