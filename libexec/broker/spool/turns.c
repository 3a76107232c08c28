#include "turns.h"

enum { UNDER_WAY_MAX = 256 };

static struct line old = {.wishes = TAILQ_HEAD_INITIALIZER(old.wishes), .unlimited = true};
static TAILQ_HEAD(, line) ring = TAILQ_HEAD_INITIALIZER(ring);

void line_init(struct line *line, bool unlimited)
{
    TAILQ_INIT(&line->wishes);
    line->unlimited = unlimited;
}

static void settle(struct line *line)
{
    bool belongs = !TAILQ_EMPTY(&line->wishes) && (line->unlimited || line->under_way < UNDER_WAY_MAX);
    if (belongs && !line->in_ring)
        TAILQ_INSERT_TAIL(&ring, line, of_ring);
    else if (!belongs && line->in_ring)
        TAILQ_REMOVE(&ring, line, of_ring);
    line->in_ring = belongs;
}

void turns_add(struct wish *wish, struct line *line)
{
    if (wish->line != NULL)
        return;
    wish->line = line;
    TAILQ_INSERT_TAIL(&line->wishes, wish, of_line);
    settle(line);
}

struct line *turns_of_old(void)
{
    return &old;
}

void turns_leave(struct wish *wish)
{
    struct line *line = wish->line;
    if (line == NULL)
        return;
    wish->line = NULL;
    TAILQ_REMOVE(&line->wishes, wish, of_line);
    settle(line);
}

struct wish *turns_next(void)
{
    struct line *line = TAILQ_FIRST(&ring);
    if (line == NULL)
        return NULL;
    TAILQ_REMOVE(&ring, line, of_ring);
    line->in_ring = false;
    struct wish *wish = TAILQ_FIRST(&line->wishes);
    turns_leave(wish); /* and the line is the last of the ring again if there is more */
    return wish;
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
