/* rtf-wait(1): waits for the broker's answer to a spec, and prints it. --for waits until a
 * reservation is granted, has ended, or would be granted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "client.h"
#include "options.h"
#include "room.h"

enum { KEY_TOKEN = 256, KEY_TIMEOUT, KEY_SPOOL, KEY_FOR };
enum goal { FOR_ANSWER, FOR_GRANTED, FOR_ENDED, FOR_ROOM, GOALS };

struct options {
    const char *token, *spool;
    enum goal goal;
    uint64_t timeout; /* us; 0: none */
    char name[CLIENT_NAME_MAX + 1];
};

const char *argp_program_version = "rtf-wait " RTF_VERSION;

static const char *const goals[GOALS] = {
    [FOR_ANSWER] = "answer", [FOR_GRANTED] = "granted", [FOR_ENDED] = "ended", [FOR_ROOM] = "room"};

static const struct argp_option option_table[] = {
    {"for", KEY_FOR, "WHAT", 0,
     "answer (the default), granted, ended, or room: until there is room for it", 0},
    {"token", KEY_TOKEN, "TEXT", 0, "Wait for the answer to the spec with this token", 0},
    {"timeout", KEY_TIMEOUT, "TIME", 0, "Wait no longer than this: 800us, 5ms, 1h", 0},
    {"spool", KEY_SPOOL, "DIR", 0, "The spool (default: " RTF_SPOOL ")", 0},
    {0}};

static void take_time(struct argp_state *state, const char *text, uint64_t *time)
{
    const char *wrong = client_take_wait(text, time);
    if (wrong != NULL)
        argp_failure(state, EX_USAGE, 0, "--timeout %s: %s", text, wrong);
}

static void take_goal(struct argp_state *state, const char *text, enum goal *goal)
{
    for (*goal = FOR_ANSWER; *goal < GOALS; (*goal)++)
        if (strcmp(text, goals[*goal]) == 0)
            return;
    argp_failure(state, EX_USAGE, 0, "--for %s: must be answer, granted, ended or room", text);
}

/* Copies the name of a spec from the operand, which is NAME, or NAME.json, as a shell completes the
 * name of the file. */
static void take_name(struct argp_state *state, const char *text,
                      char name[static CLIENT_NAME_MAX + 1])
{
    static const char suffix[] = ".json";
    size_t length = strlen(text), tail = sizeof suffix - 1;
    if (length > tail && strcmp(text + length - tail, suffix) == 0)
        length -= tail;
    if (name[0] != '\0')
        argp_error(state, "only one NAME is allowed");
    snprintf(name, CLIENT_NAME_MAX + 1, "%.*s", (int)length, text);
    if (length > CLIENT_NAME_MAX || !client_name_ok(name))
        argp_failure(state, EX_USAGE, 0, "%s: " CLIENT_NAME_RULE, text);
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_FOR: take_goal(state, argument, &options->goal); break;
    case KEY_TOKEN: options->token = argument; break;
    case KEY_TIMEOUT: take_time(state, argument, &options->timeout); break;
    case KEY_SPOOL: options->spool = argument; break;
    case ARGP_KEY_ARG: take_name(state, argument, options->name); break;
    case ARGP_KEY_NO_ARGS: argp_error(state, "the name of a spec is missing"); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int print_verdict(enum goal goal, const struct client_verdict *verdict)
{
    if (verdict->text == NULL) /* a reservation that has ended has no verdict */
        return EX_OK;
    size_t length = strlen(verdict->text);
    const char *end = length > 0 && verdict->text[length - 1] == '\n' ? "" : "\n";
    if (printf("%s%s", verdict->text, end) >= 0 && fflush(stdout) == 0)
        return goal == FOR_GRANTED ? EX_OK : client_status_of_verdict(verdict->json);
    fprintf(stderr, "rtf-wait: cannot print the verdict: %s\n", strerror(errno));
    return EX_IOERR;
}

static enum client_outcome wait_for(struct client *client, const struct options *options,
                                    struct client_verdict *verdict)
{
    static const enum client_goal of_files[GOALS] = {
        [FOR_ANSWER] = CLIENT_ANSWER, [FOR_GRANTED] = CLIENT_GRANT, [FOR_ENDED] = CLIENT_END};
    struct client_wait wait = {.goal = of_files[options->goal],
                               .name = options->name,
                               .token = options->token,
                               .until = client_until(options->timeout),
                               .interrupt = -1};
    enum client_outcome outcome = client_open(client, options->spool);
    if (outcome == CLIENT_OK)
        outcome = client_connect(client, wait.until);
    if (outcome == CLIENT_OK)
        outcome = client_enter(client, false);
    if (outcome == CLIENT_GONE && options->goal == FOR_ENDED)
        return CLIENT_OK;
    if (outcome != CLIENT_OK)
        return outcome;
    return options->goal == FOR_ROOM ? client_wait_for_room(client, wait.name, wait.until, verdict)
                                     : client_wait(client, &wait, verdict);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "NAME",
        .doc =
            "Wait until the rtf broker has answered the spec NAME, and print its answer.\v"
            "Exit status: 0 OK, 65 a spec that can never be granted, 66 no such spec, 69 no broker, 75 no room now or no answer "
            "in time, 76 the thread cannot be attached, 77 the rules forbid it, 64 wrong usage."};
    struct options options = {.spool = RTF_SPOOL};
    struct client client;
    struct client_verdict verdict = {0};
    client_hold_standard_fds();
    if (parse_options(&argp, argc, argv, 0, &options, EX_USAGE, EX_IOERR) != 0)
        return EX_USAGE;
    enum client_outcome outcome = wait_for(&client, &options, &verdict);
    int status;
    if (outcome == CLIENT_OK) {
        status = print_verdict(options.goal, &verdict);
        client_free_verdict(&verdict);
    } else {
        status = client_status_of_outcome(outcome);
        fprintf(stderr, "rtf-wait: %s\n", client.why);
    }
    client_close(&client);
    return status;
}
