#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "coprocess.h"
#include "event.h"
#include "units.h"

static const int64_t fresh_for = INT64_C(10000000000), answer_within = INT64_C(5000000000), restart_pause = INT64_C(1000000000);

static struct account *accounts, nameless = {.queue.reservations = TAILQ_HEAD_INITIALIZER(nameless.queue.reservations)};
static void ready(struct source *source, uint32_t events);
static void is_late(struct timer *timer);
static void start_again(struct timer *timer);

static struct coprocess lookup = {.source.ready = ready, .in = -1, .out = -1};
static struct timer oldest = {.due = is_late};    /* the oldest question's time to be answered */
static struct timer restart = {.due = start_again};
static int child;
static void (*tell)(struct account *account);

/* Questions are answered in order. */
struct question {
    STAILQ_ENTRY(question) next;
    struct account *account;
    bool is_last;
    char name[80]; /* of a question about a name in acl.conf */
};
STAILQ_HEAD(questions, question);
static struct questions questions = STAILQ_HEAD_INITIALIZER(questions), last = STAILQ_HEAD_INITIALIZER(last); /* last: not sent yet */
static int asked, urgent; /* asked: how many `questions` has; urgent: how many of them were never in `last` */
enum { LAST_AT_ONCE = 8 };
static int64_t started; /* not more often than once a second */

static void send(const struct question *question)
{
    if (!lookup.running)
        return; /* when it is back */
    paragraph_add(&lookup.output, "op", question->account != NULL ? "user" : "known");
    paragraph_add(&lookup.output, "id", "0");
    if (question->account != NULL)
        paragraph_add_number(&lookup.output, "uid", question->account->uid);
    else
        paragraph_add(&lookup.output, "name", question->name);
    paragraph_close(&lookup.output);
    (void)coprocess_flush(&lookup);
}

void names_prepare(char *path, struct identity_to_run_as as, void (*known)(struct account *account))
{
    tell = known;
    char *const argv[] = {path, NULL};
    child = launcher_add(CHILD_LOOKUP, argv, as);
}

bool names_start(void)
{
    struct question *question;
    started = monotonic_now();
    if (!coprocess_start(&lookup, child, COPROCESS_PIPES, -1, -1)) {
        timer_set(&restart, started + restart_pause);
        return false;
    }
    STAILQ_FOREACH(question, &questions, next)
        send(question); /* asked while it was away */
    return true;
}

unsigned accounts_known(void)
{
    return HASH_COUNT(accounts);
}

void account_hold(struct account *account)
{
    account->held++;
}

void account_let_go(struct account *account)
{
    account->held--;
}

static void forget_groups(struct account *account);

/* What was asked for is answered first. */
static void forget_unused(void)
{
    struct account *account, *next;
    HASH_ITER(hh, accounts, account, next)
        if (account->held == 0 && account->state != ACCOUNT_ASKED) {
            HASH_DEL(accounts, account);
            forget_groups(account);
            free(account);
        }
}

/* Each time that there are twice as many as there were left: one look at each for each new one, all in all. */
static void make_room(void)
{
    enum { ROOM = 256 };
    static unsigned most = ROOM;
    if (HASH_COUNT(accounts) < most)
        return;
    forget_unused();
    most = 2 * HASH_COUNT(accounts) + ROOM;
}

struct account *account_find(uid_t uid)
{
    struct account *account;
    HASH_FIND(hh, accounts, &uid, sizeof uid, account);
    if (account != NULL)
        return account;
    make_room();
    account = calloc(1, sizeof *account);
    if (account == NULL)
        abort();
    account->uid = uid;
    TAILQ_INIT(&account->waiting);
    queue_init(&account->queue, uid == 0);
    HASH_ADD(hh, accounts, uid, sizeof account->uid, account);
    return account;
}

struct account *account_bucket(struct account *account)
{
    return account->name != NULL || account->uid == 0 ? account : &nameless;
}

/* Changes whenever one of the two files does; a directory server is covered by fresh_for. */
static uint64_t files_stamp(void)
{
    static const char *const files[] = {"/etc/passwd", "/etc/group"};
    uint64_t stamp = 0;
    struct stat status;
    for (int i = 0; i < 2; i++)
        if (stat(files[i], &status) == 0)
            stamp = stamp * 31 + status.st_ino + (uint64_t)status.st_ctim.tv_sec * 1000003 + (uint64_t)status.st_ctim.tv_nsec;
    return stamp;
}

static struct question *new_question(struct account *account)
{
    struct question *question = calloc(1, sizeof *question);
    if (question == NULL)
        abort();
    question->account = account;
    return question;
}

static void ask(struct question *question)
{
    if (STAILQ_EMPTY(&questions))
        timer_set(&oldest, monotonic_now() + answer_within);
    STAILQ_INSERT_TAIL(&questions, question, next);
    asked++;
    urgent += !question->is_last;
    send(question);
}

static void ask_last(void)
{
    struct question *question;
    while (asked < LAST_AT_ONCE && (question = STAILQ_FIRST(&last)) != NULL) {
        STAILQ_REMOVE_HEAD(&last, next);
        ask(question);
    }
}

/* False: nothing is known of the account, or that is too old, and the caller asks unless it was asked already. */
static bool is_ready(struct account *account)
{
    if (account->state == ACCOUNT_ASKED)
        return false;
    uint64_t stamp = files_stamp();
    int64_t now = monotonic_now();
    if (account->state == ACCOUNT_KNOWN && account->files_stamp == stamp && now - account->asked < fresh_for)
        return true;
    account->state = ACCOUNT_ASKED;
    account->asked = now;
    account->files_stamp = stamp;
    return false;
}

bool account_ready(struct account *account)
{
    const bool is_asked = account->state == ACCOUNT_ASKED, ready = is_ready(account);
    if (!ready && !is_asked)
        ask(new_question(account));
    return ready;
}

bool account_ready_last(struct account *account)
{
    const bool is_asked = account->state == ACCOUNT_ASKED, ready = is_ready(account);
    if (!ready && !is_asked) {
        struct question *question = new_question(account);
        question->is_last = true;
        STAILQ_INSERT_TAIL(&last, question, next);
    }
    ask_last();
    return ready;
}

void names_warn_unknown(const char *name)
{
    struct question *question = new_question(NULL);
    snprintf(question->name, sizeof question->name, "%s", name);
    ask(question);
}

static void forget_groups(struct account *account)
{
    for (char **group = account->groups; group != NULL && *group != NULL; group++)
        free(*group);
    free(account->groups);
    free(account->gids);
    free(account->name);
    account->groups = NULL;
    account->gids = NULL;
    account->name = NULL;
    account->gid_count = 0;
}

static void *grow(void *list, int count, size_t size)
{
    void *longer = realloc(list, ((size_t)count + 2) * size);
    if (longer == NULL)
        abort();
    return longer;
}

static void add_groups(struct account *account, const char *names)
{
    char *copy = strdup(names), *item;
    int count = 0;
    while (account->groups != NULL && account->groups[count] != NULL)
        count++;
    for (char *rest = copy; (item = strsep(&rest, ",")) != NULL;) {
        account->groups = grow(account->groups, count, sizeof *account->groups);
        account->groups[count++] = strdup(item);
        account->groups[count] = NULL;
    }
    free(copy);
}

static void add_gids(struct account *account, const char *gids)
{
    char *copy = strdup(gids), *item;
    uint64_t gid;
    for (char *rest = copy; (item = strsep(&rest, ",")) != NULL;)
        if (parse_number(item, UINT32_MAX, &gid)) {
            account->gids = grow(account->gids, account->gid_count, sizeof *account->gids);
            account->gids[account->gid_count++] = (gid_t)gid;
        }
    free(copy);
}

/* One paragraph of perhaps several. True: it was the last one. */
static bool learn(struct account *account, const struct paragraph *answer)
{
    const char *name = paragraph_get(answer, "name"), *groups = paragraph_get(answer, "groups"), *gids = paragraph_get(answer, "gids");
    const char *outcome = paragraph_get(answer, "answer");
    if (!account->learning)
        forget_groups(account);
    if (name != NULL && account->name == NULL)
        account->name = strdup(name);
    if (groups != NULL)
        add_groups(account, groups);
    if (gids != NULL)
        add_gids(account, gids);
    account->learning = strcmp(outcome, "more") == 0;
    account->state = account->learning ? ACCOUNT_ASKED : strcmp(outcome, "ok") == 0 ? ACCOUNT_KNOWN : ACCOUNT_FAILED;
    return !account->learning;
}

static struct account *take_question(const struct paragraph *answer)
{
    struct question *question = STAILQ_FIRST(&questions);
    struct account *account = question->account;
    timer_set(&oldest, monotonic_now() + answer_within);
    if (account != NULL && answer != NULL && !learn(account, answer))
        return NULL; /* more of it is to come */
    STAILQ_REMOVE_HEAD(&questions, next);
    asked--;
    urgent -= !question->is_last;
    ask_last();
    if (STAILQ_EMPTY(&questions))
        timer_end(&oldest);
    if (account != NULL && answer == NULL) {
        account->state = ACCOUNT_FAILED;
        account->learning = false;
    } else if (account == NULL && answer != NULL && strcmp(paragraph_get(answer, "answer"), "ok") != 0)
        event_broker("warning", "acl.conf names %s, which the account database does not know", question->name);
    free(question);
    return account;
}

/* One user's name and groups must never be taken for another's. */
static bool is_answer_to(const struct question *question, const struct paragraph *answer)
{
    uint64_t uid;
    return paragraph_get(answer, "answer") != NULL &&
           (question->account == NULL || (paragraph_get_number(answer, "uid", UINT32_MAX, &uid) == 1 && uid == question->account->uid));
}

/* Of one that is gone, or babbles, all that it owes. */
static struct account *receive(bool *alive)
{
    struct paragraph answer;
    const char *why;
    while (!STAILQ_EMPTY(&questions)) {
        int taken = *alive ? paragraph_take(&lookup.input, &answer, &why) : -1;
        if (taken == 0)
            return NULL;
        if (taken == 1 && !is_answer_to(STAILQ_FIRST(&questions), &answer))
            taken = -1;
        if (taken < 0)
            *alive = false;
        struct account *account = take_question(taken == 1 ? &answer : NULL);
        if (account != NULL)
            return account;
    }
    return NULL;
}

static void take_answers(bool alive)
{
    struct account *account;
    const bool was_alive = alive;
    while ((account = receive(&alive)) != NULL)
        tell(account);
    if (was_alive && alive)
        return;
    event_broker("error", "the account lookup ended or hung and is started again");
    coprocess_kill(&lookup);
    timer_set(&restart, started + restart_pause); /* what is asked meanwhile fails when its time is over */
}

static void ready(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
    if (!lookup.running)
        return;
    (void)coprocess_flush(&lookup);
    take_answers(coprocess_read(&lookup));
}

static void is_late(struct timer *timer)
{
    (void)timer;
    take_answers(coprocess_read(&lookup));
    if (oldest.at == 0 && !STAILQ_EMPTY(&questions)) /* nothing came */
        take_answers(false);
}

static void start_again(struct timer *timer)
{
    (void)timer;
    (void)names_start();
}

bool names_are_settled(bool all)
{
    return (all ? oldest.at == 0 : urgent == 0) && restart.at == 0;
}

bool account_has_gid(const struct account *account, gid_t gid)
{
    for (int i = 0; i < account->gid_count; i++)
        if (account->gids[i] == gid)
            return true;
    return false;
}
