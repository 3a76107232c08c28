/* Fuzzes the journal, the broker's own file, as after a crash, a full disk, or a restore from
 * another machine. */
#include "../../libexec/broker/reservations/journal.c" /* NOLINT(bugprone-suspicious-include): the fuzzed function is static there */

#include <sys/stat.h>

#include "fuzz.h"

struct spool spool = {.state = -1};
const char place_journal[] = "journal", place_journal_new[] = "journal.new";

const char *place_path(void)
{
    return "/run/rtf/0-0";
}

static char directory[] = "/dev/shm/rtf-fuzz.XXXXXX";

static void remove_directory(void)
{
    (void)unlinkat(spool.state, place_journal, 0);
    (void)rmdir(directory);
}

static void write_journal(const uint8_t *bytes, size_t length)
{
    static int file = -1;
    if (file < 0) {
        must(mkdtemp(directory) != NULL && atexit(remove_directory) == 0);
        spool.state = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file = openat(spool.state, place_journal, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        must(file >= 0);
    }
    must(ftruncate(file, 0) == 0 && pwrite(file, bytes, length, 0) == (ssize_t)length);
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
