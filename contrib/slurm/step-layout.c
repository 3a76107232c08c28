#include "step-layout.h"

#include <slurm/slurm.h>
#include <stdlib.h>
#include <string.h>

/* Writes the node of each task to nodes[task]. */
static void spread(const slurm_step_layout_t *layout, hostlist_t hosts, char **nodes,
                   uint32_t tasks)
{
    for (uint32_t i = 0; i < layout->node_cnt; i++) {
        char *const node = slurm_hostlist_shift(hosts);
        for (uint32_t j = 0; node != NULL && j < layout->tasks[i]; j++)
            if (layout->tids[i][j] < tasks && nodes[layout->tids[i][j]] == NULL)
                nodes[layout->tids[i][j]] = strdup(node);
        free(node);
    }
}

/* NULL: a task has no node, or there is no memory. */
static char *join(char *const *nodes, uint32_t tasks)
{
    size_t length = 1;
    for (uint32_t i = 0; i < tasks; i++) {
        if (nodes[i] == NULL)
            return NULL;
        length += strlen(nodes[i]) + 1;
    }
    char *const text = malloc(length), *end = text;
    for (uint32_t i = 0; text != NULL && i < tasks; i++)
        end = stpcpy(stpcpy(end, i == 0 ? "" : ","), nodes[i]);
    return text;
}

char *step_layout_nodes(uint32_t job, uint32_t step, uint32_t tasks)
{
    slurm_step_id_t id = {.job_id = job, .step_het_comp = NO_VAL, .step_id = step};
    slurm_step_layout_t *const layout = slurm_job_step_layout_get(&id);
    if (layout == NULL)
        return NULL;
    hostlist_t hosts = slurm_hostlist_create(layout->node_list);
    char **const nodes = calloc(tasks, sizeof *nodes), *text = NULL;
    if (hosts != NULL && nodes != NULL) {
        spread(layout, hosts, nodes, tasks);
        text = join(nodes, tasks);
    }
    for (uint32_t i = 0; nodes != NULL && i < tasks; i++)
        free(nodes[i]);
    free((void *)nodes);
    if (hosts != NULL)
        slurm_hostlist_destroy(hosts);
    slurm_job_step_layout_free(layout);
    return text;
}
