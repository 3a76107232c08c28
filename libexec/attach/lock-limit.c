#include "lock-limit.h"

static rlim_t larger(rlim_t one, rlim_t other)
{
    return one > other ? one : other;
}

static rlim_t smaller(rlim_t one, rlim_t other)
{
    return one < other ? one : other;
}

/* The comparisons need no special case for RLIM_INFINITY, because it is the largest rlim_t. After a
 * crash of the helper *now may still be the former limit, although limit->was says that the limit
 * was raised. */
struct rlimit lock_limit_next(const struct lock_limit *limit, const struct rlimit *now)
{
    const struct rlimit *former = &limit->former;
    const rlim_t hard_was = larger(former->rlim_max, limit->was),
                 soft_was = larger(former->rlim_cur, limit->was),
                 hard = larger(former->rlim_max, limit->is),
                 soft = larger(former->rlim_cur, limit->is);
    const bool is_former = now->rlim_cur == former->rlim_cur && now->rlim_max == former->rlim_max;
    const bool is_first = limit->was == 0 && limit->is != 0;
    struct rlimit next = {.rlim_max = is_first || is_former || now->rlim_max == hard_was
                                          ? hard
                                          : smaller(now->rlim_max, hard)};
    next.rlim_cur =
        smaller(is_first || is_former || now->rlim_cur == soft_was ? soft : now->rlim_cur,
                next.rlim_max);
    return next;
}
