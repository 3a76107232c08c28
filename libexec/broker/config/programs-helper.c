#include "programs-helper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "supervise.h"

static struct {
    struct program program;
    char directory[PATH_MAX];
} programs_d;

static bool programs_helper_on_message(struct program *program, const struct paragraph *said,
                                       int *fd)
{
    const char *decision = paragraph_get(said, "decision"), *reason = paragraph_get(said, "reason");
    (void)program;
    (void)fd;
    if (decision == NULL || reason == NULL)
        return false;
    event_broker(strcmp(decision, "error") == 0 ? "error" : "warning", "%.500s", reason);
    return true;
}

static const struct program_description programs_helper_is = {
    .name = "rtf-programs, which gives the files of programs.d to users,",
    .kind = CHILD_PROGRAMS,
    .talk = COPROCESS_SOCKET,
    SUPERVISE_EACH_SECOND,
    .on_message = programs_helper_on_message,
};

void programs_helper_prepare(const char *program, const char *config, const char *spool)
{
    /* absolute paths, because a child of the launcher has another working directory */
    char real_config[PATH_MAX], real_spool[PATH_MAX];
    char *const argv[] = {(char *)program, (char *)"give", realpath(config, real_config),
                          realpath(spool, real_spool), NULL};
    snprintf(programs_d.directory, sizeof programs_d.directory, "%.4000s/programs.d", config);
    supervise_prepare(&programs_d.program, &programs_helper_is, argv,
                      (struct identity_to_run_as){0, 0});
}

/* True: rtf-programs has to run, because there is a directory programs.d, or a record of files that
 * rtf-programs gave to users earlier and may have to take back. */
static bool programs_helper_have_work(int record)
{
    return access(programs_d.directory, F_OK) == 0 || faccessat(record, "programs", F_OK, 0) == 0;
}

void programs_helper_give(int record)
{
    supervise_stop(&programs_d.program);
    if (!programs_helper_have_work(record))
        return;
    if (!supervise_start(&programs_d.program, -1, record))
        event_broker("error", "the files of programs.d are not given: rtf-programs: %s",
                     strerror(errno));
    supervise_finish(&programs_d.program); /* rtf-programs ends by itself */
}

void programs_helper_stop(void)
{
    supervise_stop(&programs_d.program);
}
