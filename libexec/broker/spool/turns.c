#include "turns.h"

enum { UNDER_WAY_MAX = 256 };

static struct line old = {.reservations = TAILQ_HEAD_INITIALIZER(old.reservations), .unlimited = true};
static TAILQ_HEAD(, line) ring = TAILQ_HEAD_INITIALIZER(ring);

void line_init(struct line *line, bool unlimited)
{
    TAILQ_INIT(&line->reservations);
    line->unlimited = unlimited;
}

static void settle(struct line *line)
{
    bool belongs = !TAILQ_EMPTY(&line->reservations) && (line->unlimited || line->under_way < UNDER_WAY_MAX);
    if (belongs && !line->in_ring)
        TAILQ_INSERT_TAIL(&ring, line, of_ring);
    else if (!belongs && line->in_ring)
        TAILQ_REMOVE(&ring, line, of_ring);
    line->in_ring = belongs;
}

void turns_add(struct reservation *reservation, struct line *line)
{
    if (reservation->line != NULL)
        return;
    reservation->line = line;
    TAILQ_INSERT_TAIL(&line->reservations, reservation, of_line);
    settle(line);
}

struct line *turns_of_old(void)
{
    return &old;
}

void turns_leave(struct reservation *reservation)
{
    struct line *line = reservation->line;
    if (line == NULL)
        return;
    reservation->line = NULL;
    TAILQ_REMOVE(&line->reservations, reservation, of_line);
    settle(line);
}

struct reservation *turns_next(void)
{
    struct line *line = TAILQ_FIRST(&ring);
    if (line == NULL)
        return NULL;
    TAILQ_REMOVE(&ring, line, of_ring);
    line->in_ring = false;
    struct reservation *reservation = TAILQ_FIRST(&line->reservations);
    turns_leave(reservation); /* and the line is the last of the ring again if there is more */
    return reservation;
}

bool turns_are_due(void)
{
    return !TAILQ_EMPTY(&ring);
}

void turns_begin(struct line *line)
{
    line->under_way++;
    settle(line);
}

void turns_end(struct line *line)
{
    line->under_way--;
    settle(line);
}
