/* rtf-claim SPOOL TEXT: what --disk TEXT means, as JSON on a line, for those commands of rtf(1) that are written in shell. */
#include <stdio.h>
#include <sysexits.h>

#include "disk-option.h"
#include "say-how.h"

int main(int argc, char **argv)
{
    char why[DISK_OPTION_WHY];
    int how;
    if (says_how(argc, argv, "rtf-claim", "SPOOL TEXT", &how))
        return how;
    if (argc != 3) {
        fputs("rtf-claim SPOOL TEXT\n", stderr);
        return EX_USAGE;
    }
    json_t *claim = disk_option(argv[2], argv[1], why);
    if (claim == NULL) {
        fprintf(stderr, "%s\n", why);
        return EX_USAGE;
    }
    const bool good = json_dumpf(claim, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF && fflush(stdout) == 0;
    json_decref(claim);
    return good ? EX_OK : EX_IOERR;
}
