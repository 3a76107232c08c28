/* rtf-oci(8): a hook of the runtimes runc and crun (OCI). rtf-oci acts as the user of the
 * container's first process, and reserves for this process what the container's annotations ask
 * for. The runtime passes the state of the container on standard input, as JSON.
 *
 *     rtf-oci [--spool DIR] createRuntime|poststart
 *
 * At the stage createRuntime the process waits, and mostly does not run as the user yet. So this
 * stage only reserves, with a lease, and a refusal ends the container. At the stage poststart the
 * process runs as the user. This stage attaches the process, and the reservation then lasts as long
 * as the process.
 *
 * Attack surface: the annotations are words of the user. They reach rtf(1) only as options of known
 * names, with values of letters, digits and _ . : @ -. rtf-as-user runs rtf(1) as the user. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "thread.h"

#define LEASE    "60s" /* the most time from the reservation to the start of the program */
#define PATIENCE "10s"

/* STATE_MOST, MESSAGE_MOST, WORD_MOST: bytes of standard input, of a message of rtf(1), and of a
 * user's word */
enum { STATE_MOST = 1 << 20, MESSAGE_MOST = 4096, WORD_MOST = 64, WORDS_MOST = 40 };

static const struct {
    const char *annotation, *option;
} known[] = {{"rtf.runtime", "--runtime"},   {"rtf.period", "--period"},
             {"rtf.deadline", "--deadline"}, {"rtf.desired", "--desired-runtime"},
             {"rtf.priority", "--priority"}, {"rtf.plugin", "--plugin"}};
enum { KNOWN = sizeof known / sizeof *known };

static const char *spool = RTF_SPOOL;

static struct {
    char name[CLIENT_NAME_MAX + 1]; /* the name of the spec */
    pid_t process;
    char id[16];            /* the process as text */
    int pidfd;              /* -1: the process has ended, and has been waited for */
    json_t *state, *config; /* config.json of the bundle */
    char options[KNOWN][WORD_MOST + 32];
    const char *needs[KNOWN + 1]; /* the options; NULL ends them */
    uid_t uid;                    /* the user of the process, as this process sees it */
} box;

static char said[MESSAGE_MOST]; /* the output of the last command */

__attribute__((format(printf, 2, 3))) static _Noreturn void fail(int status, const char *format,
                                                                 ...)
{
    va_list values;
    va_start(values, format);
    fputs("rtf-oci: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(status);
}

/* ---- the state, and the annotations ---- */

/* Returns the state. Most containers have no annotation of rtf. Then this program ends here. */
static json_t *read_state(void)
{
    static char text[STATE_MOST];
    size_t length = 0;
    ssize_t got;
    while ((got = read(STDIN_FILENO, text + length, sizeof text - length)) > 0)
        length += (size_t)got;
    if (got < 0)
        fail(EX_IOERR, "the state of the container cannot be read: %s", strerror(errno));
    if (memmem(text, length, "\"rtf.", 5) == NULL)
        exit(EX_OK);
    json_t *state = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(state))
        fail(EX_DATAERR, "the state of the container on standard input is no JSON object");
    return state;
}

static const char *option_of(const char *annotation)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known[i].annotation, annotation) == 0)
            return known[i].option;
    char shown[WORD_MOST * 2];
    fail(
        EX_DATAERR,
        "there is no annotation %s, only rtf.runtime, rtf.period, rtf.deadline, rtf.desired, rtf.priority and rtf.plugin",
        client_printable(annotation, shown, sizeof shown));
}

static bool is_word(const char *text)
{
    const size_t length = text == NULL ? 0 : strlen(text);
    return length > 0 && length <= WORD_MOST &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@-") ==
               length;
}

/* True: the container is the sandbox of a pod of Kubernetes. The sandbox can have the annotations
 * of the pod, but needs no reservation. */
static bool is_sandbox(const json_t *annotations)
{
    static const char *const kinds[] = {"io.kubernetes.cri.container-type",
                                        "io.kubernetes.cri-o.ContainerType"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *kind = client_string(annotations, kinds[i]);
        if (kind != NULL && strcmp(kind, "sandbox") == 0)
            return true;
    }
    return false;
}

/* Fills box.needs. This program ends if there is no annotation of rtf. */
static void take_annotations(void)
{
    json_t *annotations = json_object_get(box.state, "annotations"), *value;
    const char *key;
    size_t count = 0;
    json_object_foreach(annotations, key, value)
    {
        if (strncmp(key, "rtf.", 4) != 0)
            continue;
        const char *option = option_of(key), *word = json_string_value(value);
        if (!is_word(word))
            fail(EX_DATAERR, "the annotation %s has a value that is not a word, such as 5ms", key);
        snprintf(box.options[count], sizeof box.options[count], "%s=%s", option, word);
        box.needs[count] = box.options[count];
        count++;
    }
    if (count == 0 || is_sandbox(annotations))
        exit(EX_OK);
}

/* Makes the name of the spec from the container's id, which can have characters that the name of a
 * spec cannot have. */
static void choose_name(const char *container)
{
    snprintf(box.name, sizeof box.name, "oci-%.60s", container);
    for (char *at = box.name; *at != '\0'; at++)
        if (!is_word((const char[]){*at, '\0'}))
            *at = '_';
}

static void take_state(void)
{
    char path[PATH_MAX];
    box.state = read_state();
    const char *container = client_string(box.state, "id");
    const char *bundle = client_string(box.state, "bundle");
    const json_int_t process = json_integer_value(json_object_get(box.state, "pid"));
    if (container == NULL || bundle == NULL || process < 1 || process > INT32_MAX)
        fail(EX_DATAERR, "the state of the container on standard input has no id, pid or bundle");
    take_annotations();
    choose_name(container);
    box.process = (pid_t)process;
    snprintf(box.id, sizeof box.id, "%d", (int)process);
    box.pidfd = thread_open(box.process);
    if (snprintf(path, sizeof path, "%s/config.json", bundle) < (int)sizeof path)
        box.config = json_load_file(path, 0, NULL);
    if (!json_is_object(box.config))
        fail(EX_NOINPUT, "config.json of the container's bundle cannot be read");
}

/* ---- the user ---- */

/* Sets the user's uid outside the container, if this line of the uid map has the user. A line maps
 * `count` uids. */
static bool map_uid(uint64_t user, uint64_t inside, uint64_t outside, uint64_t count)
{
    if (user < inside || user - inside >= count)
        return false;
    box.uid = (uid_t)(outside + user - inside);
    return true;
}

/* Asks the kernel for the uid map, with uids as this process sees them. */
static bool map_by_kernel(uint64_t user, bool *is_there)
{
    char path[64];
    unsigned long inside, outside, count;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/uid_map", box.id);
    FILE *map = fopen(path, "re");
    *is_there = map != NULL;
    while (map != NULL && !found && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
        found = map_uid(user, inside, outside, count);
    if (map != NULL)
        fclose(map);
    return found;
}

/* Reads the uid map in config.json, for a process that has ended and has been waited for. */
static bool map_by_config(uint64_t user)
{
    const json_t *maps = json_object_get(json_object_get(box.config, "linux"), "uidMappings"), *map;
    size_t at;
    json_array_foreach(maps, at, map)
    {
        if (map_uid(user, (uint64_t)json_integer_value(json_object_get(map, "containerID")),
                    (uint64_t)json_integer_value(json_object_get(map, "hostID")),
                    (uint64_t)json_integer_value(json_object_get(map, "size"))))
            return true;
    }
    return json_array_size(maps) == 0 && map_uid(user, 0, 0, UINT32_MAX);
}

/* Sets box.uid, the user of the process after its start. Containers of root get nothing, because no
 * rule bounds root, the owner of the spool. */
static void find_user(void)
{
    const json_t *process = json_object_get(box.config, "process");
    const json_int_t user =
        json_integer_value(json_object_get(json_object_get(process, "user"), "uid"));
    bool is_there;
    struct stat status;
    if (!map_by_kernel((uint64_t)user, &is_there) && (is_there || !map_by_config((uint64_t)user)))
        fail(EX_DATAERR, "the container maps its uid %lld to no user here", (long long)user);
    if (stat(spool, &status) != 0)
        fail(EX_UNAVAILABLE, "there is no spool %s: %s", spool, strerror(errno));
    if (box.uid == status.st_uid)
        fail(
            EX_NOPERM,
            "the process of this container runs as root, and rules do not bound root: give the process another user (podman run --user), or a user namespace");
}

static bool has_ended(void)
{
    return box.pidfd < 0 || thread_has_ended(box.pidfd);
}

/* True if all uids of the process are the user's, so that it cannot go back to another uid. */
static bool is_of_user(void)
{
    struct identity identity;
    return thread_owner(box.pidfd, box.process, &identity) && identity.real_uid == box.uid &&
           identity.effective_uid == box.uid && identity.saved_uid == box.uid &&
           identity.files_uid == box.uid;
}

/* ---- commands of rtf(1) ---- */

/* Starts the program with its output in the pipe. */
static pid_t start(char *const words[], int pipe)
{
    posix_spawn_file_actions_t files;
    pid_t child = -1;
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    if (posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&files, pipe, 1) != 0 ||
        posix_spawn_file_actions_adddup2(&files, pipe, 2) != 0 ||
        posix_spawn(&child, words[0], &files, NULL, words, environ) != 0)
        child = -1;
    posix_spawn_file_actions_destroy(&files);
    return child;
}

/* Runs the program, sets `said` to its output, and returns its exit status. */
static int run(char *const words[])
{
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t got;
    char rest[256];
    const pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? start(words, ends[1]) : -1;
    if (child < 0)
        fail(EX_OSERR, "%s: %s", words[0], strerror(errno));
    close(ends[1]);
    while (length < sizeof said - 1 &&
           (got = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)got;
    while (read(ends[0], rest, sizeof rest) > 0)
        ;
    close(ends[0]);
    said[length] = '\0';
    said[length - (length > 0 && said[length - 1] == '\n')] = '\0';
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return EX_OSERR;
    return WEXITSTATUS(status);
}

/* Returns the new number of words. NULL ends `more`. */
static size_t append(const char *words[], size_t count, const char *const more[])
{
    for (; more != NULL && *more != NULL; more++)
        words[count++] = *more;
    return count;
}

/* Writes the directory of this program. The other programs of rtf are in the same directory. */
static void find_directory(char directory[static PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    directory[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        fail(EX_OSERR, "/proc/self/exe cannot be read");
    *slash = '\0';
}

/* Runs a command of rtf(1) for box.name, as the user. NULL ends `needs` and `more`. */
static int as_user(const char *command, const char *const needs[], const char *const more[])
{
    char directory[PATH_MAX], program[PATH_MAX + 32], helper[PATH_MAX + 32], uid[16];
    const char *words[WORDS_MOST];
    size_t count = 0;
    find_directory(directory);
    snprintf(program, sizeof program, "%s/front/rtf-%s", directory, command);
    snprintf(helper, sizeof helper, "%s/rtf-as-user", directory);
    snprintf(uid, sizeof uid, "%u", box.uid);
    if (box.uid != geteuid())
        count = append(words, count, (const char *[]){helper, "--spool", spool, "--", uid, NULL});
    count =
        append(words, count,
               (const char *[]){program, "--spool", spool, "--timeout", PATIENCE, box.name, NULL});
    count = append(words, count, needs);
    words[append(words, count, more)] = NULL;
    return run((char *const *)words);
}

/* Makes the spec. If a spec of this name exists, it is of an earlier start of this container. */
static int declare_anew(const char *const more[])
{
    const int status = as_user("declare", box.needs, more);
    if (status != EX_CANTCREAT)
        return status;
    (void)as_user("release", NULL, (const char *[]){NULL});
    return as_user("declare", box.needs, more);
}

static int declare_attached(void)
{
    return declare_anew((const char *[]){"--attach", box.id, "--lifetime", "thread", NULL});
}

/* ---- the stages ---- */

static _Noreturn void fail_said(int status)
{
    const char *sentence = strncmp(said, "rtf ", 4) == 0 ? strstr(said, ": ") : NULL;
    if (said[0] == '\0')
        fail(status, "a command of rtf ended without a word");
    fail(status, "%s", sentence == NULL ? said : sentence + 2);
}

static void create_runtime(void)
{
    const int status = is_of_user() ? declare_attached()
                                    : declare_anew((const char *[]){"--expires", LEASE, NULL});
    if (status != EX_OK)
        fail_said(status);
}

/* Ends the lease. */
static void forget(void)
{
    (void)as_user("release", NULL, (const char *[]){NULL});
}

/* Changes the lease to a reservation for the process. */
static int change(void)
{
    json_t *key = client_thread_key(box.process);
    char *thread = json_dumps(key, JSON_ENCODE_ANY | JSON_COMPACT), attach[128];
    snprintf(attach, sizeof attach, "attach=%s", thread == NULL ? box.id : thread);
    free(thread);
    json_decref(key);
    return as_user("change", NULL, (const char *[]){attach, "lifetime=thread", "expires=", NULL});
}

/* Asks again if the lease is over. */
static void poststart(void)
{
    char sentence[MESSAGE_MOST];
    int status = has_ended() ? EX_NOINPUT : change();
    if (status == EX_NOINPUT && !has_ended())
        status = declare_attached();
    if (status == EX_OK)
        return;
    memcpy(sentence, said, sizeof sentence);
    forget();
    memcpy(said, sentence, sizeof said);
    if (!has_ended())
        fail_said(status);
}

int main(int argc, char **argv)
{
    client_hold_standard_fds();
    if (argc > 2 && strcmp(argv[1], "--spool") == 0) {
        spool = argv[2];
        argv += 2;
        argc -= 2;
    }
    const char *stage = argc == 2 ? argv[1] : "";
    const bool begins = strcmp(stage, "createRuntime") == 0;
    if (!begins && strcmp(stage, "poststart") != 0)
        fail(EX_USAGE, "usage: rtf-oci [--spool DIR] createRuntime|poststart <STATE");
    take_state();
    find_user();
    if (begins)
        create_runtime();
    else
        poststart();
    return EX_OK;
}
