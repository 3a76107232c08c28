#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "drain.h"

enum {
    LATE_MS = 300,
    ANSWER_MOST = 4 << 20,
    RECEIVE_BUFFER = 8 << 20,
    WORDS = 64,
    HEAD_BYTES = 48,
    BYTES_MOST = 64 << 20 /* the most bytes of marks per second */
};

struct link {
    struct remote *remote;
    uint64_t secret;
    int socket, to, from, signals; /* socket: for marks; to, from: pipes to and from ssh */
    pid_t child;
    uint16_t port;
    char *answer;
    size_t length;
    int files[THREADS_MAX]; /* the files for the marks, one for each thread */
    int64_t began;
    uint64_t bytes; /* bytes of marks written */
    struct sockaddr_storage peer;
    socklen_t peer_length; /* 0: no peer yet */
};

/* ---- on the other machine ---- */

static bool read_all(char *text, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = read(STDIN_FILENO, text + done, length - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Reads the experiment from standard input. The first line has the length of the text and the
 * secret. Standard input stays open after the text. */
char *remote_receive(size_t *length, uint64_t *secret)
{
    char line[HEAD_BYTES] = "", *rest;
    for (size_t i = 0; i + 1 < sizeof line && read_all(line + i, 1) && line[i] != '\n'; i++) {
    }
    *length = strtoul(line, &rest, 10);
    *secret = strtoull(rest, NULL, 16);
    if (*length == 0 || *length > EXPERIMENT_BYTES_MAX)
        return NULL;
    char *text = malloc(*length);
    if (text != NULL && read_all(text, *length))
        return text;
    free(text);
    return NULL;
}

bool remote_address(const char *port, struct sockaddr_storage *host, socklen_t *length)
{
    const char *connection = getenv("SSH_CONNECTION");
    char name[64];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_DGRAM},
                    *found;
    if (connection == NULL)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(connection, " "), connection);
    if (getaddrinfo(name, port, &hints, &found) != 0)
        return false;
    memcpy(host, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* ---- on this machine ---- */

static bool open_socket(struct link *link)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    const struct sockaddr_in any4 = {.sin_family = AF_INET};
    const int both = 0, buffer = RECEIVE_BUFFER;
    struct sockaddr_in6 bound = {0}; /* the port of an IPv4 address is at the same offset */
    socklen_t length = sizeof bound;
    link->socket = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = link->socket >= 0 &&
                setsockopt(link->socket, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both) == 0 &&
                bind(link->socket, (const struct sockaddr *)&any, sizeof any) == 0;
    if (!good) { /* this machine may have no IPv6 */
        if (link->socket >= 0)
            close(link->socket);
        link->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        good = link->socket >= 0 &&
               bind(link->socket, (const struct sockaddr *)&any4, sizeof any4) == 0;
    }
    (void)setsockopt(link->socket, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (!good || getsockname(link->socket, (struct sockaddr *)&bound, &length) != 0)
        return false;
    link->port = ntohs(bound.sin6_port);
    return true;
}

static void become_ssh(const struct link *link, int in, int out)
{
    char last[PATH_MAX + 128];
    snprintf(last, sizeof last, "%s run%s --send %u -", link->remote->command,
             link->remote->compat ? " --compat" : "", link->port);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* ssh gets a process group of its own, so that Ctrl-C of the terminal does not end ssh, which
     * must still bring the last marks and the report. */
    setpgid(0, 0);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execlp("ssh", "ssh", "-T", link->remote->host, "--", last, (char *)NULL);
    fprintf(stderr, "rtf-muse: ssh: %s\n", strerror(errno));
    _exit(EX_UNAVAILABLE);
}

static bool start_ssh(struct link *link)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return false;
    link->child = fork();
    if (link->child == 0)
        become_ssh(link, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    link->to = in[1];
    link->from = out[0];
    return link->child > 0;
}

/* Sends the experiment and the secret on the standard input of ssh, because only the other side can
 * read this. Every user of either machine could read a command line. */
static bool send_experiment(const struct link *link)
{
    char *text = json_dumps(link->remote->experiment->json, JSON_COMPACT), line[HEAD_BYTES];
    if (text == NULL)
        return false;
    size_t length = strlen(text), done = 0;
    int head = snprintf(line, sizeof line, "%zu %016" PRIx64 "\n", length, link->secret);
    bool good = write(link->to, line, (size_t)head) == head;
    while (good && done < length) {
        ssize_t written = write(link->to, text + done, length - done);
        good = written > 0;
        done += good ? (size_t)written : 0;
    }
    free(text);
    return good;
}

static bool open_files(struct link *link)
{
    const size_t threads = link->remote->experiment->thread_count;
    for (size_t i = 0; i < threads; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu", i + 1);
        link->files[i] =
            openat(link->remote->marks, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (link->files[i] < 0)
            return false;
    }
    return true;
}

struct datagram {
    struct datagram_head head;
    struct mark marks[DATAGRAM_MARKS];
};

static bool is_good(const struct link *link, const struct datagram *datagram, ssize_t got)
{
    return got > (ssize_t)sizeof datagram->head && datagram->head.marks <= DATAGRAM_MARKS &&
           (size_t)got == sizeof datagram->head + datagram->head.marks * sizeof *datagram->marks &&
           datagram->head.secret == link->secret &&
           memcmp(datagram->head.magic, DATAGRAM_MAGIC, sizeof datagram->head.magic) == 0 &&
           datagram->marks[0].thread < link->remote->experiment->thread_count;
}

/* Limits the bytes of marks per second, so that the other machine cannot fill this machine's disk.
 * No experiment makes so many marks. Marks above the limit are dropped, and the analysis finds them
 * as gaps. */
static bool has_room(const struct link *link, size_t size)
{
    const uint64_t seconds = (uint64_t)(monotonic_now() - link->began) / UINT64_C(1000000000) + 1;
    return link->bytes + size <= seconds * BYTES_MOST;
}

/* True if the datagram comes from the first sender; no other sender is accepted. connect(2) makes
 * the kernel drop later datagrams of other senders. This function checks datagrams that are in the
 * queue already. */
static bool is_peer(struct link *link, const struct sockaddr_storage *peer, socklen_t length)
{
    if (link->peer_length != 0)
        return length == link->peer_length && memcmp(peer, &link->peer, length) == 0;
    memcpy(&link->peer, peer, length);
    link->peer_length = length;
    return connect(link->socket, (const struct sockaddr *)peer, length) == 0;
}

/* Takes the datagrams that have arrived. Ignores datagrams without the secret, and datagrams with
 * impossible values. False: marks cannot be written. */
static bool take_datagrams(struct link *link)
{
    struct datagram datagram;
    struct sockaddr_storage peer;
    ssize_t got;
    for (socklen_t length = sizeof peer;
         (got = recvfrom(link->socket, &datagram, sizeof datagram, 0, (struct sockaddr *)&peer,
                         &length)) >= 0;
         length = sizeof peer) {
        if (!is_good(link, &datagram, got) || !is_peer(link, &peer, length))
            continue;
        const size_t size = datagram.head.marks * sizeof *datagram.marks;
        if (!has_room(link, size))
            continue;
        link->remote->heard = true;
        link->bytes += size;
        if (write(link->files[datagram.marks[0].thread], datagram.marks, size) != (ssize_t)size)
            return false;
    }
    return true;
}

static bool take_answer(struct link *link)
{
    if (link->answer == NULL)
        link->answer = malloc(ANSWER_MOST);
    ssize_t got = link->answer == NULL || link->length == ANSWER_MOST
                      ? 0
                      : read(link->from, link->answer + link->length, ANSWER_MOST - link->length);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    link->length += (size_t)got;
    return got > 0;
}

static void stop(struct link *link)
{
    if (link->to >= 0)
        close(link->to);
    link->to = -1;
}

static void take_signals(struct link *link)
{
    struct signalfd_siginfo info;
    while (read(link->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        link->remote->signal = (int)info.ssi_signo;
        stop(link);
    }
}

/* Takes marks until ssh closes its output, and then for a moment longer, because some marks may
 * still be on their way. */
static bool listen_to(struct link *link)
{
    struct pollfd fds[] = {{.fd = link->socket, .events = POLLIN},
                           {.fd = link->from, .events = POLLIN},
                           {.fd = link->signals, .events = POLLIN}};
    bool open = true, good = true;
    while (good) {
        int ready = poll(fds, 3, open ? -1 : LATE_MS);
        if (ready == 0)
            break;
        if (ready > 0 && fds[0].revents != 0)
            good = take_datagrams(link);
        if (ready > 0 && fds[1].revents != 0 && !take_answer(link)) {
            open = false;
            fds[1].fd = -1;
        }
        if (ready > 0 && fds[2].revents != 0)
            take_signals(link);
    }
    stop(link);
    return good;
}

static bool block_signals(struct link *link)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    link->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)signal(SIGPIPE, SIG_IGN); /* a write to ssh must not kill this process if ssh has ended */
    return link->signals >= 0 && sigprocmask(SIG_BLOCK, &signals, NULL) == 0;
}

static int talk(struct link *link, char *why)
{
    struct remote *remote = link->remote;
    int ended = 0;
    bool sent = send_experiment(link), stored = listen_to(link);
    if (waitpid(link->child, &ended, 0) != link->child)
        ended = -1;
    remote->run = link->length == 0 ? NULL : json_loadb(link->answer, link->length, 0, NULL);
    if (!stored) {
        snprintf(why, REMOTE_WHY, "marks cannot be written: %s; the marks until then are analysed",
                 strerror(errno));
        return EX_IOERR;
    }
    if (remote->signal != 0)
        return 128 + remote->signal;
    /* if marks have arrived, but no report, the connection ended before the experiment */
    const bool gone = remote->run == NULL && remote->heard;
    if (!gone && WIFEXITED(ended) && WEXITSTATUS(ended) != 0 && WEXITSTATUS(ended) != 255)
        /* ssh, or the program on the other machine, has printed the cause */
        return WEXITSTATUS(ended);
    if (remote->run == NULL || !sent) {
        snprintf(why, REMOTE_WHY, "%.100s: the connection ended before the experiment%s",
                 remote->host, remote->heard ? "; the marks until then are analysed" : "");
        return EX_UNAVAILABLE;
    }
    return EX_OK;
}

int remote_run(struct remote *remote, char why[static REMOTE_WHY])
{
    struct link link = {
        .remote = remote, .socket = -1, .to = -1, .from = -1, .began = monotonic_now()};
    why[0] = '\0';
    if (getrandom(&link.secret, sizeof link.secret, 0) != sizeof link.secret ||
        !open_socket(&link) || !open_files(&link) || !block_signals(&link) || !start_ssh(&link)) {
        snprintf(why, REMOTE_WHY, "%.100s: %s", remote->host, strerror(errno));
        return EX_OSERR;
    }
    int status = talk(&link, why);
    for (size_t i = 0; i < remote->experiment->thread_count; i++)
        close(link.files[i]);
    free(link.answer);
    close(link.socket);
    close(link.from);
    close(link.signals);
    return status;
}
