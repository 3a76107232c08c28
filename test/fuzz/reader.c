/* Fuzzes the messages of a reader that its user has taken over. */
#include "../../libexec/broker/users/readers.c" /* NOLINT(bugprone-suspicious-include): the fuzzed function is static there */

#include "fuzz.h"
#include "units.h"

static struct user user = {.name = "somebody", .uid = 20017, .state = DIRECTORY_ADOPTED};

static void take_told(struct user *of, const char *name, struct snapshot *snapshot,
                      struct open_file json)
{
    const struct spec *spec = &snapshot->spec;
    must(of == &user && reservation_name_is_valid(name) && json.fd == -1);
    must(spec->runtime <= TIME_MAX && spec->period <= TIME_MAX && spec->deadline <= TIME_MAX &&
         spec->desired_runtime <= TIME_MAX);
    must(spec->runtime == 0 || spec_window(spec) == 0 || spec->runtime <= spec_window(spec));
    must(spec->priority >= 0 && spec->priority <= 99 && spec->attach >= 0 && snapshot->thread >= 0);
    must(!spec->dry_run || spec->attach == 0);
    must((snapshot->json.state == FILE_ABSENT) == (snapshot->json.stamp.inode == 0));
    must((snapshot->tid.state == FILE_READ) == (snapshot->thread != 0));
    must_be_text(snapshot->json.reason, sizeof snapshot->json.reason);
    must_be_text(snapshot->tid.reason, sizeof snapshot->tid.reason);
    spec_free(&snapshot->spec);
}

static void take_name(struct user *of, const char *name)
{
    must(of == &user && name != NULL);
}

static void take_reason(struct user *of, const char *name, const char *request, const char *reason)
{
    must(of == &user && name != NULL && request != NULL && reason != NULL);
}

static void take_user(struct user *of)
{
    must(of == &user);
}

static void take_scan(struct user *of, int64_t since)
{
    must(of == &user && since >= 0);
}

static void take_file(struct user *of, const char *name, bool is_json, const struct stamp *stamp)
{
    (void)is_json;
    must(of == &user && reservation_name_is_valid(name) && stamp->changed >= 0);
}

static void take_decision(struct user *of, const char *name, int64_t decided)
{
    must(of == &user && name != NULL && decided >= 0);
}

static void take_loss(struct user *of, const char *why)
{
    must(of == &user && why != NULL);
}

static void take_watch_of(struct user *of, const char *name, const struct watch_of *what)
{
    must(of == &user && name_is_valid(name, strlen(name), NAME_BYTES - 1));
    must((what->process > 0) + (what->program != NULL) + (what->group != NULL) == 1);
    must(what->program == NULL || strlen(what->program) < PROGRAM_PATH_BYTES);
    must(what->group == NULL || strlen(what->group) < PROGRAM_PATH_BYTES);
}

static void dispose(int fd)
{
    (void)fd;
}

static const struct reader_events events = {.dispose = dispose,
                                            .watch = take_watch_of,
                                            .unwatch = take_name,
                                            .files = take_told,
                                            .news = take_name,
                                            .odd = take_name,
                                            .overflow = take_user,
                                            .unwritten = take_reason,
                                            .scanning = take_scan,
                                            .seen_file = take_file,
                                            .seen_verdict = take_decision,
                                            .scanned = take_user,
                                            .lost = take_loss};

bool launcher_start_reader(int slot, uid_t uid, int socket, int directory, int inotify)
{
    (void)slot;
    (void)uid;
    (void)socket;
    (void)directory;
    (void)inotify;
    return false;
}

void launcher_end_reader(int slot)
{
    (void)slot;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct paragraph_input input;
    struct paragraph said;
    const char *why;
    int fd = -1;
    readers.tell = &events;
    reader_init(&user);
    user.reader.state = READER_RUNS;
    must(paragraph_feed(&input, bytes, length));
    while (paragraph_take(&input, &said, &why) == 1 && take_one(&user, &said, &fd))
        ;
    input.taken = input.length = 0;
    return 0;
}
