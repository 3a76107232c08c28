/* Fuzzes an experiment, which a user may have from any source. The parser refuses a wrong file with
 * a sentence; all values of an accepted file are within their bounds. */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "muse/experiment.h"
#include "muse/experiment-file.h"

static void judge(const struct experiment *experiment)
{
    must(experiment->thread_count >= 1 && experiment->duration > 0 && experiment->horizon > 0);
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const struct member *member = &experiment->threads[i];
        must((member->command != NULL) != (member->phase_count > 0));
        must(member->priority >= 1 && member->priority <= 99);
        must(member->policy != POLICY_DEADLINE || member->reservation != NULL ||
             (member->budget > 0 && member->budget <= member->deadline &&
              member->deadline <= member->period));
        for (size_t j = 0; j < member->phase_count; j++) {
            const struct phase *phase = &member->phases[j];
            must(phase->kind != PHASE_LOCK ||
                 (phase->resource >= 0 && phase->resource < experiment->resources));
            must(phase->kind != PHASE_SHARED || experiment->shared_bytes >= 8);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char why[EXPERIMENT_WHY];
    for (int compat = 0; compat < 2; compat++) {
        struct experiment experiment;
        if (experiment_parse((const char *)bytes, length, READ_TO_RUN, compat != 0, &experiment,
                             why))
            judge(&experiment);
        else
            must_be_text(why, sizeof why);
        experiment_free(&experiment);
    }
    return 0;
}
