#include "network.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin-lines.h"
#include "reservations.h"
#include "spool.h"
#include "wire.h"

enum { TRIES = 2, CLASS_LEAST = 0x10, CLASSES = 0xffe0, NAMES_BYTES = PLUGINS_MAX * INTERFACE_BYTES };

static const char record[] = "interfaces";

static struct helper helper;
static int wires; /* lines whose interface is kept */
static uint8_t used[CLASSES / 8];

/* ---- which interfaces ---- */

static bool is_ours(const char *interface)
{
    for (int i = 0; i < plugins_count(); i++)
        if (plugin_line(i)->shaped && strcmp(plugin_line(i)->interface, interface) == 0)
            return true;
    return false;
}

/* Their names, a line each; "" where nothing is written down. */
static void read_record(char names[static NAMES_BYTES])
{
    const int fd = openat(spool.lasting, record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, names, NAMES_BYTES - 1);
    names[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Which are ours from now on, or that none is. The broker may remove no file. */
static bool write_record(bool any)
{
    char names[NAMES_BYTES] = "";
    size_t length = 0;
    for (int i = 0; any && i < plugins_count(); i++)
        if (plugin_line(i)->shaped)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s\n", plugin_line(i)->interface);
    const int fd = openat(spool.lasting, record, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool good = fd >= 0 && write(fd, names, length) == (ssize_t)length;
    if (fd >= 0)
        close(fd);
    return good;
}

/* Those of the record that `keep` does not want. */
static bool give_back(const char *path, bool (*keep)(const char *interface))
{
    char names[NAMES_BYTES], *rest = names, program[4096], removal[] = "--remove", *words[PLUGINS_MAX + 3] = {program, removal};
    char *const environment[] = {NULL};
    int count = 2, status;
    pid_t child;
    snprintf(program, sizeof program, "%s", path);
    read_record(names);
    for (char *name = strsep(&rest, "\n"); name != NULL && count < PLUGINS_MAX + 2; name = strsep(&rest, "\n"))
        if (name[0] != '\0' && (keep == NULL || !keep(name)))
            words[count++] = name;
    return count == 2 || (posix_spawn(&child, program, NULL, NULL, words, environment) == 0 && waitpid(child, &status, 0) == child && status == 0);
}

bool network_put_back(const char *path, char reason[static REASON_BYTES])
{
    if (give_back(path, NULL)) {
        (void)write_record(false);
        return true;
    }
    snprintf(reason, REASON_BYTES, "an interface is not given back: rtf-net has failed");
    return false;
}

/* ---- the helper ---- */

static struct message *about(const char *op, const struct plugin_line *line)
{
    struct message *message = helper_begin(op, TRIES);
    if (line != NULL)
        paragraph_add(helper_text(message), "interface", line->interface);
    return message;
}

/* It knows no thread any more. */
static void bind_all(void)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL; reservation = reservation->hh_task.next)
        if (reservation->attachment != NULL && reservation->attachment->bound)
            (void)network_bind(reservation->attachment);
}

void network_prepare(char *path, void (*tell)(const struct helper_event *event))
{
    static char serve[] = "--serve", words[PLUGINS_MAX][INTERFACE_BYTES + 32];
    char *argv[PLUGINS_MAX + 3] = {path, serve};
    if (!give_back(path, is_ours))
        fprintf(stderr, "rtf-brokerd: rtf-net has not given back an interface\n");
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (!line->shaped)
            continue;
        snprintf(words[wires], sizeof words[wires], "%s=%" PRIu64, line->interface, line->capacity);
        argv[2 + wires] = words[wires];
        wires++;
    }
    if (wires > 0)
        helper_prepare(&helper, "the network helper", PART_NET, argv, tell);
    helper.again = bind_all;
}

static bool check(const struct plugin_line *line, char *reason)
{
    struct helper_event last;
    struct message *message = about("check", line);
    (void)helper_finish(&helper, message, -1);
    if (helper_drain(&helper, 5, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "plugins.conf:%d: %.300s", line->line, last.reason[0] != '\0' ? last.reason : "rtf-net does not answer");
    return false;
}

bool network_start(char reason[static REASON_BYTES])
{
    if (wires == 0)
        return true;
    if (!write_record(true) || !helper_start(&helper, -1)) {
        snprintf(reason, REASON_BYTES, "rtf-net: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < plugins_count(); i++)
        if (plugin_line(i)->shaped && !check(plugin_line(i), reason))
            return false;
    return true;
}

static void tell_each(const char *op)
{
    for (int i = 0; wires > 0 && i < plugins_count(); i++)
        if (plugin_line(i)->shaped)
            (void)helper_finish(&helper, about(op, plugin_line(i)), -1);
}

void network_settle(void)
{
    tell_each("settle");
}

void network_end(void)
{
    struct helper_event last;
    if (wires == 0)
        return;
    tell_each("end");
    if (helper_drain(&helper, 10, &last) && last.answer == HELPER_OK)
        (void)write_record(false);
}

void network_stop(void)
{
    if (wires > 0)
        helper_stop(&helper);
}

/* ---- classes ---- */

static const struct holding *share(const struct grant *grant)
{
    const struct holding *holding = grant == NULL ? NULL : grant->holdings;
    while (holding != NULL && !plugin_line(holding->plugin)->shaped)
        holding = holding->next;
    return holding;
}

bool network_has(const struct grant *grant)
{
    return share(grant) != NULL;
}

int network_plugin(const struct grant *grant)
{
    const struct holding *holding = share(grant);
    return holding == NULL ? -1 : holding->plugin;
}

static bool is_free(unsigned i)
{
    return (used[i / 8] & 1 << i % 8) == 0;
}

static uint16_t take(unsigned i)
{
    used[i / 8] |= (uint8_t)(1 << i % 8);
    return (uint16_t)(CLASS_LEAST + i);
}

/* 0: all are taken. One that was given back comes last: a socket that a child has from its parent keeps the mark. */
static uint16_t take_class(void)
{
    static unsigned next;
    for (unsigned tried = 0; tried < CLASSES; tried++, next = (next + 1) % CLASSES)
        if (is_free(next))
            return take(next);
    return 0;
}

void network_take_up(struct reservation *reservation, uint16_t class)
{
    if (network_has(reservation->grant) && class >= CLASS_LEAST && class - CLASS_LEAST < CLASSES && is_free(class - CLASS_LEAST))
        reservation->shaped = (struct shaped){.class = take(class - CLASS_LEAST), .plugin = network_plugin(reservation->grant)};
}

static void give_class(uint16_t class)
{
    const unsigned i = class - CLASS_LEAST;
    used[i / 8] &= (uint8_t)~(1 << i % 8);
}

bool network_is_due(const struct reservation *reservation)
{
    const struct holding *holding = share(reservation->grant);
    return holding != NULL && (reservation->shaped.class == 0 || reservation->shaped.plugin != holding->plugin || reservation->shaped.rate != claim_amount(&holding->claim));
}

static void drop(struct reservation *reservation)
{
    struct message *message = about("drop", plugin_line(reservation->shaped.plugin));
    paragraph_add_number(helper_text(message), "class", reservation->shaped.class);
    (void)helper_finish(&helper, message, -1);
}

uint64_t network_shape(struct reservation *reservation)
{
    const struct holding *holding = share(reservation->grant);
    struct shaped *shaped = &reservation->shaped;
    if (shaped->class != 0 && shaped->plugin != holding->plugin)
        drop(reservation);
    if (shaped->class == 0)
        shaped->class = take_class();
    shaped->plugin = holding->plugin;
    shaped->rate = claim_amount(&holding->claim);
    struct message *message = about("class", plugin_line(shaped->plugin));
    paragraph_add_number(helper_text(message), "class", shaped->class); /* 0 is refused */
    paragraph_add_number(helper_text(message), "rate", shaped->rate);
    return helper_finish(&helper, message, -1);
}

static void forget(struct reservation *reservation)
{
    if (reservation->attachment != NULL)
        network_unbind(reservation->attachment);
    if (reservation->shaped.class != 0)
        give_class(reservation->shaped.class);
    reservation->shaped = (struct shaped){0};
}

void network_follow(struct reservation *reservation)
{
    if (reservation->shaped.class == 0)
        return;
    if (network_is_due(reservation))
        (void)network_shape(reservation);
    else if (!network_has(reservation->grant)) {
        drop(reservation);
        forget(reservation);
    }
}

void network_failed(struct reservation *reservation)
{
    reservation->shaped.rate = 0; /* as far as is known */
}

/* ---- sockets ---- */

static struct message *about_thread(const char *op, const struct attachment *attachment)
{
    struct message *message = about(op, NULL);
    paragraph_add_number(helper_text(message), "class", attachment->reservation->shaped.class);
    paragraph_add_number(helper_text(message), "tid", (uint64_t)attachment->tid);
    paragraph_add_number(helper_text(message), "started_by", attachment->started_by);
    return message;
}

uint64_t network_bind(struct attachment *attachment)
{
    struct message *message = about_thread("bind", attachment);
    paragraph_add_number(helper_text(message), "owner", attachment->reservation->user->uid);
    attachment->bound = true;
    return helper_finish(&helper, message, -1);
}

void network_unbind(struct attachment *attachment)
{
    if (!attachment->bound)
        return;
    attachment->bound = false;
    (void)helper_finish(&helper, about_thread("unbind", attachment), -1);
}
