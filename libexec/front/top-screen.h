/* The screen of rtf-top(1). */
#ifndef RTF_TOP_SCREEN_H
#define RTF_TOP_SCREEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top-rows.h"

/* What the user has chosen, and what is to be told him in the last line. */
struct view {
    enum row_order order;
    bool reverse, attached;
    size_t first, selected;  /* of the rows as they are sorted */
    const struct row *row;   /* the selected one; NULL */
    size_t page;             /* how many rows fit */
    char message[160];
};

void screen_begin(void);
void screen_end(void);

/* status may be NULL. */
void screen_draw(struct view *view, const char *spool, const json_t *status, bool served);

const char *order_name(enum row_order order);

#endif
