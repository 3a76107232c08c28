/* rtf-show(1): shows one reservation: the spec, the verdict, and the kernel's attributes of the
 * thread; or a program, with all its threads.
 *
 * The spec and the verdict are in the user's own directory, where the user may have put any file.
 * Root reads another user's files as that user (as-user.h). */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "as-user.h"
#include "command-line.h"
#include "request/grant-text.h"
#include "request/request.h"
#include "serving.h"
#include "thread-json.h"
#include "usage-look.h"

enum { FILE_MOST = 1 << 20, TEXT_MOST = 65536, FILE_NAME = CLIENT_NAME_MAX + sizeof ".verdict" };
static struct {
    const char *user;
    bool json;
} options;

static struct {
    const char *name;
    /* JSON null: there is no such file, or no thread. kernel: the attributes of the thread; an
     * array of them for a program */
    json_t *spec, *verdict, *kernel;
    bool current; /* the verdict answers the spec as it is now */
} shown;

/* ---- reading ---- */

/* Returns bytes that are no JSON as a string. If the bytes are no UTF-8, each byte above 127
 * becomes a question mark. */
static json_t *as_string(char *text, size_t length)
{
    length = length < TEXT_MOST ? length : TEXT_MOST;
    json_t *string = json_stringn(text, length);
    for (size_t i = 0; string == NULL && i < length; i++)
        if ((unsigned char)text[i] > 0x7f) /* char has no sign on some machines */
            text[i] = '?';
    return string != NULL ? string : json_stringn(text, length);
}

/* Returns the first JSON value in the text; a text that is no JSON becomes a string. */
static json_t *parse(char *text, size_t length)
{
    json_t *value = json_loadb(text, length, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
    return value != NULL ? value : as_string(text, length);
}

static size_t read_all(int fd, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got = 0;
    while (length < size &&
           ((got = read(fd, text + length, size - length)) > 0 || (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    return length;
}

/* Returns JSON null if there is no such regular file. O_NONBLOCK: a lease or a FIFO must not make
 * this process wait. */
static json_t *read_value(int directory, const char *file, struct stat *status)
{
    static char text[FILE_MOST];
    const int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return json_null();
    json_t *value = fstat(fd, status) == 0 && S_ISREG(status->st_mode)
                        ? parse(text, read_all(fd, text, sizeof text))
                        : json_null();
    close(fd);
    return value;
}

/* True if the stamp has the inode of this file and its present change time. */
static bool is_stamped(const json_t *stamp, const struct stat *status)
{
    char changed[40];
    const char *text = client_string(stamp, "changed");
    snprintf(changed, sizeof changed, "%lld.%09ld", (long long)status->st_ctim.tv_sec,
             status->st_ctim.tv_nsec);
    return text != NULL && strcmp(text, changed) == 0 &&
           json_integer_value(json_object_get(stamp, "inode")) == (json_int_t)status->st_ino;
}

static json_t *comm_of(pid_t tid)
{
    char path[48], comm[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = fd < 0 ? 0 : read_all(fd, comm, sizeof comm);
    if (fd >= 0)
        close(fd);
    length -= length > 0 && comm[length - 1] == '\n';
    return as_string(comm, length);
}

/* Adds the CPU time and the waiting time since the thread began, in us. */
static void add_times(json_t *kernel, pid_t tid)
{
    struct look_files files;
    struct look look;
    const bool is_known = look_open(&files, tid) && look_read(&files, &look);
    json_object_set_new(kernel, "used",
                        is_known ? json_integer((json_int_t)(look.ran / 1000)) : json_null());
    json_object_set_new(kernel, "waited",
                        is_known ? json_integer((json_int_t)(look.waited / 1000)) : json_null());
    json_object_set_new(kernel, "throttled",
                        is_known && look.deadline != 0 ? json_boolean(look.left <= 0)
                                                       : json_null());
    look_close(&files);
}

/* Returns JSON null if there is no such thread. */
static json_t *look_at_thread(const json_t *tid)
{
    struct identity identity;
    struct attributes attributes;
    const json_int_t number = json_integer_value(tid);
    if (number <= 0 || number > INT32_MAX || !thread_look_at((pid_t)number, &identity, &attributes))
        return json_null();
    json_t *kernel = thread_as_json(&identity, &attributes);
    json_object_set_new(kernel, "comm", comm_of((pid_t)number));
    add_times(kernel, (pid_t)number);
    return kernel;
}

static const json_t *rows(void)
{
    const json_t *threads = json_object_get(shown.verdict, "threads");
    return json_is_array(threads) ? threads : NULL;
}

static json_t *look_at_rows(void)
{
    json_t *kernels = json_array(), *row;
    size_t i;
    json_array_foreach((json_t *)rows(), i, row)
        json_array_append_new(kernels, look_at_thread(json_object_get(row, "tid")));
    return kernels;
}

static void look(const struct request *request)
{
    char file[FILE_NAME];
    struct stat spec = {0}, verdict = {0};
    const struct client *client = &request->client;
    snprintf(file, sizeof file, "%s.json", shown.name);
    shown.spec = request->is_entered ? read_value(client->directory, file, &spec) : json_null();
    snprintf(file, sizeof file, "%s.verdict", shown.name);
    shown.verdict =
        request->is_entered ? read_value(client->directory, file, &verdict) : json_null();
    if (!request->is_entered)
        command_fail(EX_NOINPUT, "there is no spec %s", shown.name);
    if (json_is_null(shown.spec) && json_is_null(shown.verdict))
        command_fail(EX_NOINPUT, "there is no spec %s in %s/specs/%s", shown.name, client->spool,
                     client->user);
    shown.current = is_stamped(json_object_get(shown.verdict, "spec"), &spec);
    shown.kernel =
        rows() != NULL
            ? look_at_rows()
            : look_at_thread(json_object_get(json_object_get(shown.verdict, "thread"), "tid"));
}

/* ---- as lines ---- */

/* Opens a text for writing. fclose(3) completes the text, which the caller frees. */
static FILE *open_text(char **text)
{
    static size_t length;
    FILE *stream = open_memstream(text, &length);
    if (stream == NULL)
        command_fail(EX_OSERR, "no memory");
    return stream;
}

/* Prints a line, and frees the text. A character other than printable ASCII becomes \uXXXX: the
 * user may have written escape sequences. */
static void print_line(const char *left, char *text)
{
    char piece[CLIENT_PIECE];
    printf("%-12s", left);
    for (const char *at = text; *at != '\0';) {
        client_escape(&at, piece);
        fputs(piece, stdout);
    }
    putchar('\n');
    free(text);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = client_string(object, key);
    return text == NULL ? "-" : text;
}

static bool is_time(const char *key)
{
    static const char *const keys[] = {"runtime",         "period",  "deadline",
                                       "desired_runtime", "expires", "blocking"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static void write_value(FILE *stream, const char *key, const json_t *value)
{
    char time[TIME_TEXT];
    if (json_is_string(value))
        fputs(json_string_value(value), stream);
    else if (json_is_integer(value) && is_time(key))
        fputs(time_text(value, time), stream);
    else
        json_dumpf(value, stream, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static char *asked(void)
{
    char *text;
    const char *key, *between = "";
    json_t *value;
    FILE *stream = open_text(&text);
    if (!json_is_object(shown.spec))
        fputs("(the file is not one JSON object)", stream);
    json_object_foreach(shown.spec, key, value)
    {
        if (strcmp(key, "token") == 0)
            continue;
        fprintf(stream, "%s%s=", between, key);
        write_value(stream, key, value);
        between = " ";
    }
    fclose(stream);
    return text;
}

static char *thread_text(const json_t *thread)
{
    char *text;
    FILE *stream = open_text(&text);
    if (json_is_object(thread)) {
        fprintf(stream, "%lld", (long long)json_integer_value(json_object_get(thread, "tid")));
        if (json_is_object(shown.kernel))
            fprintf(stream, " (%s)", text_of(shown.kernel, "comm"));
        fprintf(stream, ", %s", text_of(thread, "state"));
    } else
        fputs("none", stream);
    fclose(stream);
    return text;
}

/* "deadline, 2ms of each 20ms, CPUs 0-3" */
static void write_kernel(FILE *stream, const json_t *kernel)
{
    char time[TIME_TEXT];
    const char *policy = text_of(kernel, "policy");
    fputs(policy, stream);
    if (strcmp(policy, "deadline") == 0) {
        fprintf(stream, ", %s", time_text(json_object_get(kernel, "runtime"), time));
        fprintf(stream, " of each %s", time_text(json_object_get(kernel, "period"), time));
        if (!json_equal(json_object_get(kernel, "deadline"), json_object_get(kernel, "period")))
            fprintf(stream, " within %s", time_text(json_object_get(kernel, "deadline"), time));
    } else if (json_integer_value(json_object_get(kernel, "priority")) > 0)
        fprintf(stream, ", priority %lld",
                (long long)json_integer_value(json_object_get(kernel, "priority")));
    fprintf(stream, ", CPUs %s", text_of(kernel, "cpus"));
}

static char *kernel_text(const json_t *kernel)
{
    char *text;
    FILE *stream = open_text(&text);
    if (json_is_object(kernel))
        write_kernel(stream, kernel);
    else
        fputs("the thread has ended", stream);
    fclose(stream);
    return text;
}

static double seconds(const json_t *kernel, const char *key)
{
    return (double)json_integer_value(json_object_get(kernel, key)) / 1e6;
}

/* "1.204s of CPU time; 0.310s ready or throttled", or nothing. */
static void print_times(const json_t *kernel)
{
    char *text;
    if (!json_is_integer(json_object_get(kernel, "used")))
        return;
    FILE *stream = open_text(&text);
    fprintf(stream, "%.3fs of CPU time; %.3fs ready or throttled%s", seconds(kernel, "used"),
            seconds(kernel, "waited"),
            json_is_true(json_object_get(kernel, "throttled")) ? "; now throttled" : "");
    fclose(stream);
    print_line("used", text);
}

static char *answer_text(void)
{
    char *text;
    FILE *stream = open_text(&text);
    if (json_is_object(shown.verdict))
        fprintf(stream, "%s to %s%s, %s", text_of(shown.verdict, "result"),
                text_of(shown.verdict, "request"), shown.current ? "" : ", before the last change",
                text_of(shown.verdict, "time"));
    else
        fputs("none yet", stream);
    fclose(stream);
    return text;
}

static void print_reply(const json_t *reply)
{
    char *text;
    const char *answer = text_of(reply, "answer"), *reason = client_string(reply, "reason");
    if (strcmp(answer, "ok") == 0)
        return;
    FILE *stream = open_text(&text);
    fprintf(stream, "%s: %s%s%s", text_of(reply, "plugin"), answer, reason != NULL ? ", " : "",
            reason != NULL ? reason : "");
    fclose(stream);
    print_line("", text);
}

static void print_refusal(void)
{
    const json_t *replies = json_object_get(shown.verdict, "replies");
    if (json_is_object(json_object_get(shown.verdict, "refusal"))) {
        char why[CLIENT_WHY];
        client_tell_refusal(shown.verdict, why);
        printf("%-12s%s\n", "", why);
    }
    for (size_t i = 0; i < json_array_size(replies); i++)
        print_reply(json_array_get(replies, i));
}

/* ---- a program ---- */

/* "4243 (camera-1), attached, rule 1: EDF grants 1ms of each 20ms on CPUs 0-1, 0.05 of a CPU" */
static char *row_text(const json_t *row)
{
    char *text, granted[GRANT_TEXT], why[CLIENT_WHY];
    const json_t *thread = json_object_get(row, "thread"), *grant = json_object_get(row, "grant");
    FILE *stream = open_text(&text);
    fprintf(stream, "%lld (%s)", (long long)json_integer_value(json_object_get(row, "tid")),
            text_of(row, "name"));
    if (json_is_object(thread))
        fprintf(stream, ", %s", text_of(thread, "state"));
    fprintf(stream, ", rule %lld", (long long)json_integer_value(json_object_get(row, "rule")));
    if (json_is_object(grant))
        fprintf(stream, ": %s", grant_text(grant, granted));
    if (json_is_object(json_object_get(row, "refusal"))) {
        client_tell_refusal(row, why);
        fprintf(stream, ": %s", why);
    }
    fclose(stream);
    return text;
}

static char *program_text(void)
{
    char *text;
    const json_t *program = json_object_get(shown.verdict, "program"),
                 *process = json_object_get(program, "process"),
                 *granted = json_object_get(json_object_get(shown.verdict, "grant"), "threads");
    FILE *stream = open_text(&text);
    if (json_is_integer(granted))
        fprintf(stream, "%lld thread%s", (long long)json_integer_value(granted),
                json_integer_value(granted) == 1 ? "" : "s");
    else
        fputs("nothing", stream);
    if (json_is_integer(process))
        fprintf(stream, ", process %lld", (long long)json_integer_value(process));
    fprintf(stream, ", %s", text_of(program, "state"));
    fclose(stream);
    return text;
}

static void print_program(void)
{
    const json_t *row;
    size_t i;
    puts(shown.name);
    print_line("asked", asked());
    print_line("granted", program_text());
    json_array_foreach((json_t *)rows(), i, row)
    {
        print_line("thread", row_text(row));
        print_line("kernel", kernel_text(json_array_get(shown.kernel, i)));
        print_times(json_array_get(shown.kernel, i));
    }
    print_line("answer", answer_text());
    print_refusal();
}

static void print_reservation(void)
{
    char granted[GRANT_TEXT];
    const json_t *thread = json_object_get(shown.verdict, "thread"),
                 *grant = json_object_get(shown.verdict, "grant");
    puts(shown.name);
    print_line("asked", asked());
    printf("%-12s%s\n", "granted", json_is_object(grant) ? grant_text(grant, granted) : "nothing");
    print_line("thread", thread_text(thread));
    if (json_is_object(thread)) {
        print_line("kernel", kernel_text(shown.kernel));
        print_times(shown.kernel);
    }
    print_line("answer", answer_text());
    print_refusal();
}

/* ---- as JSON, in printable ASCII ---- */

static void print_json(void)
{
    json_t *all =
        json_pack("{s:s, s:b, s:O, s:O, s:O}", "name", shown.name, "current", shown.current, "spec",
                  shown.spec, "verdict", shown.verdict, "kernel", shown.kernel);
    json_dumpf(all, stdout, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(all);
}

/* ---- the command line ---- */

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "user") == 0)
        options.user = value;
    else if (strcmp(name, "json") == 0)
        options.json = true;
}

static const struct command_option option_table[] = {
    {0, "user", "USER", "Show a reservation of that user (root only)"},
    {0, "json", NULL, "Print spec, verdict and thread as one JSON object"},
    {0}};

static const char *take_name(char **operands)
{
    if (operands[0] == NULL)
        command_misused("the name of the reservation is missing");
    if (operands[1] != NULL)
        command_misused("only one NAME is allowed");
    return command_name(operands[0]);
}

static void show_as_user(void)
{
    const char *words[AS_USER_WORDS] = {shown.name, options.json ? "--json" : NULL};
    as_user(options.user, NULL, false, words);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "show",
        .about = "Show one reservation: what was asked, what is granted, and what runs.",
        .operands = "NAME",
        .options = option_table,
        .take = take};
    struct request request;
    char text[CLIENT_WHY];
    shown.name = take_name(command_parse(&command, argc, argv, NULL));
    if (options.user != NULL && options.user[0] != '\0')
        show_as_user();
    request_open(&request, command_spool(), 0, false);
    look(&request);
    if (serving(request.client.root) == NOT_SERVED)
        command_say("%s; this was in force when the last broker ended",
                    client_tell_no_broker(command_spool(), text));
    if (options.json)
        print_json();
    else if (rows() != NULL)
        print_program();
    else
        print_reservation();
    if (!command_is_written())
        command_unwritten();
    request_close(&request);
    return EX_OK;
}
