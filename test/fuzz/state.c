/* state/journal: the broker's own, after a crash, a full disk, or a restore from somewhere else. */
#include "../../libexec/broker/reservations/journal.c" /* NOLINT(bugprone-suspicious-include): what is fuzzed is static there */

#include <sys/stat.h>

#include "fuzz.h"

struct spool spool = {.state = -1, .former = -1};

static char directory[] = "/dev/shm/rtf-fuzz.XXXXXX";

static void remove_directory(void)
{
    (void)unlinkat(spool.state, names[0], 0);
    (void)unlinkat(spool.state, names[1], 0);
    (void)rmdir(directory);
}

static void write_file(int which, const uint8_t *bytes, size_t length)
{
    static int files[2] = {-1, -1};
    if (files[which] < 0) {
        files[which] = openat(spool.state, names[which], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        must(files[which] >= 0);
    }
    must(ftruncate(files[which], 0) == 0 && pwrite(files[which], bytes, length, 0) == (ssize_t)length);
}

/* What is behind the first zero byte is journal.other. */
static void write_journal(const uint8_t *bytes, size_t length)
{
    const uint8_t *end = length == 0 ? NULL : memchr(bytes, 0, length);
    const size_t first = end == NULL ? length : (size_t)(end - bytes);
    if (spool.state < 0) {
        must(mkdtemp(directory) != NULL && atexit(remove_directory) == 0);
        spool.state = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    write_file(0, bytes, first);
    write_file(1, end == NULL ? bytes : end + 1, end == NULL ? 0 : length - first - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char reason[REASON_BYTES];
    struct recorded_state state;
    write_journal(bytes, length);
    if (!journal_read(&state, reason))
        must_be_text(reason, sizeof reason);
    for (int i = 0; i < state.count; i++) {
        const struct recorded_reservation *reservation = &state.reservations[i];
        must_be_text(reservation->user, sizeof reservation->user);
        must_be_text(reservation->name, sizeof reservation->name);
        must_be_text(reservation->token, sizeof reservation->token);
        must_be_text(reservation->plugin, sizeof reservation->plugin);
        must(!reservation->attached || reservation->tid > 0);
    }
    journal_free(&state);
    return 0;
}
