/* identity THREADS: a process of THREADS threads beside its first thread. It prints the ids of all
 * threads, and then reads orders for the threads from standard input. Thread 0 is the first thread.
 * All orders in one write are carried out at the same time.
 *
 *   exit THREAD                     pthread_exit(3)
 *   exec THREAD US PROGRAM          in so many us, execve(2) of PROGRAM, with the argument 300
 *   lower THREAD POLICY PRIORITY    sched_setscheduler(2) by the thread itself, with reset-on-fork
 *   name THREAD TEXT                prctl(PR_SET_NAME)
 *   write US FILE TEXT              in so many us, TEXT and a newline to FILE, by a rename
 *   remove US FILE                  in so many us
 *   stopped                         prints "stopped": the process has read all orders before this one */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 1024, TEXT = 512 };

struct worker {
    pthread_mutex_t lock;
    pthread_cond_t told;
    char order[TEXT];
    pid_t tid;
};
static struct worker workers[THREADS];

/* Spins, because a thread that sleeps may wake late. */
static void after(long us)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

static void obey(const char *order)
{
    char program[TEXT], text[TEXT];
    long us;
    int policy, priority;
    if (strncmp(order, "exit", 4) == 0)
        pthread_exit(NULL);
    if (sscanf(order, "exec %*d %ld %511s", &us, program) == 2) {
        after(us);
        execl(program, program, "300", (char *)NULL);
    }
    if (sscanf(order, "lower %*d %d %d", &policy, &priority) == 2)
        (void)sched_setscheduler(0, policy | SCHED_RESET_ON_FORK,
                                 &(struct sched_param){.sched_priority = priority});
    if (sscanf(order, "name %*d %511s", text) == 1)
        (void)prctl(PR_SET_NAME, text);
}

static void *work(void *of)
{
    struct worker *self = of;
    char order[TEXT];
    __atomic_store_n(&self->tid, gettid(), __ATOMIC_RELEASE);
    for (;;) {
        pthread_mutex_lock(&self->lock);
        while (self->order[0] == '\0')
            pthread_cond_wait(&self->told, &self->lock);
        memcpy(order, self->order, sizeof order);
        self->order[0] = '\0';
        pthread_mutex_unlock(&self->lock);
        obey(order);
    }
    return NULL;
}

static void tell(struct worker *worker, const char *order)
{
    pthread_mutex_lock(&worker->lock);
    snprintf(worker->order, sizeof worker->order, "%s", order);
    pthread_cond_signal(&worker->told);
    pthread_mutex_unlock(&worker->lock);
}

static void write_file(const char *file, const char *text)
{
    char beside[TEXT + 8];
    const char *name = strrchr(file, '/');
    name = name == NULL ? file : name + 1;
    snprintf(beside, sizeof beside, "%.*s.%s", (int)(name - file), file, name);
    FILE *out = fopen(beside, "we");
    if (out == NULL)
        return;
    fprintf(out, "%s\n", text);
    fclose(out);
    (void)rename(beside, file);
}

/* A thread of its own, so that it acts beside the other threads. */
static void *change_file(void *of)
{
    char *order = of, file[TEXT], text[TEXT];
    long us;
    if (sscanf(order, "write %ld %511s %511[^\n]", &us, file, text) == 3) {
        after(us);
        write_file(file, text);
    } else if (sscanf(order, "remove %ld %511s", &us, file) == 2) {
        after(us);
        (void)unlink(file);
    }
    free(order);
    return NULL;
}

static void *listen_to(void *of)
{
    char line[TEXT];
    int which;
    (void)of;
    while (fgets(line, sizeof line, stdin) != NULL) {
        pthread_t changer;
        if (strcmp(line, "stopped\n") == 0)
            puts("stopped");
        else if (strncmp(line, "write", 5) == 0 || strncmp(line, "remove", 6) == 0) {
            if (pthread_create(&changer, NULL, change_file, strdup(line)) == 0)
                pthread_detach(changer);
        } else if (sscanf(line, "%*s %d", &which) == 1 && which >= 0 && which < THREADS)
            tell(&workers[which], line);
    }
    _exit(0);
}

static void print_ids(int count)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i <= count; i++) {
        while (__atomic_load_n(&workers[i].tid, __ATOMIC_ACQUIRE) == 0)
            (void)nanosleep(&moment, NULL);
        printf("%d%c", (int)workers[i].tid, i == count ? '\n' : ' ');
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const int count = argc == 2 ? atoi(argv[1]) : 0;
    if (count < 1 || count >= THREADS)
        return 64;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    workers[0].tid = getpid();
    for (int i = 0; i <= count; i++) {
        pthread_mutex_init(&workers[i].lock, NULL);
        pthread_cond_init(&workers[i].told, NULL);
        if (i > 0 && pthread_create(&thread, NULL, work, &workers[i]) != 0)
            return 71;
    }
    print_ids(count);
    if (pthread_create(&thread, NULL, listen_to, NULL) != 0)
        return 71;
    (void)work(&workers[0]);
    return 0;
}
