/* The calls of rtf.h that take a spec handle. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rtf-requests.h"
#include "rtf-verdict.h"

static struct rtf_spec_own *make(struct rtf_connection_own *connection, struct rtf_spec *handle)
{
    struct rtf_spec_own *spec = calloc(1, sizeof *spec);
    if (spec == NULL)
        return NULL;
    spec->connection = connection;
    spec->handle = handle;
    spec->verdict = -1;
    pthread_mutex_init(&spec->lock, NULL);
    handle->own = spec;
    own_enlist(spec);
    return spec;
}

static void unmake(struct rtf_spec_own *spec)
{
    own_strike(spec);
    own_forget_answer(spec);
    if (spec->verdict >= 0)
        close(spec->verdict);
    own_forget_former(spec);
    for (int i = 0; i < OWN_TEXTS; i++)
        free(spec->texts[i]);
    spec->handle->own = NULL;
    pthread_mutex_destroy(&spec->lock);
    free(spec);
}

void own_end(struct rtf_spec_own *spec, struct client *client)
{
    if (spec->inode != 0 && spec->thread == 0 && !spec->lasting && client->directory >= 0)
        client_withdraw(client, spec->name, spec->inode);
    unmake(spec);
}

/* Makes a new spec in the handle. A handle whose last request was refused can be used again. NULL:
 * the handle cannot be used, and the calling function returns *result. */
static struct rtf_spec_own *begin(const struct rtf_connection *connection, struct rtf_spec *spec,
                                  enum rtf_result *result)
{
    *result = RTF_ERROR;
    if (spec->own != NULL) {
        pthread_mutex_lock(&spec->own->lock);
        const bool ends = spec->own->request == OWN_RELEASE, holds = ends || spec->own->inode != 0;
        if (holds && !ends)
            (void)own_set_result(spec->own, RTF_ERROR, "misuse",
                                 "the handle holds a spec: release that spec first");
        pthread_mutex_unlock(&spec->own->lock);
        if (holds)
            return NULL;
        unmake(spec->own);
    }
    if (connection->own == NULL || connection->own->client.directory < 0) {
        *result = RTF_CONNECTION_ERR;
        return NULL;
    }
    return make(connection->own, spec);
}

static enum rtf_result begin_and_create(struct rtf_connection *connection, struct rtf_spec *spec,
                                        const struct rtf_params *params, pid_t thread)
{
    enum rtf_result result;
    struct rtf_spec_own *own = begin(connection, spec, &result);
    if (own == NULL)
        return result;
    const struct own_params asked = own_params(params);
    pthread_mutex_lock(&own->lock);
    result = own_create(own, &asked, thread);
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_spec_create(struct rtf_connection *connection, struct rtf_spec *spec,
                                const struct rtf_params *params)
{
    return begin_and_create(connection, spec, params, 0);
}

enum rtf_result rtf_spec_create_attached(struct rtf_connection *connection, struct rtf_spec *spec,
                                         const struct rtf_params *params, pid_t thread)
{
    return begin_and_create(connection, spec, params, thread == 0 ? gettid() : thread);
}

enum rtf_result rtf_spec_find(struct rtf_connection *connection, struct rtf_spec *spec,
                              const char *name)
{
    enum rtf_result result;
    struct rtf_spec_own *own = begin(connection, spec, &result);
    if (own == NULL)
        return result;
    pthread_mutex_lock(&own->lock);
    result = client_name_ok(name) ? own_find(own, name)
                                  : own_set_result(own, RTF_BAD_SPEC, "bad-spec", CLIENT_NAME_RULE);
    pthread_mutex_unlock(&own->lock);
    return result;
}

/* Returns the handle's spec, locked. NULL: there is no spec, and the calling function returns
 * *result. */
static struct rtf_spec_own *held(struct rtf_spec *spec, enum rtf_result *result)
{
    *result = RTF_ERROR;
    if (spec->own == NULL)
        return NULL;
    pthread_mutex_lock(&spec->own->lock);
    /* parses the answer now, so that no getter has to wait for the lock while this call waits for
     * the broker */
    own_read_answer(spec->own);
    if (spec->own->inode != 0)
        return spec->own;
    *result = own_set_result(spec->own, RTF_GONE, "gone",
                             "the spec does not exist: it was not granted, or has ended");
    pthread_mutex_unlock(&spec->own->lock);
    return NULL;
}

enum rtf_result rtf_spec_change(struct rtf_spec *spec, const struct rtf_params *params)
{
    enum rtf_result result;
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    const struct own_params asked = own_params(params);
    result = asked.dry_run ? own_set_result(own, RTF_ERROR, "misuse",
                                            "a dry run needs a new handle: call rtf_spec_create")
                           : own_rewrite(own, &asked, 0);
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_params_from_spec(struct rtf_params *params, struct rtf_spec *spec)
{
    enum rtf_result result;
    struct client client;
    struct own_params read = {.name = ""};
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    own_copy(own->connection, &client);
    char *text = own->former != NULL ? strdup(own->former) : client_read_spec(&client, own->name);
    if (text == NULL)
        result = own_set_result(own, RTF_GONE, "gone", "the spec was removed");
    else if (!own_parse(text, &read, own->texts))
        result = own_set_result(
            own, RTF_BAD_SPEC, "bad-spec",
            "another program has written a file that is not a spec with the parameters of this library");
    else
        result = RTF_OK;
    free(text);
    if (result == RTF_OK) {
        memcpy(read.name, own->name, sizeof read.name);
        own_keep_params(params, &read);
    }
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_spec_attach(struct rtf_spec *spec, pid_t thread)
{
    enum rtf_result result;
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    if (thread == 0)
        thread = gettid();
    result = own->has_key ? own_rewrite(own, NULL, thread) : own_set_thread(own, thread);
    const bool is_busy = result == RTF_ATTACH_FAIL && strcmp(own->code, "busy") == 0;
    pthread_mutex_unlock(&own->lock);
    if (is_busy)
        errno = EBUSY;
    return result;
}

enum rtf_result rtf_spec_detach(struct rtf_spec *spec)
{
    enum rtf_result result;
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    result = own->has_key ? own_rewrite(own, NULL, -1) : own_set_thread(own, 0);
    if (result == RTF_OK || result == RTF_PENDING)
        own->has_key = false;
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_spec_release(struct rtf_spec *spec)
{
    struct rtf_spec_own *own = spec->own;
    if (own == NULL)
        return RTF_OK;
    pthread_mutex_lock(&own->lock);
    const enum rtf_result result =
        own->inode == 0 && own->request != OWN_RELEASE ? RTF_OK : own_release(own);
    pthread_mutex_unlock(&own->lock);
    if (result != RTF_PENDING)
        unmake(own);
    return result;
}
