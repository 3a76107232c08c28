#include "lost-events.h"

bool lost_event_before(const struct chain *chain, const struct record *record)
{
    return chain->known && chain->thread != record->thread;
}

void chain_follow(struct chain *chain, const struct record *record)
{
    *chain = (struct chain){true, record->next, record->time};
}
