/* Trials of needs that are refused (trial.h) cost the plugins time, and an account may have so many: each costs by the number of grants that the
 * plugins are told of. */
#ifndef RTF_TRIAL_COST_H
#define RTF_TRIAL_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account;

/* True: it is charged for it. False: it owes too much for earlier ones. now: CLOCK_MONOTONIC. */
bool trial_is_affordable(struct account *account, size_t grants, int64_t now);

#endif
