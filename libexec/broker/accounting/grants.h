/* What follows from a grant and its plugin's line. */
#ifndef RTF_GRANTS_H
#define RTF_GRANTS_H

#include "wish.h"

/* What a grant weighs in the ledger: its runtime in each window of this length. */
uint64_t grant_window(const struct grant *grant);
uint64_t grant_utilization(const struct grant *grant);

#endif
