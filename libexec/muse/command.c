#include "command.h"

#include <signal.h>
#include <unistd.h>

void command_become(const struct member *member)
{
    const size_t words = json_array_size(member->command);
    char *arguments[COMMAND_WORDS + 1] = {NULL};
    sigset_t none;
    for (size_t i = 0; i < words && i < COMMAND_WORDS; i++)
        arguments[i] = (char *)json_string_value(json_array_get(member->command, i));
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (arguments[0] != NULL)
        execvp(arguments[0], arguments);
}
