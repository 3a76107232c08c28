#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool drain_to_files(struct load *load, int directory, struct drain *drain)
{
    *drain = (struct drain){.load = load,
                            .directory = directory,
                            .socket = -1,
                            .files = malloc(load->threads * sizeof(int))};
    if (drain->files == NULL)
        return false;
    for (size_t i = 0; i < load->threads; i++)
        drain->files[i] = -1;
    for (size_t i = 0; i < load->threads; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu", i + 1);
        drain->files[i] = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (drain->files[i] < 0)
            return false;
    }
    return true;
}

bool drain_to_host(struct load *load, const struct sockaddr_storage *host, socklen_t length,
                   uint64_t secret, struct drain *drain)
{
    *drain = (struct drain){.load = load, .directory = -1, .secret = secret};
    drain->socket = socket(host->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return drain->socket >= 0 && connect(drain->socket, (const struct sockaddr *)host, length) == 0;
}

/* Writes all bytes, so that no mark is cut when the disk gets full. */
static bool write_marks(int file, const struct mark *marks, uint64_t count)
{
    const char *at = (const char *)marks;
    size_t left = count * sizeof *marks;
    while (left > 0) {
        ssize_t written = write(file, at, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        left -= (size_t)written;
    }
    return true;
}

/* Sends the marks in datagrams. If a datagram is lost, or cannot be sent, its marks are missing.
 * The analysis finds the gap in the jobs' numbers. */
static void send_marks(struct drain *drain, const struct mark *marks, uint64_t count)
{
    struct {
        struct datagram_head head;
        struct mark marks[DATAGRAM_MARKS];
    } datagram = {
        .head = {.secret = drain->secret, .marks = (uint32_t)count, .number = drain->number++}};
    memcpy(datagram.head.magic, DATAGRAM_MAGIC, sizeof datagram.head.magic);
    memcpy(datagram.marks, marks, count * sizeof *marks);
    (void)send(drain->socket, &datagram, sizeof datagram.head + count * sizeof *marks, 0);
}

static bool drain_ring(struct drain *drain, size_t thread)
{
    struct ring *ring = &drain->load->thread[thread].ring;
    const struct mark *marks;
    uint64_t count;
    while ((count = ring_look(ring, &marks)) > 0) {
        if (drain->directory < 0) {
            count = count < DATAGRAM_MARKS ? count : DATAGRAM_MARKS;
            send_marks(drain, marks, count);
        } else if (!write_marks(drain->files[thread], marks, count))
            return false;
        ring_took(ring, count);
    }
    return true;
}

bool drain_all(struct drain *drain)
{
    for (size_t i = 0; i < drain->load->threads; i++)
        if (!drain_ring(drain, i))
            return false;
    return true;
}

void drain_end(struct drain *drain)
{
    for (size_t i = 0; i < drain->load->threads && drain->files != NULL; i++)
        if (drain->files[i] >= 0)
            close(drain->files[i]);
    free(drain->files);
    if (drain->socket >= 0)
        close(drain->socket);
}
