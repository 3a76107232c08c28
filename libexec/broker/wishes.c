#include "wishes.h"

#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "memory.h"
#include "names.h"
#include "readers.h"
#include "spec.h"
#include "state.h"
#include "tasks.h"

int max_wishes = 1000;

static struct wish *tasks;

/* ---- wishes ---- */

struct wish *wish_first(void)
{
    return tasks;
}

struct wish *wish_of_task(uint64_t task)
{
    struct wish *wish;
    HASH_FIND(hh_task, tasks, &task, sizeof task, wish);
    return wish;
}

struct account *user_bucket(const struct user *user)
{
    return acl_names_uid(rules, user->uid) ? user->account : account_bucket(user->account);
}

void wish_count(struct wish *wish)
{
    struct account *bucket = user_bucket(wish->user);
    if (wish->counted != NULL)
        return;
    wish->over_limit = wish->user->uid != 0 && bucket->wishes >= max_wishes;
    if (!wish->over_limit) {
        wish->counted = bucket;
        bucket->wishes++;
    }
}

void wish_uncount(struct wish *wish)
{
    if (wish->counted != NULL)
        wish->counted->wishes--;
    wish->counted = NULL;
}

struct wish *wish_find(struct user *user, const char *name, bool create)
{
    struct wish *wish;
    HASH_FIND_STR(user->wishes, name, wish);
    if (wish != NULL || !create)
        return wish;
    wish = allocate(sizeof *wish + strlen(name) + 1);
    wish->user = user;
    wish->json.fd = -1;
    memcpy(wish->name, name, strlen(name) + 1);
    wish->task = task_new();
    wish_count(wish);
    HASH_ADD_KEYPTR(hh, user->wishes, wish->name, strlen(wish->name), wish);
    HASH_ADD(hh_task, tasks, task, sizeof wish->task, wish);
    return wish;
}

void wish_keep(struct wish *wish)
{
    if (!wish->over_limit)
        return;
    wish->over_limit = false;
    wish->counted = user_bucket(wish->user);
    wish->counted->wishes++;
}

void wish_sighting_end(struct wish *wish)
{
    if (wish->sighting == NULL)
        return;
    spec_free(&wish->sighting->spec);
    free(wish->sighting);
    wish->sighting = NULL;
    open_file_close(wish->user, &wish->json);
}

void wish_forget(struct wish *wish)
{
    wish_sighting_end(wish);
    free(wish->recovery);
    turns_leave(wish);
    wish_uncount(wish);
    HASH_DELETE(hh, wish->user->wishes, wish);
    HASH_DELETE(hh_task, tasks, wish);
    free(wish->token);
    free(wish);
}

bool wish_record(struct wish *wish)
{
    wish->decided = realtime_now();
    return state_wish(wish);
}

void wish_queue(struct wish *wish)
{
    turns_add(wish, &user_bucket(wish->user)->line);
}
