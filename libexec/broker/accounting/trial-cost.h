/* A trial (trial.h) asks the plugins about a refused spec once more. A trial costs the plugins
 * time, so each account has a budget for trials. The cost of a trial grows with the number of
 * grants that the broker tells the plugins for the trial. */
#ifndef RTF_TRIAL_COST_H
#define RTF_TRIAL_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account;

/* True: the trial is charged to the account. False: the account has not paid for earlier trials
 * yet. now: CLOCK_MONOTONIC, ns. */
bool trial_is_affordable(struct account *account, size_t grants, int64_t now);

#endif
