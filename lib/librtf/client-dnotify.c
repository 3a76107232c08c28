#include "client-dnotify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>

static bool tell_by_signal(int directory, int number, unsigned changes)
{
    const struct f_owner_ex own = {.type = F_OWNER_TID, .pid = gettid()};
    return fcntl(directory, F_SETSIG, number) == 0 && fcntl(directory, F_SETOWN_EX, &own) == 0 &&
           fcntl(directory, F_NOTIFY, changes | DN_MULTISHOT) == 0;
}

bool dnotify_begin(struct dnotify *watch, int directory, int number, unsigned changes)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    *watch =
        (struct dnotify){.ready = -1,
                         .number = number,
                         .directory = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (watch->directory < 0)
        return false;
    pthread_sigmask(SIG_BLOCK, &set, &watch->former);
    watch->ready = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (watch->ready >= 0 && tell_by_signal(watch->directory, number, changes))
        return true;
    const int reason = errno;
    dnotify_end(watch);
    errno = reason;
    return false;
}

void dnotify_drain(const struct dnotify *watch)
{
    struct signalfd_siginfo info;
    while (read(watch->ready, &info, sizeof info) == (ssize_t)sizeof info)
        ;
}

/* Closing the directory ends the watch. After the close, the watch causes no further signal. */
void dnotify_end(struct dnotify *watch)
{
    if (watch->directory < 0)
        return;
    close(watch->directory);
    if (watch->ready >= 0) {
        dnotify_drain(watch);
        close(watch->ready);
    }
    pthread_sigmask(SIG_SETMASK, &watch->former, NULL);
    *watch = NO_DNOTIFY;
}
