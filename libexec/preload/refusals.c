#include "refusals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "units.h"

#define FILE_PREFIX ".refused-"
enum { FILE_NAME = 32, LINE = 1200, FILE_MOST = 16384 };

static struct {
    pthread_mutex_t lock;
    pid_t process; /* the process that has notes; a child after fork(2) has none */
    char path[PATH_MAX];
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned long long own_start(void)
{
    char text[512] = "";
    unsigned long long start = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    const char *rest = strrchr(text, ')');
    if (rest == NULL ||
        sscanf(rest + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &start) != 1)
        return 0;
    return start;
}

/* Removes the files of processes that have ended. */
static void forget_ended(int directory)
{
    const size_t prefix = strlen(FILE_PREFIX);
    const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *file;
    uint64_t process;
    while (files != NULL && (file = readdir(files)) != NULL)
        if (strncmp(file->d_name, FILE_PREFIX, prefix) == 0 &&
            parse_number(file->d_name + prefix, INT_MAX, &process) && process > 0 &&
            kill((pid_t)process, 0) != 0 && errno == ESRCH)
            (void)unlinkat(directory, file->d_name, 0);
    if (files != NULL)
        (void)closedir(files);
    else if (copy >= 0)
        close(copy);
}

/* Opens the file of this process for appending. A file of an earlier process with the same id, and
 * a file that has become long, begin anew. -1: errno says why. */
static int open_file(int directory, const char *name)
{
    struct stat status;
    const bool is_new = noted.process != getpid();
    if (is_new)
        forget_ended(directory);
    const int fd = openat(directory, name,
                          O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                              (is_new ? O_TRUNC : 0),
                          0600);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > FILE_MOST)
        (void)!ftruncate(fd, 0);
    return fd;
}

static void append(const char *line, size_t length)
{
    struct client client;
    char name[FILE_NAME];
    const char *spool = secure_getenv("RTF_SPOOL");
    snprintf(name, sizeof name, FILE_PREFIX "%d", (int)getpid());
    if (client_open(&client, spool != NULL ? spool : RTF_SPOOL) == CLIENT_OK &&
        client_enter(&client, true) == CLIENT_OK) {
        const int fd = open_file(client.directory, name);
        if (fd >= 0 && write(fd, line, length) == (ssize_t)length) {
            snprintf(noted.path, sizeof noted.path, "%s/specs/%s/%s", client.spool, client.user,
                     name);
            noted.process = getpid();
        }
        if (fd >= 0)
            close(fd);
    }
    client_close(&client);
}

/* Copies a field without the characters that separate fields and lines. */
static void add_field(char line[static LINE], const char *text, char end)
{
    size_t length = strlen(line);
    for (; *text != '\0' && length < LINE - 2; text++)
        line[length++] = (char)(*text == '\t' || *text == '\n' ? ' ' : *text);
    line[length++] = end;
    line[length] = '\0';
}

void refusals_note(pid_t thread, int error, const char *name, const char *call, const char *reason)
{
    char line[LINE];
    snprintf(line, sizeof line, "%llu\t%d\t%d\t", own_start(), (int)thread, error);
    add_field(line, name, '\t');
    add_field(line, call, '\t');
    add_field(line, reason, '\n');
    pthread_mutex_lock(&noted.lock);
    append(line, strlen(line));
    pthread_mutex_unlock(&noted.lock);
}

void refusals_end(pid_t thread)
{
    pthread_mutex_lock(&noted.lock);
    const bool has_notes = noted.process == getpid();
    pthread_mutex_unlock(&noted.lock);
    if (has_notes)
        refusals_note(thread, 0, "", "", "");
}

__attribute__((destructor)) static void forget_own(void)
{
    if (noted.process == getpid())
        (void)unlink(noted.path);
}
