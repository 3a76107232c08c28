#include "tell-detached.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "directories.h"
#include "memory.h"
#include "readers.h"
#include "timers.h"
#include "units.h"
#include "verdict.h"

static const int64_t patience = INT64_C(1000000000); /* ns */

static bool tell_owner(struct user *user)
{
    bool told = false;
    for (struct reservation *reservation = user->reservations; reservation != NULL;
         reservation = reservation->hh.next) {
        if (reservation->attachment == NULL)
            continue;
        verdict_laid_down(reservation);
        /* called after each verdict, because a reader with too much unsent output would be
         * killed */
        readers_flush();
        told = true;
    }
    return told;
}

static size_t tell_all(struct user **told)
{
    size_t count = 0;
    for (struct user *user = users_first(); user != NULL; user = user->hh.next)
        if (tell_owner(user))
            told[count++] = user;
    return count;
}

static void wait_for_readers(struct user **told, size_t count)
{
    struct pollfd *sockets = allocate((count + 1) * sizeof *sockets);
    const int64_t until = monotonic_now() + patience;
    for (;;) {
        nfds_t waits = 0;
        for (size_t i = 0; i < count; i++)
            if (reader_finish(told[i]))
                sockets[waits++] =
                    (struct pollfd){.fd = told[i]->reader.socket,
                                    .events = told[i]->reader.output.length > 0 ? POLLIN | POLLOUT
                                                                                : POLLIN};
        const int64_t left = until - monotonic_now();
        if (waits == 0 || left <= 0)
            break;
        (void)poll(sockets, waits, poll_milliseconds(left));
    }
    free(sockets);
}

void tell_detached(void)
{
    struct user **told = allocate((HASH_COUNT(users_first()) + 1) * sizeof *told);
    wait_for_readers(told, tell_all(told));
    free(told);
}
