/* rtkit-client PRIORITY [COUNT]: asks org.freedesktop.RealtimeKit1 for its own thread, as PipeWire does, prints the thread's id and the answer, and ends
 * with its standard input; with the word `properties` it only reads the properties. With COUNT, asks COUNT times, one after another, and prints the median
 * time to an answer, in us.
 * rtkit-client lost COUNT THREADS: has THREADS threads, asks COUNT times for a thread that does not exist, and waits for no answer.
 * rtkit-client orphan: asks for its own thread; after a line on standard input it ends. Its child keeps the connection, and asks for the process in each
 * further line.
 * rtkit-client descriptor: asks by a message with a descriptor.
 * rtkit-client first|next COUNT: prints the median for COUNT threads that each ask once, each on a new connection that has read the properties (first), or
 * all on one connection (next). */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#define BUS_NAME "org.freedesktop.RealtimeKit1"
#define BUS_PATH "/org/freedesktop/RealtimeKit1"

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ask(sd_bus *bus, unsigned priority, sd_bus_error *error)
{
    return sd_bus_call_method(bus, BUS_NAME, BUS_PATH, BUS_NAME, "MakeThreadRealtime", error, NULL,
                              "tu", (uint64_t)gettid(), priority);
}

static int ask_with_descriptor(sd_bus *bus, sd_bus_error *error)
{
    return sd_bus_call_method(bus, BUS_NAME, BUS_PATH, BUS_NAME, "MakeThreadRealtime", error, NULL,
                              "tuh", (uint64_t)gettid(), 5U, STDIN_FILENO);
}

static int by_value(const void *one, const void *other)
{
    const long long a = *(const long long *)one, b = *(const long long *)other;
    return (a > b) - (a < b);
}

enum { CALLS_MOST = 10000 };
static long long took[CALLS_MOST];
static int calls;

/* False: the request was refused; the reason has been printed. */
static bool time_one(sd_bus *bus, unsigned priority)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    const long long began = now();
    const int answer = ask(bus, priority, &error);
    took[calls++] = now() - began;
    if (answer < 0)
        printf("%s\n", error.message);
    sd_bus_error_free(&error);
    return answer >= 0;
}

static bool read_properties(sd_bus *bus)
{
    int highest;
    int64_t rttime;
    return sd_bus_get_property_trivial(bus, BUS_NAME, BUS_PATH, BUS_NAME, "MaxRealtimePriority",
                                       NULL, 'i', &highest) >= 0 &&
           sd_bus_get_property_trivial(bus, BUS_NAME, BUS_PATH, BUS_NAME, "RTTimeUSecMax", NULL,
                                       'x', &rttime) >= 0;
}

/* Runs in a thread of its own; returns NULL if the request was refused. */
static void *play(void *shared)
{
    sd_bus *own = NULL;
    if (shared == NULL && (sd_bus_open_system(&own) < 0 || !read_properties(own)))
        return NULL;
    const bool done = time_one(own != NULL ? own : shared, 5);
    sd_bus_flush_close_unref(own);
    return done ? took : NULL;
}

static bool time_thread(sd_bus *shared)
{
    pthread_t thread;
    void *done = NULL;
    return pthread_create(&thread, NULL, play, shared) == 0 && pthread_join(thread, &done) == 0 &&
           done != NULL;
}

static int measure(sd_bus *bus, const char *what, int count)
{
    while (calls < count)
        if (!(what[0] == 'f'   ? time_thread(NULL)
              : what[0] == 'n' ? time_thread(bus)
                               : time_one(bus, 1 + (unsigned)calls % 2)))
            return 1;
    qsort(took, (size_t)count, sizeof *took, by_value);
    printf("%lld\n", took[count / 2] / 1000);
    return 0;
}

static void *sleep_on(void *unused)
{
    (void)unused;
    for (;;)
        (void)pause();
    return NULL;
}

/* False: so many threads cannot be started. */
static bool ask_in_vain(sd_bus *bus, int count, int threads)
{
    pthread_t thread;
    pthread_attr_t small;
    const uint64_t none = 4194303;
    bool good = pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0;
    for (int i = 0; good && i < threads; i++)
        good = pthread_create(&thread, &small, sleep_on, NULL) == 0;
    for (int i = 0; good && i < count; i++)
        good = sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_NAME,
                                        "MakeThreadRealtime", NULL, NULL, "tu", none, 5U) >= 0;
    return good && sd_bus_flush(bus) >= 0;
}

static void print_answer(int id, int answer, const sd_bus_error *error)
{
    if (answer < 0)
        printf("%d %s: %s\n", id, error->name, error->message);
    else
        printf("%d ok\n", id);
    fflush(stdout);
}

/* Makes the system call itself, so that sd-bus does not notice that it runs in another process. */
static int leave_to_child(sd_bus *bus)
{
    char line[32];
    sd_bus_error error = SD_BUS_ERROR_NULL;
    print_answer((int)gettid(), ask(bus, 5, &error), &error);
    if (fgets(line, sizeof line, stdin) == NULL || syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0)
        _exit(0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        const uint64_t process = strtoull(line, NULL, 10);
        sd_bus_error_free(&error);
        const int answer =
            sd_bus_call_method(bus, BUS_NAME, BUS_PATH, BUS_NAME, "MakeThreadRealtimeWithPID",
                               &error, NULL, "ttu", process, process, 9U);
        print_answer((int)process, answer, &error);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    sd_bus *bus = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    if (argc < 2 || sd_bus_open_system(&bus) < 0)
        return 1;
    if (strcmp(argv[1], "orphan") == 0)
        return leave_to_child(bus);
    if (argc > 3)
        printf("%s\n", ask_in_vain(bus, atoi(argv[2]), atoi(argv[3])) ? "asked" : "not so many");
    else if (argc > 2)
        return atoi(argv[2]) <= 0 || atoi(argv[2]) > CALLS_MOST
                   ? 1
                   : measure(bus, argv[1], atoi(argv[2]));
    else if (strcmp(argv[1], "descriptor") == 0)
        print_answer((int)gettid(), ask_with_descriptor(bus, &error), &error);
    else
        print_answer((int)gettid(),
                     strcmp(argv[1], "properties") == 0 ? (read_properties(bus) ? 0 : -1)
                                                        : ask(bus, (unsigned)atoi(argv[1]), &error),
                     &error);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
