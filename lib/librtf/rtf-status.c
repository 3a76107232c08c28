#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rtf-own.h"
#include "units.h"

static void explain(struct rtf_connection_own *own, const char *file)
{
    pthread_mutex_lock(&own->lock);
    /* NOLINT(concurrency-mt-unsafe): glibc's strerror is thread-safe */
    snprintf(own->why, sizeof own->why, "%.300s/%s cannot be read: %s", own->spool, file,
             strerror(errno == 0 ? EBADMSG : errno));
    pthread_mutex_unlock(&own->lock);
}

static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = client_string(object, key);
    return value == NULL ? "" : value;
}

/* ---- status.json ---- */

struct rtf_status {
    json_t *json;
};

struct rtf_status *rtf_status_read(struct rtf_connection *connection)
{
    struct rtf_connection_own *own = connection->own;
    if (own == NULL)
        return NULL;
    struct rtf_status *status = calloc(1, sizeof *status);
    errno = 0;
    if (status != NULL && own->client.root >= 0)
        status->json = client_read_object(own->client.root, "status.json");
    if (status != NULL && status->json != NULL)
        return status;
    explain(own, "status.json");
    free(status);
    return NULL;
}

void rtf_status_free(struct rtf_status *status)
{
    if (status != NULL)
        json_decref(status->json);
    free(status);
}

uint64_t rtf_status_reservations(const struct rtf_status *status)
{
    return number(status->json, "reservations");
}

uint64_t rtf_status_attached(const struct rtf_status *status)
{
    return number(status->json, "attached");
}

size_t rtf_status_plugins(const struct rtf_status *status)
{
    return json_array_size(json_object_get(status->json, "plugins"));
}

#define OF_PLUGIN(name, key)                                                                \
    const char *name(const struct rtf_status *status, size_t plugin)                        \
    {                                                                                       \
        return text(json_array_get(json_object_get(status->json, "plugins"), plugin), key); \
    }

OF_PLUGIN(rtf_plugin_name, "name")
OF_PLUGIN(rtf_plugin_program, "program")
OF_PLUGIN(rtf_plugin_policy, "policy")
OF_PLUGIN(rtf_plugin_priorities, "priorities")
OF_PLUGIN(rtf_plugin_cpus, "cpus")
OF_PLUGIN(rtf_plugin_state, "state")

static bool is_bounded_by(const json_t *pool, const char *plugin, int cpu)
{
    cpu_set_t cpus;
    const char *own = client_string(pool, "plugin"), *list = client_string(pool, "cpus");
    return (own == NULL || strcmp(own, plugin) == 0) && list != NULL && parse_cpus(list, &cpus) &&
           cpu >= 0 && CPU_ISSET((size_t)cpu, &cpus);
}

uint64_t rtf_status_free_on(const struct rtf_status *status, const char *plugin, int cpu)
{
    const json_t *pools = json_object_get(status->json, "pools");
    uint64_t least = UINT64_MAX, is_free;
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        if (is_bounded_by(pool, plugin, cpu) && parse_utilization(text(pool, "free"), &is_free) &&
            is_free < least)
            least = is_free;
    }
    return least;
}

/* ---- the caller's own specs ---- */

struct task {
    char name[CLIENT_NAME_MAX + 1];
    json_t *verdict; /* NULL: no verdict yet */
};

struct rtf_tasks {
    size_t count;
    struct task *list;
};

static bool is_spec(const char *file)
{
    const size_t length = strlen(file), tail = strlen(".json");
    return file[0] != '.' && length > tail && length <= CLIENT_NAME_MAX + tail &&
           strcmp(file + length - tail, ".json") == 0;
}

static bool add(struct rtf_tasks *tasks, int directory, const char *file)
{
    char verdict[CLIENT_NAME_MAX + sizeof ".verdict"];
    struct task *list = reallocarray(tasks->list, tasks->count + 1, sizeof *list);
    if (list == NULL)
        return false;
    tasks->list = list;
    struct task *task = &list[tasks->count++];
    snprintf(task->name, sizeof task->name, "%.*s", (int)(strlen(file) - strlen(".json")), file);
    snprintf(verdict, sizeof verdict, "%s.verdict", task->name);
    task->verdict = client_read_object(directory, verdict);
    return true;
}

static bool read_all(struct rtf_tasks *tasks, DIR *directory)
{
    const struct dirent *file;
    bool complete = true;
    /* NOLINT(concurrency-mt-unsafe): no other thread uses this stream */
    while (complete && (file = readdir(directory)) != NULL)
        complete = !is_spec(file->d_name) || add(tasks, dirfd(directory), file->d_name);
    return complete;
}

struct rtf_tasks *rtf_tasks_read(struct rtf_connection *connection)
{
    struct rtf_connection_own *own = connection->own;
    if (own == NULL)
        return NULL;
    struct rtf_tasks *tasks = calloc(1, sizeof *tasks);
    int fd = own->client.directory < 0
                 ? -1
                 : openat(own->client.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const bool complete = tasks != NULL && directory != NULL && read_all(tasks, directory);
    if (!complete) {
        explain(own, "specs");
        rtf_tasks_free(tasks);
        tasks = NULL;
    }
    if (directory != NULL)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    return tasks;
}

void rtf_tasks_free(struct rtf_tasks *tasks)
{
    if (tasks == NULL)
        return;
    for (size_t i = 0; i < tasks->count; i++)
        json_decref(tasks->list[i].verdict);
    free(tasks->list);
    free(tasks);
}

size_t rtf_tasks_count(const struct rtf_tasks *tasks)
{
    return tasks->count;
}

static const json_t *verdict_of(const struct rtf_tasks *tasks, size_t task)
{
    return task < tasks->count ? tasks->list[task].verdict : NULL;
}

static const json_t *grant_of(const struct rtf_tasks *tasks, size_t task)
{
    return json_object_get(verdict_of(tasks, task), "grant");
}

const char *rtf_task_name(const struct rtf_tasks *tasks, size_t task)
{
    return task < tasks->count ? tasks->list[task].name : "";
}

const char *rtf_task_plugin(const struct rtf_tasks *tasks, size_t task)
{
    return text(grant_of(tasks, task), "plugin");
}

const char *rtf_task_result(const struct rtf_tasks *tasks, size_t task)
{
    return text(verdict_of(tasks, task), "result");
}

pid_t rtf_task_thread(const struct rtf_tasks *tasks, size_t task)
{
    return (pid_t)number(json_object_get(verdict_of(tasks, task), "thread"), "tid");
}

uint64_t rtf_task_accepted_runtime(const struct rtf_tasks *tasks, size_t task)
{
    return number(grant_of(tasks, task), "accepted_runtime");
}

uint64_t rtf_task_period(const struct rtf_tasks *tasks, size_t task)
{
    return number(grant_of(tasks, task), "period");
}
