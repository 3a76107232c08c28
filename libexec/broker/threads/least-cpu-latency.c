#include "least-cpu-latency.h"

#include <stddef.h>

#include "reservations.h"

uint64_t least_cpu_latency(void)
{
    uint64_t least = 0;
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation)) {
        const uint64_t asked =
            reservation->attachment == NULL ? 0 : reservation->attachment->given.cpu_latency;
        if (asked != 0 && (least == 0 || asked < least))
            least = asked;
    }
    return least;
}
