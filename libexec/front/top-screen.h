/* The screen of rtf-top(1). */
#ifndef RTF_TOP_SCREEN_H
#define RTF_TOP_SCREEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top-rows.h"

/* The choices of the user, and the message in the last line. */
struct view {
    enum row_order order;
    bool reverse;
    bool attached; /* show only rows with a thread */
    /* indices of the sorted rows: the first row on the screen, the selected row */
    size_t first, selected;
    const struct row *row; /* the selected row; NULL: none */
    size_t page;           /* how many rows fit on the screen */
    char message[160];
};

void screen_begin(void);
void screen_end(void);

/* status: the contents of status.json; NULL: status.json could not be read. served: a broker serves
 * the spool. */
void screen_draw(struct view *view, const char *spool, const json_t *status, bool served);

#endif
