/* Moves marks out of the rings (ring.h) while the load runs. Writes them to one file per thread, or
 * sends them as datagrams to the measuring machine. */
#ifndef RTF_MUSE_DRAIN_H
#define RTF_MUSE_DRAIN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

enum { DATAGRAM_MARKS = 85 }; /* with the header, these fit into one Ethernet packet */

/* The header of a datagram. */
struct datagram_head {
    char magic[8];
    uint64_t
        secret; /* a number of this experiment, which datagrams of other programs do not have */
    uint32_t marks, number;
};

#define DATAGRAM_MAGIC "rtfmuse1"

struct drain {
    struct load *load;
    int directory; /* the directory of the files; -1: the marks go into datagrams */
    int *files;
    int socket;
    uint64_t secret;
    uint32_t number; /* the number of the next datagram */
};

/* drain_to_files begins to write marks to files, and drain_to_host begins to send datagrams. False:
 * errno says why. */
bool drain_to_files(struct load *load, int directory, struct drain *drain);
bool drain_to_host(struct load *load, const struct sockaddr_storage *host, socklen_t length,
                   uint64_t secret, struct drain *drain);

/* Moves all marks that are in the rings now. False with errno: the marks could not be written. Such
 * marks stay in the rings while the rings have space. */
bool drain_all(struct drain *drain);

void drain_end(struct drain *drain);

#endif
