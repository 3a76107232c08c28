#include "call-kinds.h"

#include <stddef.h>
#include <sys/syscall.h>

/* These calls have the same numbers on all machines. Older headers lack them. */
enum { FUTEX_WAITV = 449, FUTEX_WAIT = 455 };

/* A machine may lack some of these calls. */
static const uint16_t pauses[] = {
#ifdef SYS_nanosleep
    SYS_nanosleep,
#endif
#ifdef SYS_pause
    SYS_pause,
#endif
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_select
    SYS_select,
#endif
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
    SYS_clock_nanosleep,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_pwait,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait};

enum call_kind call_kind(uint16_t call)
{
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++)
        if (pauses[i] == call)
            return CALL_PAUSE;
    if (call == SYS_sched_yield)
        return CALL_YIELD;
    return call == SYS_futex || call == FUTEX_WAITV || call == FUTEX_WAIT ? CALL_LOCK : CALL_OTHER;
}
