/* rtf-what-if(1): puts a dry run into the spool, waits for the answer, and removes the dry run.
 * Root asks for another user with that user's rights (as-user.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include "as-user.h"
#include "command-line.h"
#include "needs-rules.h"
#include "needs.h"
#include "request/grant-text.h"
#include "request/request.h"

struct options {
    struct needs needs;
    const char *file, *user, *timeout_text; /* user of --for; NULL or "": the caller */
    uint64_t timeout;                       /* us */
    bool json, verbose;
};

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {'f', "file", "FILE", "Start from the spec in this file; - is standard input"},
    {0, "for", "USER", "Ask as this user (root only)"},
    {0, "timeout", "TIME", "Wait no longer than this (default: 30s)"},
    {0, "json", NULL, "Print the answer, one line of JSON"},
    {'v', "verbose", NULL, "Print also each rule of acl.conf(5) that applies"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "file") == 0)
        options->file = value;
    else if (strcmp(name, "for") == 0)
        options->user = value;
    else if (strcmp(name, "timeout") == 0) {
        options->timeout = command_wait("--timeout", value);
        options->timeout_text = value;
    } else if (strcmp(name, "json") == 0)
        options->json = true;
    else if (strcmp(name, "verbose") == 0)
        options->verbose = true;
    else
        (void)needs_take(&options->needs, name, value);
}

static json_t *make_spec(struct options *options)
{
    json_t *spec = needs_read_spec(options->file);
    if (needs_rules_are_in(spec))
        command_fail(EX_DATAERR, "a file with rules for threads: ask for each rule by itself, "
                                 "with its keys as the spec or as options");
    (void)json_object_del(spec, "attach");
    (void)json_object_del(spec, "lifetime");
    needs_lay_over(&options->needs, spec);
    json_object_set_new(spec, "dry_run", json_true());
    return spec;
}

/* ---- for another user ---- */

/* Makes the spec the standard input of this process: rtf-as-user passes standard input on. */
static void make_input(const json_t *spec)
{
    const int fd = memfd_create("spec", MFD_CLOEXEC);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (stream == NULL || json_dumpf(spec, stream, JSON_COMPACT) != 0 || fflush(stream) != 0 ||
        lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) < 0)
        command_fail(EX_OSERR, "cannot pass the spec on: %s", strerror(errno));
}

__attribute__((noreturn)) static void ask_as_user(const struct options *options, const json_t *spec)
{
    const char *words[AS_USER_WORDS] = {"--timeout", options->timeout_text, "-f", "-"};
    size_t count = 4;
    if (options->json)
        words[count++] = "--json";
    if (options->verbose)
        words[count++] = "-v";
    make_input(spec);
    as_user(options->user, options->timeout_text, true, words);
}

/* ---- the answer ---- */

/* "EDF would grant 2ms of each 20ms on CPUs 0-1, 0.1 of a CPU" */
static void print_grant(const json_t *grant)
{
    static const char verb[] = " grants ";
    char text[GRANT_TEXT];
    const char *at = strstr(grant_text(grant, text), verb);
    if (at == NULL)
        puts(text);
    else
        printf("%.*s would grant %s\n", (int)(at - text), text, at + sizeof verb - 1);
}

static const char *word(const json_t *rule, const char *key)
{
    const char *text = client_string(rule, key);
    return text == NULL ? "-" : text;
}

static void print_rule(const json_t *rule)
{
    char line[1024], text[sizeof line], sums[160] = "";
    const char *used = client_string(rule, "used");
    if (used != NULL)
        snprintf(sums, sizeof sums, " (%.64s used, %.64s asked)", used, word(rule, "asked"));
    snprintf(line, sizeof line, "%.64s: acl.conf:%lld: %.512s: %.128s%s", word(rule, "plugin"),
             (long long)json_integer_value(json_object_get(rule, "line")), word(rule, "text"),
             word(rule, "says"), sums);
    puts(client_printable(line, text, sizeof text));
}

static void tell_why_not(const struct request *request)
{
    const char *code = client_string(json_object_get(request->verdict.json, "refusal"), "code");
    char join[CLIENT_WHY];
    if (code != NULL && strcmp(code, "not-a-member") == 0)
        command_say("%s: %s", request->sentence, client_tell_join(&request->client, join));
    else
        command_say("%s", request->sentence);
}

static void print(const struct request *request, const struct options *options)
{
    const json_t *rules = json_object_get(request->verdict.json, "rules");
    if (options->json)
        (void)request_print(request);
    else if (request->status == EX_OK)
        print_grant(json_object_get(request->verdict.json, "would_grant"));
    for (size_t i = 0; !options->json && options->verbose && i < json_array_size(rules); i++)
        print_rule(json_array_get(rules, i));
    if (!command_is_written())
        command_unwritten();
    if (request->status != EX_OK)
        tell_why_not(request);
}

/* The dry run has a name that the user does not choose. A killed rtf-what-if with the same process
 * id, or another program, may have a spec of this name. Then the token, 64 random bits, makes
 * another name. */
static void put(struct request *request, json_t *spec)
{
    static char name[CLIENT_NAME_MAX + 1];
    snprintf(name, sizeof name, "what-if-%d", (int)getpid());
    if (request_put(request, name, spec))
        return;
    snprintf(name, sizeof name, "what-if-%d-%s", (int)getpid(), request->token);
    if (!request_put(request, name, spec))
        command_fail(EX_CANTCREAT, "%s exists already", name);
}

static void ask(struct request *request, const struct options *options, json_t *spec)
{
    request_open(request, command_spool(), options->timeout, true);
    if (request_connect(request)) {
        request_hold_signals(request);
        put(request, spec);
        (void)request_wait(request);
        request_withdraw(request);
        /* a signal that has come since request_hold_signals ends this process here */
        request_let_signals(request);
    }
    print(request, options);
}

int main(int argc, char **argv)
{
    static const struct command command = {.name = "what-if",
                                           .about =
                                               "Ask what would be granted, and reserve nothing.",
                                           .operands = "[OPTION...]",
                                           .options = table,
                                           .needs = needs_options,
                                           .take = take};
    struct options options = {.timeout = REQUEST_TIMEOUT, .timeout_text = "30s"};
    struct request request;
    command_end_of_line(command_parse(&command, argc, argv, &options));
    if (!needs_are_stated(&options.needs) && options.file == NULL)
        command_misused("say what is needed: -T, -P and so on, or -f FILE");
    json_t *spec = make_spec(&options);
    if (options.user != NULL && options.user[0] != '\0')
        ask_as_user(&options, spec);
    ask(&request, &options, spec);
    json_decref(spec);
    request_close(&request);
    return request.status;
}
