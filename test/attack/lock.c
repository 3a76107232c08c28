/* Keeps the lock of a directory.
 *
 * lock hold DIRECTORY FILE   for as long as FILE's file system is frozen: getdents64(2) copies names, under the directory's lock, into a page that
 *                            cannot be written meanwhile
 * lock list DIRECTORY        lists again and again under SCHED_IDLE: each busy thread keeps it from going on, and from releasing the lock
 * lock notes DIRECTORY N     registers N notifications (dnotify: fcntl(2), F_NOTIFY): the kernel goes through all of them at each change */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

static int open_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err(EX_NOINPUT, "%s", path);
    return fd;
}

static int hold(const char *directory, const char *file)
{
    int fd = open(file, O_RDWR | O_CLOEXEC), names = open_directory(directory);
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        err(EX_NOINPUT, "%s", file);
    return syscall(SYS_getdents64, names, page, 4096) > 0 ? EX_OK : EX_OSERR;
}

static int list(const char *directory)
{
    static char names[1 << 20];
    const struct sched_param none = {0};
    int fd = open_directory(directory);
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        err(EX_OSERR, "SCHED_IDLE");
    for (;;)
        if (syscall(SYS_getdents64, fd, names, sizeof names) == 0)
            (void)lseek(fd, 0, SEEK_SET);
}

static int notes(const char *directory, int count)
{
    signal(SIGIO, SIG_IGN);
    for (int i = 0; i < count; i++)
        if (fcntl(open_directory(directory), F_NOTIFY,
                  DN_CREATE | DN_DELETE | DN_RENAME | DN_ATTRIB | DN_MODIFY | DN_MULTISHOT) != 0)
            err(EX_OSERR, "F_NOTIFY");
    (void)puts("ready");
    (void)fflush(stdout);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "hold") == 0)
        return hold(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "list") == 0)
        return list(argv[2]);
    if (argc == 4 && strcmp(argv[1], "notes") == 0)
        return notes(argv[2], atoi(argv[3]));
    errx(EX_USAGE, "usage: lock hold DIRECTORY FILE | list DIRECTORY | notes DIRECTORY N");
}
