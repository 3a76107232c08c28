/* rtf-wait(1): waits for the broker's answer to a spec, and prints it. --for waits until a
 * reservation is granted, has ended, or would be granted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "client.h"
#include "command-line.h"
#include "room.h"

enum goal { FOR_ANSWER, FOR_GRANTED, FOR_ENDED, FOR_ROOM, GOALS };

struct options {
    const char *name, *token;
    enum goal goal;
    uint64_t timeout; /* us; 0: the wait has no limit */
};

static const char *const goals[GOALS] = {
    [FOR_ANSWER] = "answer", [FOR_GRANTED] = "granted", [FOR_ENDED] = "ended", [FOR_ROOM] = "room"};

static const struct command_option option_table[] = {
    {0, "for", "WHAT", "answer (the default), granted, ended, or room: until there is room for it"},
    {0, "token", "TEXT", "Wait for the answer to the spec with this token"},
    {0, "timeout", "TIME", "Wait no longer than this: 800us, 5ms, 1h"},
    {0}};

static enum goal goal_of(const char *text)
{
    for (enum goal goal = FOR_ANSWER; goal < GOALS; goal++)
        if (strcmp(text, goals[goal]) == 0)
            return goal;
    command_wrong("--for %s: must be answer, granted, ended or room", command_typed(text));
}

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "for") == 0)
        options->goal = goal_of(value);
    else if (strcmp(name, "token") == 0)
        options->token = value;
    else if (strcmp(name, "timeout") == 0)
        options->timeout = command_wait("--timeout", value);
}

static const char *name_of(char *const operands[])
{
    if (operands[0] == NULL)
        command_misused("the name of a spec is missing");
    if (operands[1] != NULL)
        command_misused("only one NAME is allowed");
    return command_name(operands[0]);
}

static int print_verdict(enum goal goal, const struct client_verdict *verdict)
{
    if (verdict->text == NULL) /* a reservation that has ended has no verdict */
        return EX_OK;
    size_t length = strlen(verdict->text);
    const char *end = length > 0 && verdict->text[length - 1] == '\n' ? "" : "\n";
    if (printf("%s%s", verdict->text, end) >= 0 && fflush(stdout) == 0)
        return goal == FOR_GRANTED ? EX_OK : client_status_of_verdict(verdict->json);
    command_unwritten();
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
    enum client_outcome outcome = client_open(client, command_spool());
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
    static const struct command command = {
        .name = "wait",
        .program = "rtf-wait",
        .about = "Wait until the rtf broker has answered the spec NAME, and print its answer.",
        .operands = "[OPTION...] NAME",
        .closing =
            "Exit status: 0 OK, 65 a spec that can never be granted, 66 no such spec, 69 no broker, 75 no room now or no answer "
            "in time, 76 the thread cannot be attached, 77 the rules forbid it, 64 wrong usage.",
        .options = option_table,
        .take = take};
    struct options options = {0};
    struct client client;
    struct client_verdict verdict = {0};
    options.name = name_of(command_parse(&command, argc, argv, &options));
    enum client_outcome outcome = wait_for(&client, &options, &verdict);
    int status;
    if (outcome == CLIENT_OK) {
        status = print_verdict(options.goal, &verdict);
        client_free_verdict(&verdict);
    } else {
        status = client_status_of_outcome(outcome);
        command_say("%s", client.why);
    }
    client_close(&client);
    return status;
}
