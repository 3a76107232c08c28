/* rtf-order SPOOL TIME|- USER UID|- [NAME]: tells the broker to revoke all reservations of a user,
 * or the reservation NAME, for rtf-revoke(8).
 *
 * rtf-order enters no directory of a user. The order goes through a socket in a directory that only
 * root can enter (broker/revoking.h), and the answer comes back through the same socket. Prints
 * USER/NAME of each revoked reservation. Waits up to TIME until the reservations are revoked; with
 * "-" does not wait. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "paragraph.h"
#include "units.h"

#define ANSWER_WITHIN UINT64_C(10000000) /* us */
static int broker = -1;

static void die(int status, const char *why)
{
    fprintf(stderr, "rtf-order: %s\n", why);
    exit(status);
}

/* Opens a directory, and refuses a directory that others than root can write, because a user could
 * place a socket of their own in this directory. */
static int open_private(int parent, const char *name, int flags)
{
    struct stat status;
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && status.st_uid == 0 && (status.st_mode & 022) == 0)
        return fd;
    die(EX_UNAVAILABLE, "the directory state of this spool does not belong to root alone");
    return -1;
}

static void call_broker(const char *spool)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char state[4096];
    snprintf(state, sizeof state, "%s/state", spool);
    const int lasting = open_private(AT_FDCWD, state, O_NOFOLLOW),
              current = lasting < 0 ? -1 : open_private(lasting, "current", 0);
    if (current < 0)
        die(EX_UNAVAILABLE, "no broker serves this spool");
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/orders", current);
    broker = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (broker < 0 || connect(broker, (const struct sockaddr *)&address, sizeof address) != 0)
        die(EX_UNAVAILABLE, errno == ENOENT || errno == ECONNREFUSED ? "no broker serves this spool"
                                                                     : strerror(errno));
    close(current);
    close(lasting);
}

/* Values of an order are printable ASCII, like every name in specs/ that the broker knows. */
static void add_word(struct paragraph_output *output, const char *key, const char *word)
{
    for (const char *at = word; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            die(EX_NOINPUT, "there is no such user or spec");
    paragraph_add(output, key, word);
}

static void send_order(char **words)
{
    struct paragraph_output output = {0};
    paragraph_add(&output, "op", "revoke");
    add_word(&output, "user", words[0]);
    if (strcmp(words[1], "-") != 0)
        add_word(&output, "uid", words[1]);
    if (words[2] != NULL)
        add_word(&output, "name", words[2]);
    paragraph_close(&output);
    if (send(broker, output.data, output.length, MSG_NOSIGNAL) < 0)
        die(EX_UNAVAILABLE, "the order cannot be sent to the broker");
    paragraph_output_free(&output);
}

/* Receives one paragraph of the answer. False: no paragraph has come by `until`. */
static bool receive(struct paragraph_input *input, struct paragraph *said, int64_t until)
{
    char bytes[PARAGRAPH_BYTES];
    const char *why;
    struct pollfd one = {.fd = broker, .events = POLLIN};
    int taken;
    while ((taken = paragraph_take(input, said, &why)) == 0) {
        const int left = poll_milliseconds(until - monotonic_now());
        if (left == 0)
            return false;
        if (poll(&one, 1, left) <= 0)
            continue;
        const ssize_t got = recv(broker, bytes, sizeof bytes, 0);
        if (got <= 0)
            die(EX_UNAVAILABLE, "the broker ended before it answered");
        if (!paragraph_feed(input, bytes, (size_t)got))
            die(EX_PROTOCOL, "the answer of the broker cannot be understood");
    }
    if (taken < 0)
        die(EX_PROTOCOL, "the answer of the broker cannot be understood");
    return true;
}

/* Handles one paragraph of the answer. Returns the exit status; -1: more paragraphs will come. */
static int handle(const struct paragraph *said, bool waits)
{
    const char *event = paragraph_get(said, "event"), *user = paragraph_get(said, "user"),
               *name = paragraph_get(said, "name");
    if (event != NULL && strcmp(event, "unknown") == 0)
        die(EX_NOINPUT, "there is no such user or spec");
    if (event != NULL && strcmp(event, "revoked") == 0 && user != NULL && name != NULL) {
        printf("%s/%s\n", user, name);
        (void)fflush(stdout);
    }
    return event == NULL || strcmp(event, "done") == 0 || (!waits && strcmp(event, "taken") == 0)
               ? EX_OK
               : -1;
}

int main(int argc, char **argv)
{
    struct paragraph_input input = {0};
    struct paragraph said;
    uint64_t patience = ANSWER_WITHIN;
    int status = -1;
    if (argc < 5 || argc > 6)
        die(EX_USAGE, "usage: rtf-order SPOOL TIME|- USER UID|- [NAME]");
    const bool waits = strcmp(argv[2], "-") != 0;
    if (waits && !parse_wait(argv[2], &patience))
        die(EX_USAGE, "a time must be a whole number and a unit (" TIME_UNITS "), 1us to 366d");
    const int64_t until = monotonic_now() + (int64_t)patience * 1000;
    call_broker(argv[1]);
    send_order(argv + 3);
    while (status < 0)
        if (!receive(&input, &said, until))
            return EX_TEMPFAIL;
        else
            status = handle(&said, waits);
    if (ferror(stdout) != 0)
        die(EX_IOERR, strerror(errno));
    return status;
}
