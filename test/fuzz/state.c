/* state/journal: the broker's own, after a crash, a full disk, or a restore from somewhere else. */
#include "../../libexec/broker/state.c" /* NOLINT(bugprone-suspicious-include): what is fuzzed is static there */

#include <sys/stat.h>

#include "fuzz.h"

struct spool spool = {.state = -1, .former = -1};

static char directory[] = "/dev/shm/rtf-fuzz.XXXXXX";

static void remove_directory(void)
{
    (void)unlinkat(spool.state, journal_name, 0);
    (void)rmdir(directory);
}

static void write_journal(const uint8_t *bytes, size_t length)
{
    static int fd = -1;
    if (fd < 0) {
        must(mkdtemp(directory) != NULL && atexit(remove_directory) == 0);
        spool.state = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd = openat(spool.state, journal_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        must(fd >= 0);
    }
    must(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, length, 0) == (ssize_t)length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char reason[REASON_BYTES];
    struct recorded_state state;
    write_journal(bytes, length);
    if (!state_read(&state, reason))
        must_be_text(reason, sizeof reason);
    for (int i = 0; i < state.count; i++) {
        const struct recorded_wish *wish = &state.wishes[i];
        must_be_text(wish->user, sizeof wish->user);
        must_be_text(wish->name, sizeof wish->name);
        must_be_text(wish->token, sizeof wish->token);
        must_be_text(wish->plugin, sizeof wish->plugin);
        must(!wish->attached || wish->tid > 0);
    }
    state_free(&state);
    return 0;
}
