#include "rotated-log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roots-file.h"

enum { PARTS = 256 };
static const char current_name[] = "events.ndjson";

/* A rotated file. */
struct part {
    char name[NAME_MAX + 1];
    struct timespec modified;
};

/* An open file of the log. `unpacker` is the process that unpacks the file; 0: none. */
struct stream {
    FILE *lines;
    pid_t unpacker;
};

static struct {
    int directory;
    struct log_position *position;
    void (*take)(const json_t *line);
    char *line;
    size_t size;
} reading;

/* ---- one file ---- */

/* Returns the program that unpacks a file with this name; NULL: the file is not compressed. */
static const char *unpacker_of(const char *name)
{
    static const char *const programs[][2] = {{".gz", "gzip"},
                                              {".xz", "xz"},
                                              {".zst", "zstd"},
                                              {".bz2", "bzip2"}};
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (suffix != NULL && strcmp(suffix, programs[i][0]) == 0)
            return programs[i][1];
    return NULL;
}

/* Starts the program. Closes `packed`. Returns the end of a pipe; -1: the program cannot be
 * started. */
static int unpack(const char *program, int packed, pid_t *process)
{
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    char *const words[] = {(char *)program, (char[]){"-dc"}, NULL};
    posix_spawn_file_actions_init(&actions);
    if (pipe2(ends, O_CLOEXEC) == 0) {
        posix_spawn_file_actions_adddup2(&actions, packed, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (posix_spawnp(process, program, &actions, NULL, words, environ) != 0) {
            close(ends[0]);
            ends[0] = -1;
        }
        close(ends[1]);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(packed);
    return ends[0];
}

/* Opens a file of the log, and refuses a file that a user can have made. False: errno says why. */
static bool stream_open(struct stream *stream, const char *name)
{
    struct stat status;
    const char *unpacker = unpacker_of(name);
    int fd = openat(reading.directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *stream = (struct stream){0};
    if (fd < 0)
        return false;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !only_root_writes(&status)) {
        close(fd);
        errno = EPERM;
        return false;
    }
    if (unpacker != NULL)
        fd = unpack(unpacker, fd, &stream->unpacker);
    stream->lines = fd < 0 ? NULL : fdopen(fd, "r");
    return stream->lines != NULL;
}

static void stream_close(struct stream *stream)
{
    fclose(stream->lines);
    if (stream->unpacker > 0)
        (void)waitpid(stream->unpacker, NULL, 0);
}

/* Returns the length of the next whole line, which is in reading.line; 0: there is none. */
static size_t next_line(const struct stream *stream)
{
    const ssize_t length = getline(&reading.line, &reading.size, stream->lines);
    return length > 0 && reading.line[length - 1] == '\n' ? (size_t)length : 0;
}

/* Writes the time of the line that was read last; "": the line has no time. */
static void take_first(char first[static 32])
{
    json_t *line = client_parse_object(reading.line);
    const char *time = client_string(line, "time");
    snprintf(first, 32, "%s", time == NULL ? "" : time);
    json_decref(line);
}

/* Passes the line that was read last on to `take`, and moves the position. */
static void take_line(size_t length)
{
    json_t *line = client_parse_object(reading.line);
    if (line != NULL)
        reading.take(line);
    json_decref(line);
    reading.position->counted += (json_int_t)length;
}

/* Takes the lines of the file. If this is the file that was read last, takes only the lines behind
 * the position. */
static void read_stream(const struct stream *stream)
{
    char first[32];
    json_int_t before = 0;
    size_t length = next_line(stream);
    if (length == 0)
        return;
    take_first(first);
    if (strcmp(first, reading.position->first) != 0) {
        memcpy(reading.position->first, first, sizeof first);
        reading.position->counted = 0;
    }
    const json_int_t counted = reading.position->counted;
    if (counted > 0 && stream->unpacker == 0 && fseeko(stream->lines, counted, SEEK_SET) == 0)
        length = next_line(stream);
    else
        for (; length > 0 && before < counted; length = next_line(stream))
            before += (json_int_t)length;
    for (; length > 0; length = next_line(stream))
        take_line(length);
}

/* ---- rotated files ---- */

static bool is_rotated(const struct dirent *entry)
{
    const size_t length = sizeof current_name - 1;
    return strncmp(entry->d_name, current_name, length) == 0 && entry->d_name[length] != '\0';
}

static int newest_first(const void *one, const void *other)
{
    const struct part *a = one, *b = other;
    if (a->modified.tv_sec != b->modified.tv_sec)
        return a->modified.tv_sec < b->modified.tv_sec ? 1 : -1;
    return a->modified.tv_nsec < b->modified.tv_nsec   ? 1
           : a->modified.tv_nsec > b->modified.tv_nsec ? -1
                                                       : 0;
}

/* Returns the number of rotated files, the newest first. */
static int list_parts(struct part parts[static PARTS])
{
    struct stat status;
    int count = 0;
    const int copy = openat(reading.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    for (const struct dirent *entry;
         entries != NULL && count < PARTS && (entry = readdir(entries)) != NULL;)
        if (is_rotated(entry) &&
            fstatat(reading.directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            snprintf(parts[count].name, sizeof parts->name, "%s", entry->d_name);
            parts[count++].modified = status.st_mtim;
        }
    if (entries != NULL)
        closedir(entries);
    qsort(parts, (size_t)count, sizeof *parts, newest_first);
    return count;
}

/* Compares the file with the position: below 0: the file is older than the file that was read last;
 * 0: the file is the file that was read last. A file that cannot be read counts as older. */
static int compare_part(const char *name)
{
    char first[32] = "";
    struct stream stream;
    if (stream_open(&stream, name)) {
        if (next_line(&stream) > 0)
            take_first(first);
        stream_close(&stream);
    }
    return strcmp(first, reading.position->first);
}

/* Reads the rest of the file that was read last, and the files that were made and rotated since. */
static void read_rotated(char why[static CLIENT_WHY])
{
    struct part *parts = calloc(PARTS, sizeof *parts);
    struct stream stream;
    if (parts == NULL)
        abort();
    const int count = list_parts(parts);
    int oldest = 0, compared = 1;
    while (oldest < count && (compared = compare_part(parts[oldest].name)) > 0)
        oldest++;
    if (compared != 0) {
        snprintf(
            why, CLIENT_WHY,
            "the file of the log that was read last is gone: the counters lack its last lines");
        oldest--;
    }
    for (int i = oldest; i >= 0; i--)
        if (stream_open(&stream, parts[i].name)) {
            read_stream(&stream);
            stream_close(&stream);
        }
    free(parts);
}

/* ---- the log ---- */

static bool open_log(int root)
{
    struct stat status;
    reading.directory = openat(root, "log", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (reading.directory < 0 || fstat(reading.directory, &status) != 0)
        return false;
    if (only_root_writes(&status))
        return true;
    close(reading.directory);
    errno = EPERM;
    return false;
}

/* True if the current file is still the file that was read last. */
static bool is_current_still(void)
{
    return compare_part(current_name) == 0;
}

void rotated_log_read(int root, struct log_position *position, void (*take)(const json_t *line),
                      char why[static CLIENT_WHY])
{
    struct stream stream;
    reading.position = position;
    reading.take = take;
    if (!open_log(root)) {
        snprintf(why, CLIENT_WHY, "log in the spool: %s", strerror(errno));
        return;
    }
    /* The current file is opened before the rotated files are listed. If the log is rotated in
     * between, the file is in both places. It is still read only once, because the position is then
     * behind its lines. */
    const bool is_there = stream_open(&stream, current_name);
    if (position->first[0] != '\0' && !is_current_still())
        read_rotated(why);
    if (is_there) {
        read_stream(&stream);
        stream_close(&stream);
    }
    free(reading.line);
    reading.line = NULL;
    reading.size = 0;
    close(reading.directory);
}
