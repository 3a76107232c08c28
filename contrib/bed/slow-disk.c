/* A slow disk: a FUSE file system with one file, _disk_. Each read or write takes the time of its
 * bytes at a fixed rate. It also takes the time of a seek, unless it begins where the last request
 * ended. The disk serves one request at a time, like a disk with one arm. Written data are
 * discarded.
 *
 * With `cached`, every user may read the file, and the kernel keeps what has been read.
 *
 * Usage: slow-disk SEEK RATE SIZE MOUNT-POINT [cached] (microseconds, bytes per second, bytes) */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static long long seek_time, rate, size; /* ns, bytes per second, bytes */
static pthread_mutex_t arm = PTHREAD_MUTEX_INITIALIZER;
static struct timespec free_at;
static off_t position;
static bool cached;

/* Waits as long as the disk takes for this request. `free_at` is a point in time, and not a
 * duration, so that a late wake-up does not make the disk slower. */
static void work(size_t bytes, off_t offset)
{
    struct timespec now;
    pthread_mutex_lock(&arm);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long long a_second = 1000000000, takes = (offset == position ? 0 : seek_time) +
                                                   (long long)bytes * a_second / rate;
    long long until = free_at.tv_sec * a_second + free_at.tv_nsec,
              is = now.tv_sec * a_second + now.tv_nsec;
    if (is - until > 1000000) /* the disk was idle */
        until = is;
    until += takes;
    free_at = (struct timespec){.tv_sec = until / a_second, .tv_nsec = until % a_second};
    position = offset + (off_t)bytes;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &free_at, NULL);
    pthread_mutex_unlock(&arm);
}

static int slow_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    (void)info;
    memset(status, 0, sizeof *status);
    const int is_file = strcmp(path, "/disk") == 0;
    status->st_mode = is_file ? S_IFREG | (cached ? 0644 : 0600) : S_IFDIR | (cached ? 0755 : 0700);
    status->st_nlink = 1;
    status->st_size = is_file ? size : 0;
    return is_file || strcmp(path, "/") == 0 ? 0 : -ENOENT;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
    info->direct_io = !cached;
    return strcmp(path, "/disk") == 0 ? 0 : -ENOENT;
}

static int slow_read(const char *path, char *into, size_t bytes, off_t offset,
                     struct fuse_file_info *info)
{
    (void)path;
    (void)info;
    memset(into, 0, bytes);
    work(bytes, offset);
    return (int)bytes;
}

static int slow_write(const char *path, const char *from, size_t bytes, off_t offset,
                      struct fuse_file_info *info)
{
    (void)path;
    (void)from;
    (void)info;
    work(bytes, offset);
    return (int)bytes;
}

static int slow_fsync(const char *path, int only_data, struct fuse_file_info *info)
{
    (void)path;
    (void)only_data;
    (void)info;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct fuse_operations operations = {.getattr = slow_getattr,
                                                      .open = slow_open,
                                                      .read = slow_read,
                                                      .write = slow_write,
                                                      .fsync = slow_fsync};
    char foreground[] = "-f", of_all[] = "-oallow_other";
    cached = argc == 6 && strcmp(argv[5], "cached") == 0;
    if (argc != (cached ? 6 : 5))
        return 64;
    seek_time = atoll(argv[1]) * 1000;
    rate = atoll(argv[2]);
    size = atoll(argv[3]);
    char *words[] = {argv[0], foreground, argv[4], cached ? of_all : NULL, NULL};
    return fuse_main(cached ? 4 : 3, words, &operations, NULL);
}
