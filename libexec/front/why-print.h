/* Prints late jobs and their causes, for rtf-why(1). */
#ifndef RTF_WHY_PRINT_H
#define RTF_WHY_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/lateness-causes.h"
#include "watch/recording.h"
#include "watch/trace-json.h"

/* One thread and its late jobs. */
struct why_thread {
    const struct traced *thread;
    const struct trace_label *label;
    const struct recording *recording; /* the names of threads */
    const struct explained_job *late;
    size_t late_count, job_count;
    bool never_pauses; /* the thread never pauses, so the whole recording counts as its only job */
};

/* Print one late job: why_print_job as a line of text, why_print_json as a JSON object. */
void why_print_job(const struct why_thread *why, const struct explained_job *late);
void why_print_json(const struct why_thread *why, const struct explained_job *late);

/* Prints how many jobs there were, how many were late, and how many of these have each cause. */
void why_print_summary(const struct why_thread *why);

#endif
