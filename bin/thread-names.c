#include "thread-names.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The kernel writes each new name of a thread into a ring. There is one ring for each CPU, because
 * an event that new threads inherit can have a ring only if it is bound to a CPU
 * (perf_event_open(2)). */
enum { CPUS_MAX = 1024, NAME = 16, ID = 16 };
static struct ring {
    int fd;
    struct perf_event_mmap_page *page;
} rings[CPUS_MAX];
static int count, news = -1, timer = -1;

static bool watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(news, EPOLL_CTL_ADD, fd, &event) == 0;
}

static size_t ring_bytes(void)
{
    return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

static bool open_ring(pid_t process, int cpu)
{
    struct perf_event_attr names = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof names,
                                    .config = PERF_COUNT_SW_DUMMY,
                                    .inherit = 1,
                                    .comm = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .watermark = 1,
                                    .wakeup_watermark = 1};
    int fd = (int)syscall(SYS_perf_event_open, &names, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return false;
    void *page = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED || !watch(fd)) {
        close(fd);
        return false;
    }
    rings[count++] = (struct ring){fd, page};
    return true;
}

static void close_rings(void)
{
    for (int i = 0; i < count; i++) {
        munmap(rings[i].page, ring_bytes());
        close(rings[i].fd);
    }
    count = 0;
}

static bool is_online(int cpu)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
    FILE *file = fopen(path, "re");
    /* a CPU that cannot be taken offline has no such file */
    const int online = file == NULL ? '1' : fgetc(file);
    if (file != NULL)
        fclose(file);
    return online != '0';
}

static bool open_rings(pid_t process)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus; cpu++)
        if (count == CPUS_MAX || (is_online(cpu) && !open_ring(process, cpu))) {
            close_rings();
            return false;
        }
    return count > 0;
}

/* For users without perf events (kernel.perf_event_paranoid above 2): opens a descriptor that is
 * readable every 20 ms, because no other event reports a new name. */
static bool open_timer(void)
{
    const struct itimerspec often = {.it_value = {.tv_nsec = 20000000},
                                     .it_interval = {.tv_nsec = 20000000}};
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return timer >= 0 && timerfd_settime(timer, 0, &often, NULL) == 0 && watch(timer);
}

int thread_names_open(pid_t process)
{
    news = epoll_create1(EPOLL_CLOEXEC);
    if (news >= 0 && !open_rings(process) && !open_timer())
        thread_names_close();
    return news;
}

static bool is_named(int tasks, const char *id, const char *pattern)
{
    char path[NAME_MAX + 8], name[NAME + 1];
    snprintf(path, sizeof path, "%s/comm", id);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, name, NAME);
    close(fd);
    if (length <= 0)
        return false;
    name[length] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return fnmatch(pattern, name, 0) == 0;
}

static void forget_news(void)
{
    uint64_t expired;
    for (int i = 0; i < count; i++)
        __atomic_store_n(&rings[i].page->data_tail,
                         __atomic_load_n(&rings[i].page->data_head, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    if (timer >= 0)
        (void)!read(timer, &expired, sizeof expired);
}

pid_t thread_names_find(pid_t process, const char *pattern)
{
    char path[64];
    const struct dirent *entry;
    pid_t found = 0;
    /* empties the rings before it reads the names, so that a name that is set from now on makes the
     * descriptor readable again */
    forget_news();
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *tasks = opendir(path);
    while (tasks != NULL && found == 0 && (entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.' && is_named(dirfd(tasks), entry->d_name, pattern))
            found = (pid_t)atoi(entry->d_name);
    if (tasks != NULL)
        closedir(tasks);
    return found;
}

void thread_names_close(void)
{
    close_rings();
    if (timer >= 0)
        close(timer);
    if (news >= 0)
        close(news);
    timer = news = -1;
}
