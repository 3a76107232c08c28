/* rtkit-client PRIORITY [COUNT]: asks org.freedesktop.RealtimeKit1 for its own thread, as PipeWire does, prints its id and what the answer was, and ends
 * with its standard input. With COUNT, asks so often, one after another, and prints the median of how long an answer took, in us. */
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ask(sd_bus *bus, unsigned priority, sd_bus_error *error)
{
    return sd_bus_call_method(bus, "org.freedesktop.RealtimeKit1", "/org/freedesktop/RealtimeKit1", "org.freedesktop.RealtimeKit1", "MakeThreadRealtime", error,
                              NULL, "tu", (uint64_t)gettid(), priority);
}

static int by_value(const void *one, const void *other)
{
    const long long a = *(const long long *)one, b = *(const long long *)other;
    return (a > b) - (a < b);
}

enum { CALLS_MOST = 10000 };

static int measure(sd_bus *bus, int count)
{
    static long long took[CALLS_MOST];
    for (int i = 0; i < count; i++) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        const long long began = now();
        if (ask(bus, 1 + (unsigned)i % 2, &error) < 0) {
            printf("%s\n", error.message);
            return 1;
        }
        took[i] = now() - began;
    }
    qsort(took, (size_t)count, sizeof *took, by_value);
    printf("%lld\n", took[count / 2] / 1000);
    return 0;
}

int main(int argc, char **argv)
{
    sd_bus *bus = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    if (argc < 2 || sd_bus_open_system(&bus) < 0)
        return 1;
    if (argc > 2)
        return atoi(argv[2]) <= 0 || atoi(argv[2]) > CALLS_MOST ? 1 : measure(bus, atoi(argv[2]));
    if (ask(bus, (unsigned)atoi(argv[1]), &error) < 0)
        printf("%d %s: %s\n", (int)gettid(), error.name, error.message);
    else
        printf("%d ok\n", (int)gettid());
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
