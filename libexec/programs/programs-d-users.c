#include "programs-d-users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

static void add(struct orders *orders, enum what what, uid_t uid, const char *name,
                const char *text)
{
    /* the list is full: it has room for 0, 1, 3, 7, 15 ... orders */
    if ((orders->count & (orders->count + 1)) == 0) {
        struct order *list =
            reallocarray(orders->list, 2 * orders->count + 1, sizeof *orders->list);
        if (list == NULL)
            abort();
        orders->list = list;
    }
    struct order *order = &orders->list[orders->count++];
    *order = (struct order){.what = what, .uid = uid, .gid = NO_GROUP, .text = text};
    snprintf(order->name, sizeof order->name, "%s", name);
}

static int compare(const void *one, const void *other)
{
    const struct order *a = one, *b = other;
    const int by_uid = (a->uid > b->uid) - (a->uid < b->uid);
    return by_uid != 0 ? by_uid : strcmp(a->name, b->name);
}

static void sort(struct orders *orders)
{
    if (orders->count > 0)
        qsort(orders->list, orders->count, sizeof *orders->list, compare);
}

static const struct order *find(const struct orders *orders, const struct order *order)
{
    return orders->count == 0
               ? NULL
               : bsearch(order, orders->list, orders->count, sizeof *orders->list, compare);
}

void orders_free(struct orders *orders)
{
    for (size_t i = 0; i < orders->count; i++)
        free(orders->list[i].account);
    free(orders->list);
    *orders = (struct orders){0};
}

/* ---- the users of the files ---- */

/* Adds an order for the user, but not twice: the file may be for the user and for a group of the
 * user. Root gets no file, because root can make its own files, and the broker reserves for root as
 * for any user. */
static void add_once(struct orders *orders, uid_t uid, const struct given *given)
{
    for (size_t i = orders->count; i > 0; i--)
        if (strcmp(orders->list[i - 1].name, given->name) != 0)
            break;
        else if (orders->list[i - 1].uid == uid)
            return;
    if (uid != 0)
        add(orders, PUT, uid, given->name, given->text);
}

/* Adds the user whom the file names. A name that is no account but a number is a uid. */
static void add_user(struct orders *orders, const struct given *given, say *tell)
{
    uint64_t number;
    char sentence[REASON_BYTES];
    const struct passwd *account = getpwnam(given->user);
    if (account != NULL)
        add_once(orders, account->pw_uid, given);
    else if (parse_number(given->user, UINT32_MAX - 1, &number))
        add_once(orders, (uid_t)number, given);
    else {
        (void)fault_in(sentence, sizeof sentence, "programs.d/%s.json: there is no user %.200s",
                       given->name + strlen(GIVEN_PREFIX), given->user);
        tell("warning", sentence);
    }
}

static void add_accounts_of(struct orders *orders, const struct given *given, gid_t group)
{
    setpwent();
    for (const struct passwd *account; (account = getpwent()) != NULL;)
        if (account->pw_gid == group)
            add_once(orders, account->pw_uid, given);
    endpwent();
}

/* Adds the members that the group database lists, and the accounts that have the group as their
 * primary group. */
static void add_group(struct orders *orders, const struct given *given, say *tell)
{
    char sentence[REASON_BYTES];
    const struct group *group = getgrnam(given->group);
    if (group == NULL) {
        (void)fault_in(sentence, sizeof sentence, "programs.d/%s.json: there is no group %.200s",
                       given->name + strlen(GIVEN_PREFIX), given->group);
        tell("warning", sentence);
        return;
    }
    for (char **member = group->gr_mem; *member != NULL; member++) {
        const struct passwd *account = getpwnam(*member);
        if (account != NULL)
            add_once(orders, account->pw_uid, given);
    }
    add_accounts_of(orders, given, group->gr_gid);
}

void orders_for(struct orders *orders, const struct given *list, say *tell)
{
    for (const struct given *given = list; given != NULL; given = given->next) {
        if (given->text != NULL && given->user != NULL)
            add_user(orders, given, tell);
        if (given->text != NULL && given->group != NULL)
            add_group(orders, given, tell);
    }
    sort(orders);
}

/* ---- what was given before ---- */

static bool is_wrong_now(const struct given *list, const char *name)
{
    while (list != NULL && (list->text != NULL || strcmp(list->name, name) != 0))
        list = list->next;
    return list != NULL;
}

void orders_compare(struct orders *orders, const struct orders *before, const struct given *list)
{
    struct orders added = {0};
    for (size_t i = 0; i < before->count; i++)
        if (find(orders, &before->list[i]) == NULL)
            add(&added, is_wrong_now(list, before->list[i].name) ? KEEP : REMOVE,
                before->list[i].uid, before->list[i].name, NULL);
    for (size_t i = 0; i < added.count; i++)
        add(orders, added.list[i].what, added.list[i].uid, added.list[i].name, NULL);
    orders_free(&added);
    sort(orders);
}

/* ---- accounts ---- */

static void look_up(struct order *order)
{
    const struct passwd *account = getpwuid(order->uid);
    if (account == NULL)
        return;
    order->gid = account->pw_gid;
    order->account = strdup(account->pw_name);
    if (order->account == NULL)
        abort();
}

/* Only the first order of a user matters to the worker. */
void orders_look_up(struct orders *orders)
{
    for (size_t i = 0; i < orders->count; i++)
        if (i == 0 || orders->list[i].uid != orders->list[i - 1].uid)
            look_up(&orders->list[i]);
}

/* ---- the record: a line "UID NAME" for each file ---- */

static const char record[] = "programs", record_new[] = "programs.new";

bool record_read(int directory, struct orders *before)
{
    char name[NAME_BYTES];
    unsigned uid;
    const int fd = openat(directory, record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    *before = (struct orders){0};
    if (file == NULL)
        return errno == ENOENT;
    while (fscanf(file, "%u %64s", &uid, name) == 2)
        add(before, KEEP, uid, name, NULL);
    sort(before);
    (void)fclose(file);
    return true;
}

bool record_write(int directory, const struct orders *orders, bool removed)
{
    const int fd =
        openat(directory, record_new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL)
        return false;
    for (size_t i = 0; i < orders->count; i++)
        if (!removed || orders->list[i].what != REMOVE)
            fprintf(file, "%u %s\n", (unsigned)orders->list[i].uid, orders->list[i].name);
    const bool good = fflush(file) == 0;
    return fclose(file) == 0 && good && renameat(directory, record_new, directory, record) == 0;
}
