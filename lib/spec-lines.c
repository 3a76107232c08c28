#include "spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

void spec_add_mode(struct paragraph_output *output, const struct spec *spec)
{
    if (spec->mode == NULL)
        return;
    paragraph_add(output, "mode", spec->mode->name);
    paragraph_add_stated(output, "runtime_in_mode", spec->mode->runtime);
    paragraph_add_stated(output, "runtime_least", spec->mode->runtime_least);
}

void spec_add(struct paragraph_output *output, const struct spec *spec)
{
    char cpus[CPU_LIST_TEXT];
    paragraph_add_stated(output, "runtime", spec->runtime);
    paragraph_add_stated(output, "desired_runtime", spec->desired_runtime);
    spec_add_mode(output, spec);
    paragraph_add_stated(output, "period", spec->period);
    paragraph_add_stated(output, "deadline", spec->deadline);
    paragraph_add_stated(output, "blocking", spec->blocking);
    paragraph_add_stated(output, "priority", (uint64_t)spec->priority);
    paragraph_add_stated(output, "importance", (uint64_t)spec->importance);
    paragraph_add_stated(output, "weight", (uint64_t)spec->weight);
    extras_add(output, &spec->extras);
    paragraph_add_stated(output, "attach", (uint64_t)spec->attach);
    paragraph_add_stated(output, "attach_unseen", (uint64_t)spec->attach_unseen);
    paragraph_add_stated(output, "ignore_admission", spec->ignore_admission);
    paragraph_add_stated(output, "reclaim", spec->reclaim);
    paragraph_add_stated(output, "overrun_signal", spec->overrun_signal);
    paragraph_add_stated(output, "lifetime_thread", spec->lifetime_thread);
    paragraph_add_stated(output, "attach_none", spec->attach_none);
    paragraph_add_stated(output, "lifetime_spec", spec->lifetime_spec);
    paragraph_add_stated(output, "budget_process", spec->budget_process);
    paragraph_add_stated(output, "move_process", spec->move_process);
    if (spec->cpus != NULL)
        paragraph_add(output, "cpus", format_cpus(spec->cpus, cpus));
    paragraph_add_stated(output, "expires", spec->expires);
    paragraph_add_stated(output, "waits", spec->waits);
    paragraph_add_stated(output, "dry_run", spec->dry_run);
    if (spec->plugin != NULL)
        paragraph_add(output, "plugin", spec->plugin);
    if (spec->token != NULL)
        paragraph_add(output, "token", spec->token);
    claims_add(output, spec->claims);
}

static bool get_number(const struct paragraph *paragraph, const char *key, uint64_t max,
                       uint64_t *into)
{
    *into = 0;
    return paragraph_get_number(paragraph, key, max, into) >= 0;
}

static bool get_name(const struct paragraph *paragraph, const char *key, size_t max, char **into)
{
    const char *text = paragraph_get(paragraph, key);
    if (text == NULL)
        return true;
    if (!name_is_valid(text, strlen(text), max))
        return false;
    *into = strdup(text);
    if (*into == NULL)
        abort();
    return true;
}

/* False if a claim has the member `least`. A grant has this member if it is larger than the
 * request, and a spec must not have it. */
static bool claims_are_asked(const struct claim *claims)
{
    while (claims != NULL && claims->least == 0)
        claims = claims->next;
    return claims == NULL;
}

bool spec_get_mode(const struct paragraph *paragraph, struct spec *spec)
{
    const char *name = paragraph_get(paragraph, "mode");
    struct mode mode;
    if (!get_number(paragraph, "runtime_in_mode", spec->runtime, &mode.runtime) ||
        !get_number(paragraph, "runtime_least", spec->runtime, &mode.runtime_least))
        return false;
    if (name == NULL)
        return mode.runtime == 0 && mode.runtime_least == 0;
    if (!name_is_valid(name, strlen(name), MODE_BYTES - 1))
        return false;
    snprintf(mode.name, sizeof mode.name, "%s", name);
    spec_take_mode(spec, &mode);
    /* A runtime_least above the runtime of the current mode is forged: runtime_least is the minimum
     * over all modes. */
    return mode.runtime == 0 || (mode.runtime_least != 0 && mode.runtime_least <= mode.runtime);
}

static bool get_flag(const struct paragraph *paragraph, const char *key, bool *into)
{
    uint64_t flag;
    const bool good = get_number(paragraph, key, 1, &flag);
    *into = flag != 0;
    return good;
}

bool spec_get(const struct paragraph *paragraph, struct spec *spec)
{
    char why[REASON_BYTES];
    uint64_t priority, importance, weight, attach, unseen, none, ignore, thread, life, process,
        budget, waits, dry;
    const char *cpus = paragraph_get(paragraph, "cpus");
    *spec = (struct spec){0};
    /* The token is read first, as in spec_parse, because the broker's answer needs the token even
     * if the rest of the spec is wrong. */
    if (!get_name(paragraph, "token", TOKEN_BYTES - 1, &spec->token) ||
        !get_name(paragraph, "plugin", PLUGIN_NAME_BYTES - 1, &spec->plugin) ||
        !get_number(paragraph, "runtime", TIME_MAX, &spec->runtime) ||
        !get_number(paragraph, "desired_runtime", TIME_MAX, &spec->desired_runtime) ||
        !spec_get_mode(paragraph, spec) ||
        !get_number(paragraph, "period", TIME_MAX, &spec->period) ||
        !get_number(paragraph, "deadline", TIME_MAX, &spec->deadline) ||
        !get_number(paragraph, "blocking", TIME_MAX, &spec->blocking) ||
        (cpus != NULL && !spec_take_cpus(spec, cpus)) ||
        !get_number(paragraph, "expires", TIME_MAX, &spec->expires) ||
        !get_number(paragraph, "priority", PRIORITY_MAX, &priority) ||
        !get_number(paragraph, "attach", TID_MAX, &attach) ||
        !get_number(paragraph, "attach_unseen", TID_MAX, &unseen) ||
        !get_number(paragraph, "importance", IMPORTANCE_MAX, &importance) ||
        !get_number(paragraph, "weight", WEIGHT_MAX, &weight) ||
        !extras_get(paragraph, &spec->extras) ||
        !get_number(paragraph, "ignore_admission", 1, &ignore) ||
        !get_flag(paragraph, "reclaim", &spec->reclaim) ||
        !get_flag(paragraph, "overrun_signal", &spec->overrun_signal) ||
        !get_number(paragraph, "lifetime_thread", 1, &thread) ||
        !get_number(paragraph, "attach_none", 1, &none) ||
        !get_number(paragraph, "lifetime_spec", 1, &life) ||
        !get_number(paragraph, "budget_process", 1, &budget) ||
        !get_number(paragraph, "move_process", 1, &process) ||
        !get_number(paragraph, "waits", 1, &waits) || !get_number(paragraph, "dry_run", 1, &dry) ||
        !claims_get(paragraph, &spec->claims))
        return false;
    spec->priority = (int)priority;
    spec->importance = (int)importance;
    spec->weight = (int)weight;
    spec->attach = (pid_t)attach;
    spec->attach_unseen = (pid_t)unseen;
    spec->ignore_admission = ignore != 0;
    spec->lifetime_thread = thread != 0;
    spec->attach_none = none != 0;
    spec->lifetime_spec = life != 0;
    if ((none != 0 && attach != 0) || (unseen != 0 && attach != TID_MAX) ||
        (life != 0 && thread != 0))
        return false;
    spec->budget_process = budget != 0;
    spec->move_process = process != 0;
    spec->waits = waits != 0;
    spec->dry_run = dry != 0;
    return claims_are_asked(spec->claims) && spec_relations(spec, why) == NULL;
}
