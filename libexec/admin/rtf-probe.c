/* rtf-probe(8): measures the rate at which a disk reads blocks of some sizes at random places, for
 * throughput= in plugins.conf(5). The block sizes take turns. The time for a size is the mean of
 * the middle half of all its reads, so occasional delays of the disk, or of this program, do not
 * count. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "disk-place.h"
#include "usage.h"
#include "wire.h"

enum { SIZES = 3, READS = 65536, LARGEST = 131072, ALIGNED = 4096 };
#define TURN   INT64_C(50000000) /* ns */
#define ENOUGH INT64_C(4500000000)

static const struct {
    uint64_t bytes;
    const char *name;
} sizes[SIZES] = {{4096, "4KiB"}, {32768, "32KiB"}, {LARGEST, "128KiB"}};

struct disk {
    const char *name;
    int fd;
    uint64_t bytes;
};

static _Noreturn void die(int status, const char *what, const char *why)
{
    fprintf(stderr, "rtf-probe: %s: %s\n", what, why);
    exit(status);
}

static struct disk open_disk(const char *word)
{
    static char name[DISK_NAME_BYTES];
    char reason[DISK_PLACE_REASON], path[DISK_NAME_BYTES + 8];
    struct disk disk = {.name = name};
    if (disk_place(word, name, reason) == DISK_PLACE_NONE)
        die(EX_NOINPUT, word, reason);
    snprintf(path, sizeof path, "/dev/%s", name);
    disk.fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (disk.fd < 0 || ioctl(disk.fd, BLKGETSIZE64, &disk.bytes) != 0)
        die(errno == EACCES || errno == EPERM ? EX_NOPERM : EX_NOINPUT, path, strerror(errno));
    if (disk.bytes < LARGEST)
        die(EX_NOINPUT, path, "the disk is empty or too small to be measured");
    return disk;
}

/* times: how long each read took, ns. When the table of a size is full, this size has enough
 * reads. */
static uint64_t times[SIZES][READS];
static size_t counts[SIZES];

static void read_anywhere(const struct disk *disk, uint64_t bytes)
{
    static _Alignas(ALIGNED) char into[LARGEST];
    uint64_t number = 0;
    /* getrandom(2) always returns so few bytes at once */
    (void)getrandom(&number, sizeof number, 0);
    const ssize_t got =
        pread(disk->fd, into, bytes, (off_t)(number % (disk->bytes / bytes) * bytes));
    if (got != (ssize_t)bytes)
        die(EX_IOERR, disk->name,
            got < 0 ? strerror(errno) : "a read returned fewer bytes than asked for");
}

static void take_turn(const struct disk *disk, int size)
{
    const int64_t begin = monotonic_now();
    for (int64_t before = begin, now; before - begin < TURN && counts[size] < READS; before = now) {
        read_anywhere(disk, sizes[size].bytes);
        now = monotonic_now();
        times[size][counts[size]++] = (uint64_t)(now - before);
    }
}

/* Measures until ENOUGH is used up; each size has at least one turn, even on a disk that takes
 * seconds for a turn. On a fast disk the measurement ends when the table of the largest blocks is
 * full. */
static void measure(const struct disk *disk)
{
    const int64_t begin = monotonic_now();
    int64_t took = 0;
    for (int turns = 0; turns == 0 || (took + took / turns < ENOUGH && counts[SIZES - 1] < READS);
         turns++) {
        for (int i = 0; i < SIZES; i++)
            take_turn(disk, i);
        took = monotonic_now() - begin;
    }
}

static int in_order(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Bytes per second, rounded down. */
static uint64_t rate_of(int size)
{
    const size_t count = counts[size], left_out = count / 4;
    uint64_t took = 1;
    qsort(times[size], count, sizeof times[size][0], in_order);
    for (size_t i = left_out; i < count - left_out; i++)
        took += times[size][i];
    return (uint64_t)((unsigned __int128)sizes[size].bytes * (count - 2 * left_out) * 1000000000 /
                      took);
}

/* Makes rates that plugins.conf accepts: no rate is above the maximum of plugins.conf, or above the
 * rate of larger blocks. */
static void make_valid(uint64_t rates[static SIZES])
{
    uint64_t most = WIRE_BYTES_MAX;
    for (int i = SIZES - 1; i >= 0; i--) {
        const uint64_t rate = rate_of(i);
        rates[i] = rate > most ? most : rate == 0 ? 1 : rate;
        most = rates[i];
    }
}

/* Prints at least three digits. */
static void print_rate(uint64_t rate)
{
    if (rate >= 100000000)
        printf("%" PRIu64 "MB", rate / 1000000);
    else if (rate >= 100000)
        printf("%" PRIu64 "kB", rate / 1000);
    else
        printf("%" PRIu64 "B", rate);
}

int main(int argc, char **argv)
{
    int how;
    if (usage_asked(argc, argv, "rtf-probe", "DISK", &how))
        return how;
    uint64_t rates[SIZES];
    if (argc != 2 || argv[1][0] == '-')
        die(EX_USAGE, "usage",
            "rtf-probe DISK: a disk's name, its device, or a path of a file on it");
    const struct disk disk = open_disk(argv[1]);
    /* Runs as SCHED_FIFO, so that the load of the CPU does not count. If this call fails, the
     * measured rates may be too low. */
    (void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
    measure(&disk);
    make_valid(rates);
    for (int i = 0; i < SIZES; i++) {
        printf("%s%s:", i == 0 ? "throughput=" : ",", sizes[i].name);
        print_rate(rates[i]);
    }
    putchar('\n');
    return end_output("rtf-probe");
}
