#include "allocators.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "spool.h"

enum { ONCE = 1, TRIES = 2, WORD_BYTES = WHERE_BYTES + 64, WORDS_BYTES = PLUGINS_MAX * WORD_BYTES };

static void word_of_network(const struct plugin_line *line, char word[static WORD_BYTES])
{
    snprintf(word, WORD_BYTES, "%s=%" PRIu64, line->where, line->capacity);
}

/* Writes only the name of the interface. rtf-net takes only interfaces with the kernel's default
 * settings, so it restores the default settings. */
static void former_network(const char *where, char word[static WORD_BYTES])
{
    snprintf(word, WORD_BYTES, "%s", where);
}

static void read_setting(const char *disk, const char *name, char text[static 80])
{
    char path[128];
    snprintf(path, sizeof path, "/sys/block/%s/queue/%s", disk, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, text, 79);
    text[got < 0 ? 0 : got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Writes sda=SCHEDULER, or sda=bfq,LOW_LATENCY,STRICT_GUARANTEES, or sda alone if there is no such
 * disk now. The kernel's file `scheduler` lists all schedulers, with the present scheduler in
 * brackets. */
static void former_disk(const char *where, char word[static WORD_BYTES])
{
    char schedulers[80], low[80], strict[80], *rest = schedulers;
    read_setting(where, "scheduler", schedulers);
    read_setting(where, "iosched/low_latency", low);
    read_setting(where, "iosched/strict_guarantees", strict);
    const char *before = strsep(&rest, "["), *name = strsep(&rest, "]");
    (void)before;
    snprintf(word, WORD_BYTES, "%s%s%.24s%s%.4s%s%.4s", where, name == NULL ? "" : "=",
             name == NULL ? "" : name, low[0] == '\0' ? "" : ",", low, strict[0] == '\0' ? "" : ",",
             strict);
}

static struct keeper {
    const char *name, *program, *record;
    enum child_kind kind;
    const char *option; /* the first option of the helper's command line; NULL: no such option */
    /* remove: the option by which the program undoes the settings of devices without a line.
     * remove_all: the option by which it undoes all settings */
    const char *remove, *remove_all;
    /* writes the word of a line for the command line that starts the helper; NULL: the word of the
     * record is used */
    void (*word)(const struct plugin_line *line, char *word);
    /* writes the word of a device for the record, which `remove` and `remove_all` take */
    void (*former)(const char *where, char *word);
    char path[4096];
    struct helper helper;
    int lines; /* the number of lines of this helper; 0: the helper does not run */
    bool unrecorded, given_back, settles;
} keepers[KEPT] = {
    [KEPT_NETWORK] = {.name = "the network helper",
                      .program = "rtf-net",
                      .record = "interfaces",
                      .kind = CHILD_NET,
                      .remove = "--remove",
                      .remove_all = "--remove",
                      .word = word_of_network,
                      .former = former_network},
    [KEPT_DISK] = {.name = "the disk helper",
                   .program = "rtf-disk",
                   .record = "disks",
                   .kind = CHILD_DISK,
                   .remove = "--remove",
                   .remove_all = "--remove-all",
                   .former = former_disk},
    [KEPT_IOPRIO] = {.name = "the I/O priority helper",
                     .program = "rtf-disk",
                     .record = "disks-ioprio",
                     .kind = CHILD_DISK,
                     .option = "--ioprio",
                     .remove = "--remove",
                     .remove_all = "--remove-all",
                     .former = former_disk},
};

enum kept kept_by(const struct plugin_line *line)
{
    return !line->kept                          ? KEPT
           : line->resource == RESOURCE_NETWORK ? KEPT_NETWORK
           : line->raises                       ? KEPT_IOPRIO
                                                : KEPT_DISK;
}

static bool is_keepers(const struct keeper *keeper, int line)
{
    return kept_by(plugin_line(line)) == (enum kept)(keeper - keepers);
}

/* ---- the record ---- */

/* Reads the words of the record (allocators.h), one in each line; "": the record is empty or does
 * not exist. False: the record may exist, but cannot be read. */
static bool read_record(const struct keeper *keeper, char words[static WORDS_BYTES])
{
    const int fd = openat(spool.lasting, keeper->record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_none = fd < 0 && errno == ENOENT;
    const ssize_t got = fd < 0 ? -1 : read(fd, words, WORDS_BYTES - 1);
    words[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        close(fd);
    return got >= 0 || is_none;
}

/* The broker may not remove files, and a kill -9 must not leave an empty record. So a single
 * write(2) replaces the old words by the new words, and by empty lines where the old words were
 * longer. */
static bool write_record(const struct keeper *keeper, const char *words)
{
    char text[WORDS_BYTES];
    const int fd =
        openat(spool.lasting, keeper->record, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat old;
    if (fd < 0)
        return false;
    const size_t length = strlen(words), before = fstat(fd, &old) == 0 && old.st_size < WORDS_BYTES
                                                      ? (size_t)old.st_size
                                                      : sizeof text;
    const size_t whole = length > before ? length : before;
    memset(text, '\n', sizeof text);
    memcpy(text, words, length);
    const bool good = write(fd, text, whole) == (ssize_t)whole && ftruncate(fd, (off_t)length) == 0;
    close(fd);
    return good;
}

static bool is_of(const char *word, const char *where)
{
    const size_t length = strlen(where);
    return strncmp(word, where, length) == 0 && (word[length] == '=' || word[length] == '\0');
}

static bool is_kept(const struct keeper *keeper, const char *word)
{
    for (int i = 0; i < plugins_count(); i++)
        if (is_keepers(keeper, i) && is_of(word, plugin_line(i)->where))
            return true;
    return false;
}

/* Writes the word for the record about the device, which has the setting that the device had before
 * rtf changed it. If the old record has a word about the device, this word is taken. */
static void word_for_record(const struct keeper *keeper, const char *where, const char *old,
                            char word[static WORD_BYTES])
{
    char words[WORDS_BYTES], *rest = words;
    snprintf(words, sizeof words, "%s", old);
    for (const char *known = strsep(&rest, "\n"); known != NULL; known = strsep(&rest, "\n"))
        if (is_of(known, where)) {
            snprintf(word, WORD_BYTES, "%s", known);
            return;
        }
    keeper->former(where, word);
}

static bool add_word(char words[static WORDS_BYTES], const char *word)
{
    const size_t length = strlen(words), more = strlen(word) + 1;
    if (length + more >= WORDS_BYTES)
        return false;
    snprintf(words + length, WORDS_BYTES - length, "%s\n", word);
    return true;
}

/* Adds the words of the old record that must stay in the new record. They are about devices whose
 * settings could not be restored, and about devices whose line is off. */
static bool record_rest(const struct keeper *keeper, const char *old,
                        char words[static WORDS_BYTES])
{
    char text[WORDS_BYTES], *rest = text;
    bool good = true;
    snprintf(text, sizeof text, "%s", old);
    for (const char *word = strsep(&rest, "\n"); word != NULL; word = strsep(&rest, "\n"))
        if (word[0] != '\0' && !is_kept(keeper, word))
            good = add_word(words, word) && good;
    return good;
}

static bool record(const struct keeper *keeper, const char *old, bool given_back)
{
    char words[WORDS_BYTES] = "", word[WORD_BYTES];
    bool good = given_back || record_rest(keeper, old, words);
    for (int i = 0; i < plugins_count(); i++)
        if (is_keepers(keeper, i)) {
            word_for_record(keeper, plugin_line(i)->where, old, word);
            good = add_word(words, word) && good;
        }
    return good && (strcmp(words, old) == 0 || write_record(keeper, words));
}

/* The command line of the helper. add_to appends a word, and does not copy it. */
struct command {
    char **words;
    int count;
};

static void add_to(struct command *command, const char *word)
{
    command->words = realloc(command->words, (size_t)(command->count + 2) * sizeof *command->words);
    if (command->words == NULL)
        abort();
    command->words[command->count++] = (char *)word;
    command->words[command->count] = NULL;
}

static struct command command_of(const struct keeper *keeper, const char *op)
{
    struct command command = {0};
    add_to(&command, keeper->path);
    if (keeper->option != NULL)
        add_to(&command, keeper->option);
    add_to(&command, op);
    return command;
}

static struct command raised; /* words --thread=TID,STARTED_BY,IOPRIO, one for each raised thread */

bool allocators_raised_any(void)
{
    char disks[WORDS_BYTES];
    return read_record(&keepers[KEPT_IOPRIO], disks) && disks[0] != '\0';
}

void allocators_know_raised(pid_t tid, uint64_t started_by, int former)
{
    char *word;
    if (asprintf(&word, "--thread=%d,%" PRIu64 ",%d", (int)tid, started_by, former) < 0)
        abort();
    add_to(&raised, word);
}

static void add_raised(struct command *command, const struct keeper *keeper)
{
    for (int i = 0; keeper == &keepers[KEPT_IOPRIO] && i < raised.count; i++)
        add_to(command, raised.words[i]);
}

static bool run(const struct command *command)
{
    char *const environment[] = {NULL};
    pid_t child;
    int status;
    return posix_spawn(&child, command->words[0], NULL, NULL, command->words, environment) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

static bool give_back(const struct keeper *keeper, bool all)
{
    char names[WORDS_BYTES], *rest = names;
    if (!read_record(keeper, names))
        return false;
    struct command command = command_of(keeper, all ? keeper->remove_all : keeper->remove);
    const int least = command.count;
    for (char *name = strsep(&rest, "\n"); name != NULL; name = strsep(&rest, "\n"))
        if (name[0] != '\0' && (all || !is_kept(keeper, name)))
            add_to(&command, name);
    const bool any = command.count > least;
    if (all)
        add_raised(&command, keeper);
    const bool good = !any || run(&command);
    free(command.words);
    return good;
}

bool allocators_put_back(allocators_path *path, char reason[static REASON_BYTES])
{
    bool good = true;
    for (struct keeper *keeper = keepers; keeper < keepers + KEPT; keeper++) {
        snprintf(keeper->path, sizeof keeper->path, "%s", path(keeper->program));
        if (give_back(keeper, true))
            (void)write_record(keeper, "");
        else {
            snprintf(reason, REASON_BYTES, "%s could not undo its settings", keeper->program);
            good = false;
        }
    }
    return good;
}

/* ---- the helpers ---- */

struct message *allocator_begin(const char *op, const struct plugin_line *line)
{
    /* op=settle is sent only once, because a helper that was started again must first be told all
     * classes and threads. */
    struct message *message = helper_begin(op, strcmp(op, "settle") == 0 ? ONCE : TRIES);
    if (line != NULL)
        paragraph_add(helper_text(message), resource_where(line->resource), line->where);
    return message;
}

uint64_t allocator_finish(enum kept kept, struct message *message)
{
    return helper_finish(&keepers[kept].helper, message, -1);
}

static void (*say_again)(enum kept kept);

static void say_networks_again(void)
{
    say_again(KEPT_NETWORK);
}

static void say_disks_again(void)
{
    say_again(KEPT_DISK);
}

static void say_raised_again(void)
{
    say_again(KEPT_IOPRIO);
}

/* Restores the settings of devices that no line of this helper has any more. The broker does this
 * for all helpers before any helper starts. So a disk that another helper takes over has its
 * original settings again. */
static void prepare_to_give_back(struct keeper *keeper)
{
    bool any = false;
    for (int i = 0; i < plugins_count(); i++)
        any |= is_keepers(keeper, i);
    keeper->given_back = give_back(keeper, !any);
    if (!keeper->given_back)
        fprintf(
            stderr,
            "rtf-brokerd: %s could not undo settings of lines that plugins.conf no longer has\n",
            keeper->program);
}

static void prepare(struct keeper *keeper, void (*tell)(const struct helper_event *event))
{
    static void (*const again[])(void) = {[KEPT_NETWORK] = say_networks_again,
                                          [KEPT_DISK] = say_disks_again,
                                          [KEPT_IOPRIO] = say_raised_again};
    char words[PLUGINS_MAX][WORD_BYTES], old[WORDS_BYTES];
    struct command command = command_of(keeper, "--serve");
    keeper->unrecorded = !read_record(keeper, old);
    for (int i = 0; i < plugins_count(); i++)
        if (is_keepers(keeper, i)) {
            if (keeper->word != NULL)
                keeper->word(plugin_line(i), words[keeper->lines]);
            else
                word_for_record(keeper, plugin_line(i)->where, old, words[keeper->lines]);
            add_to(&command, words[keeper->lines++]);
        }
    add_raised(&command, keeper);
    keeper->unrecorded = keeper->unrecorded || !record(keeper, old, keeper->given_back);
    if (keeper->lines > 0)
        helper_prepare(&keeper->helper, keeper->name, keeper->kind, command.words, tell);
    keeper->helper.again = again[keeper - keepers];
    free(command.words);
}

void allocators_prepare(allocators_path *path, void (*tell)(const struct helper_event *event),
                        void (*again)(enum kept kept))
{
    say_again = again;
    for (struct keeper *keeper = keepers; keeper < keepers + KEPT; keeper++) {
        snprintf(keeper->path, sizeof keeper->path, "%s", path(keeper->program));
        prepare_to_give_back(keeper);
    }
    for (struct keeper *keeper = keepers; keeper < keepers + KEPT; keeper++)
        prepare(keeper, tell);
}

/* Sends a message about the line and waits for the answer. The broker waits like this only at its
 * start and end. */
static bool ask(struct keeper *keeper, const char *op, const struct plugin_line *line, int seconds,
                char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    (void)helper_finish(&keeper->helper, allocator_begin(op, line), -1);
    const bool answered = helper_drain(&keeper->helper, seconds, &last);
    if (answered && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "plugins.conf:%d: %.300s", line->line,
             answered ? last.reason : "the helper does not answer");
    return false;
}

/* Turns the line off. The broker still serves all other lines, because reservations of CPU time
 * must not depend on a disk. The device stays in the record, so that incomplete settings are undone
 * later. */
static void turn_off(struct keeper *keeper, int line, const char *reason)
{
    event_broker("error", "%s is off: the broker grants nothing of it until the next start: %.400s",
                 plugin_line(line)->name, reason);
    plugin_turn_off(line, reason);
    if (--keeper->lines == 0)
        helper_stop(&keeper->helper);
}

static void keeper_start(struct keeper *keeper)
{
    char reason[REASON_BYTES];
    const bool started =
        keeper->lines > 0 && !keeper->unrecorded && helper_start(&keeper->helper, -1);
    if (!started)
        snprintf(reason, sizeof reason, "%s: %s", keeper->program,
                 keeper->unrecorded ? "the list of devices cannot be written in state/"
                                    : strerror(errno));
    for (int i = 0; i < plugins_count(); i++)
        if (is_keepers(keeper, i) && (!started || !ask(keeper, "check", plugin_line(i), 5, reason)))
            turn_off(keeper, i, reason);
}

void allocators_start(void)
{
    for (struct keeper *keeper = keepers; keeper < keepers + KEPT; keeper++)
        keeper_start(keeper);
}

static void settle(enum kept kept)
{
    for (int i = 0; i < plugins_count(); i++)
        if (kept_by(plugin_line(i)) == kept)
            (void)allocator_finish(kept, allocator_begin("settle", plugin_line(i)));
}

void allocators_settle(void)
{
    for (enum kept kept = 0; kept < KEPT; kept++) {
        keepers[kept].settles = true;
        settle(kept);
    }
}

void allocator_settle_again(enum kept kept)
{
    if (keepers[kept].settles)
        settle(kept);
}

/* Has the helper restore the settings of the device of each line. A device stays in the record if
 * its settings could not be restored, or if its line is off. */
static void end_lines(struct keeper *keeper)
{
    char old[WORDS_BYTES], words[WORDS_BYTES] = "", word[WORD_BYTES], reason[REASON_BYTES];
    bool good = read_record(keeper, old) && record_rest(keeper, old, words);
    for (int i = 0; i < plugins_count(); i++)
        if (is_keepers(keeper, i) && !ask(keeper, "end", plugin_line(i), 10, reason)) {
            event_broker("error", "the settings of %s could not be undone: %.400s",
                         plugin_line(i)->where, reason);
            word_for_record(keeper, plugin_line(i)->where, old, word);
            good = good && add_word(words, word);
        }
    if (good)
        (void)write_record(keeper, words);
}

void allocators_end(void)
{
    for (struct keeper *keeper = keepers; keeper < keepers + KEPT; keeper++)
        if (keeper->lines > 0)
            end_lines(keeper);
}

void allocators_stop(void)
{
    for (struct keeper *keeper = keepers; keeper < keepers + KEPT; keeper++)
        if (keeper->lines > 0)
            helper_stop(&keeper->helper);
}
