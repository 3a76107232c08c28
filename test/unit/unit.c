#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *file_with(const char *text)
{
    static char path[64];
    static int fd = -1;
    const size_t length = strlen(text);
    if (fd < 0) {
        fd = memfd_create("unit", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        assert_int_equal(fchmod(fd, 0600), 0);
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, length, 0), length);
    return path;
}

/* The generator splitmix64 by Vigna. */
static uint64_t state;

void random_from(uint64_t seed)
{
    state = seed;
}

static uint64_t next(void)
{
    uint64_t mixed = state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t random_below(uint64_t count)
{
    return next() % count;
}

uint64_t random_within(uint64_t least, uint64_t most)
{
    return least + random_below(most - least + 1);
}
