/* Records which functions a broker enters, for test/walk.bats. The broker is compiled with
 * -finstrument-functions and linked with this file. The record is a shared mapping, because the
 * broker confines itself and may open no file later. The mapping is made before main() begins. An
 * entry is the offset of a function from the start of the program. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

enum { RECORDS = 1 << 20 };

static struct {
    uint64_t count;
    uint64_t offsets[RECORDS];
} * trace;

/* NOLINTBEGIN(bugprone-reserved-identifier): names of the linker and of the compiler */
extern const char __executable_start[];

PLAIN void __cyg_profile_func_enter(void *function, void *caller);
PLAIN void __cyg_profile_func_exit(void *function, void *caller);

/* The variable RTF_TRACE names the file. */
PLAIN __attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("RTF_TRACE");
    const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *trace) != 0)
        return;
    void *mapped = mmap(NULL, sizeof *trace, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    trace = mapped == MAP_FAILED ? NULL : mapped;
    close(fd);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (trace != NULL && trace->count < RECORDS)
        trace->offsets[trace->count++] = (uint64_t)((const char *)function - __executable_start);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

/* NOLINTEND(bugprone-reserved-identifier) */
