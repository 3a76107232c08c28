#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "attach.h"
#include "check-kept.h"
#include "cpuset-domains.h"
#include "fatal.h"
#include "reason.h"
#include "loop.h"
#include "dispatch.h"
#include "place.h"
#include "plugin-lines.h"
#include "plugins.h"
#include "process.h"
#include "put-back.h"
#include "serving.h"
#include "spool.h"
#include "launcher.h"
#include "attach/kernel-setting.h"
#include "tick.h"
#include "units.h"

/* Runs rtf-lint in place of this program. rtf-lint warns of lines that are correct but may be
 * mistakes. */
__attribute__((noreturn)) static void lint(const char *config)
{
    char tick[NUMBER_TEXT];
    execl(program_path("rtf-lint"), "rtf-lint", "--no-fault", "--config", config, "--tick",
          format_number(plugins_have_hrtick() ? 0 : tick_length(), tick), (char *)NULL);
    die_errno(EX_OSERR, program_path("rtf-lint"));
}

/* Starts the plugins as the broker does, which only root may do. Each plugin checks its own
 * options. The greetings show whether the plugins can work together. */
static void ask_plugins(const struct options *options)
{
    char reason[REASON_BYTES];
    loop_start();
    const struct identity_to_run_as user = find_plugin_user(options->plugin_user);
    check_programs(user);
    plugins_prepare(user, dispatch_plugin_event);
    if (!fork_launcher(false))
        die_errno(EX_OSERR, "fork");
    const bool good = start_plugins(reason);
    launcher_stop();
    if (!good)
        die(EX_CONFIG, reason);
}

/* Asks the attach helper whether partition=global is possible on the line's CPUs. If it is not
 * possible, the helper prints the reason. */
static bool can_be_global(const struct plugin_line *line)
{
    char cpus[CPU_LIST_TEXT];
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl(program_path("rtf-attach"), "rtf-attach", "--probe", format_cpus(&line->cpus, cpus),
              (char *)NULL);
        _exit(EX_OSERR);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Asks the kernel, for each line with partition=global, whether the line's CPUs are in one
 * scheduling domain; otherwise the broker could not start. If a running broker has made scheduling
 * domains, the kernel is not asked, because its answer would hold only until the end of the running
 * broker. */
static void ask_kernel(void)
{
    char reason[REASON_BYTES];
    cpu_set_t domains, online;
    for (int i = 0; i < plugins_count() && access(DOMAINS_RECORD, F_OK) != 0; i++) {
        const struct plugin_line *line = plugin_line(i);
        if (!line->deadline || line->partition != PARTITION_GLOBAL || can_be_global(line))
            continue;
        snprintf(reason, sizeof reason,
                 "plugins.conf:%d: %s cannot have partition=global with these CPUs", line->line,
                 line->name);
        die(EX_CONFIG, reason);
    }
    plugins_domains(&domains);
    online_cpus(&online);
    if (CPU_EQUAL(&domains, &online))
        die(EX_CONFIG,
            "plugins.conf: partition=cpuset and confine=cpuset take all CPUs: leave at least one CPU for ordinary threads");
}

/* Has rtf-programs check the program files. rtf-programs prints the faults. */
static void check_programs_d(const char *config)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        execl(program_path("rtf-programs"), "rtf-programs", "check", config, (char *)NULL);
        _exit(EX_OSERR);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(EX_CONFIG);
}

void check(const struct options *options)
{
    check_programs_d(options->config);
    if (geteuid() == 0) {
        ask_plugins(options);
        ask_kernel();
    }
    /* False: an interface or disk cannot be used. The configuration is valid all the same, because
     * a broker turns such a line off and starts. */
    const bool kept = check_kept();
    if (options->faults)
        exit(kept ? EX_OK : EX_UNAVAILABLE);
    const pid_t child = kept ? -1 : fork();
    if (kept || child == 0)
        lint(options->config); /* lint() does not return */
    (void)waitpid(child, NULL, 0);
    exit(EX_UNAVAILABLE);
}

static bool is_setting_changed(void)
{
    for (int i = 0; i < SETTINGS; i++)
        if (access(setting_record(i), F_OK) == 0)
            return true;
    return false;
}

int put_back(const struct options *options)
{
    char reason[REASON_BYTES];
    int lock, there = spool_open_state(options->spool, &lock, reason);
    if (there < 0)
        die(EX_UNAVAILABLE, reason);
    if (there == 0 && !is_setting_changed())
        return EX_OK; /* there is no spool, and no broker has changed a setting of the kernel */
    if (there > 0)
        place_find();
    attach_prepare(program_path("rtf-attach"), NULL, NULL);
    if (!fork_launcher(false) || !attach_start(there > 0 ? lock : -1))
        die_errno(EX_OSERR, program_path("rtf-attach"));
    bool good = there > 0 ? put_back_kernel(program_path, reason) : put_back_settings(reason);
    attach_stop();
    launcher_stop();
    if (!good)
        die(EX_OSERR, reason);
    return EX_OK;
}
