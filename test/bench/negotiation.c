/* How long one more reservation takes beside the existing reservations, and how long a change of
 * one of them takes: Figure 7 of paper 002.
 *
 *     negotiation SPECS UID GROUP COUNT SPEC OTHER
 *
 * Prints a line "create N US" for each of COUNT reservations, where N reservations exist before;
 * after each hundredth reservation also some lines "change N US", for changes of the first
 * reservation. */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "client.h"

enum { BETWEEN_CHANGES = 100, CHANGES = 20 };

static void tell(struct client *client, const char *what, int present, const char *file,
                 const char *spec)
{
    const int64_t ns = client_put(client, file, spec);
    if (!client_says(client, "\"result\":\"OK\""))
        errx(EX_SOFTWARE, "%s %d: %s", what, present, client->verdict);
    printf("%s %d %" PRId64 "\n", what, present, ns / 1000);
}

static void measure(struct client *client, int count, const char *spec, const char *other)
{
    char file[32];
    for (int present = 0; present < count; present++) {
        snprintf(file, sizeof file, "c%d.json", present);
        tell(client, "create", present, file, spec);
        for (int i = 0; i < CHANGES && (present + 1) % BETWEEN_CHANGES == 0; i++)
            tell(client, "change", present + 1, "c0.json", i % 2 == 0 ? other : spec);
    }
}

int main(int words, char **word)
{
    struct client client;
    if (words != 7)
        errx(EX_USAGE, "usage: negotiation SPECS UID GROUP COUNT SPEC OTHER");
    become_user((uid_t)atoi(word[2]), (gid_t)atoi(word[3]));
    if (mkdir(word[1], 0700) != 0 && errno != EEXIST)
        err(EX_CANTCREAT, "%s", word[1]);
    client_open(&client, word[1]);
    measure(&client, atoi(word[4]), word[5], word[6]);
    return 0;
}
