#include "client-hear.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>

static bool tell_by_signal(int directory, int number, unsigned changes)
{
    const struct f_owner_ex own = {.type = F_OWNER_TID, .pid = gettid()};
    return fcntl(directory, F_SETSIG, number) == 0 && fcntl(directory, F_SETOWN_EX, &own) == 0 && fcntl(directory, F_NOTIFY, changes | DN_MULTISHOT) == 0;
}

bool hear(struct hearing *hearing, int directory, int number, unsigned changes)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    *hearing = (struct hearing){.ready = -1, .number = number, .directory = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (hearing->directory < 0)
        return false;
    pthread_sigmask(SIG_BLOCK, &set, &hearing->former);
    hearing->ready = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (hearing->ready >= 0 && tell_by_signal(hearing->directory, number, changes))
        return true;
    const int reason = errno;
    hear_no_more(hearing);
    errno = reason;
    return false;
}

void hear_anew(const struct hearing *hearing)
{
    struct signalfd_siginfo info;
    while (read(hearing->ready, &info, sizeof info) == (ssize_t)sizeof info)
        ;
}

/* Once the directory is closed no signal is on its way any more. */
void hear_no_more(struct hearing *hearing)
{
    if (hearing->directory < 0)
        return;
    close(hearing->directory);
    if (hearing->ready >= 0) {
        hear_anew(hearing);
        close(hearing->ready);
    }
    pthread_sigmask(SIG_SETMASK, &hearing->former, NULL);
    *hearing = NO_HEARING;
}
