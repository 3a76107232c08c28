/* Where marks go while the load runs: a file for each thread, or datagrams to who measures from afar. */
#ifndef RTF_MUSE_DRAIN_H
#define RTF_MUSE_DRAIN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

enum { DATAGRAM_MARKS = 85 }; /* with a header, in one packet of Ethernet */

/* What a datagram begins with. */
struct datagram_head {
    char magic[8];
    uint64_t secret; /* of this experiment: others may send to that port, too */
    uint32_t marks, number;
};

#define DATAGRAM_MAGIC "rtfmuse1"

struct drain {
    struct load *load;
    int directory;  /* for files; -1: datagrams */
    int *files;
    int socket;
    uint64_t secret;
    uint32_t number; /* of the next datagram */
};

/* errno says why not. */
bool drain_to_files(struct load *load, int directory, struct drain *drain);
bool drain_to_host(struct load *load, const struct sockaddr_storage *host, socklen_t length, uint64_t secret, struct drain *drain);

/* All that is there now; false: it could not be written (errno), and is kept as long as there is room. */
bool drain_all(struct drain *drain);

void drain_end(struct drain *drain);

#endif
