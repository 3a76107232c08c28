/* field PATH - one value of the JSON on standard input, as `jq -r PATH` prints it: .result, .grant.cpus
 *
 * The tests look at thousands of verdicts, and jq takes 24 ms of CPU time to start. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *document = json_loadf(stdin, JSON_DECODE_ANY, &error);
    if (argc != 2 || document == NULL) {
        fprintf(stderr, "field: %s\n", argc != 2 ? "usage: field PATH" : error.text);
        return argc != 2 ? EX_USAGE : EX_DATAERR;
    }
    json_t *value = document;
    for (const char *key = strtok(argv[1], "."); key != NULL && value != NULL; key = strtok(NULL, "."))
        value = json_object_get(value, key);
    if (value == NULL)
        puts("null");
    else if (json_is_string(value))
        puts(json_string_value(value));
    else {
        (void)json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
        putchar('\n');
    }
    return EX_OK;
}
