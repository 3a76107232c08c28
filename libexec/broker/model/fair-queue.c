#include "fair-queue.h"

enum { UNDER_WAY_MAX = 256 };

static struct {
    struct queue old;
    TAILQ_HEAD(, queue) ring;
} queues = {.old = {.reservations = TAILQ_HEAD_INITIALIZER(queues.old.reservations),
                    .unlimited = true},
            .ring = TAILQ_HEAD_INITIALIZER(queues.ring)};

void queue_init(struct queue *queue, bool unlimited)
{
    TAILQ_INIT(&queue->reservations);
    queue->unlimited = unlimited;
}

static void queue_settle(struct queue *queue)
{
    bool belongs = !TAILQ_EMPTY(&queue->reservations) &&
                   (queue->unlimited || queue->under_way < UNDER_WAY_MAX);
    if (belongs && !queue->in_ring)
        TAILQ_INSERT_TAIL(&queues.ring, queue, of_ring);
    else if (!belongs && queue->in_ring)
        TAILQ_REMOVE(&queues.ring, queue, of_ring);
    queue->in_ring = belongs;
}

void queue_add(struct reservation *reservation, struct queue *queue)
{
    if (reservation->queue != NULL)
        return;
    reservation->queue = queue;
    TAILQ_INSERT_TAIL(&queue->reservations, reservation, of_queue);
    queue_settle(queue);
}

struct queue *queue_of_old(void)
{
    return &queues.old;
}

void queue_leave(struct reservation *reservation)
{
    struct queue *queue = reservation->queue;
    if (queue == NULL)
        return;
    reservation->queue = NULL;
    TAILQ_REMOVE(&queue->reservations, reservation, of_queue);
    queue_settle(queue);
}

struct reservation *queue_next(void)
{
    struct queue *queue = TAILQ_FIRST(&queues.ring);
    if (queue == NULL)
        return NULL;
    TAILQ_REMOVE(&queues.ring, queue, of_ring);
    queue->in_ring = false;
    struct reservation *reservation = TAILQ_FIRST(&queue->reservations);
    /* if the queue has more reservations, this also appends the queue to the ring again */
    queue_leave(reservation);
    return reservation;
}

bool queue_is_due(void)
{
    return !TAILQ_EMPTY(&queues.ring);
}

void queue_begin(struct queue *queue)
{
    queue->under_way++;
    queue_settle(queue);
}

void queue_end(struct queue *queue)
{
    queue->under_way--;
    queue_settle(queue);
}
