#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "event.h"
#include "supervise.h"
#include "units.h"

static const int64_t fresh_for = INT64_C(10000000000), answer_within = INT64_C(5000000000);

/* A question to the account database, which answers questions in order. */
struct question {
    STAILQ_ENTRY(question) next;
    struct account *account;
    bool is_last;
    char name[80]; /* if `account` is NULL: the name in acl.conf that the question is about */
};
STAILQ_HEAD(questions, question);
enum { LAST_AT_ONCE = 8, ROOM = 256 };

static struct {
    struct program lookup;
    struct account *accounts, nameless;
    /* asked: questions that wait for their answers; last: questions that are sent when few
     * questions are in `asked` */
    struct questions asked, last;
    unsigned most; /* unused accounts are freed when there are this many accounts */
    int count,
        urgent; /* the number of questions in `asked`, and how many of them were not in `last` */
    void (*tell)(struct account *account);
} names = {.most = ROOM,
           .nameless.queue.reservations = TAILQ_HEAD_INITIALIZER(names.nameless.queue.reservations),
           .asked = STAILQ_HEAD_INITIALIZER(names.asked),
           .last = STAILQ_HEAD_INITIALIZER(names.last)};

static void names_send(const struct question *question)
{
    struct coprocess *process = &names.lookup.process;
    if (!supervise_runs(&names.lookup))
        return; /* the questions are sent when the program is back */
    paragraph_add(&process->output, "op", question->account != NULL ? "user" : "known");
    paragraph_add(&process->output, "id", "0");
    if (question->account != NULL)
        paragraph_add_number(&process->output, "uid", question->account->uid);
    else
        paragraph_add(&process->output, "name", question->name);
    paragraph_close(&process->output);
    (void)coprocess_flush(process);
}

/* Sets the time within which the first question has to be answered. */
static void names_expect(void)
{
    supervise_expect(&names.lookup, STAILQ_EMPTY(&names.asked) ? INT64_MAX : answer_within);
}

unsigned accounts_known(void)
{
    return HASH_COUNT(names.accounts);
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

/* Frees the accounts that are not held (account_hold), except accounts with a question under
 * way. */
static void forget_unused(void)
{
    struct account *account, *next;
    HASH_ITER (hh, names.accounts, account, next)
        if (account->held == 0 && account->state != ACCOUNT_ASKED) {
            HASH_DEL(names.accounts, account);
            forget_groups(account);
            free(account);
        }
}

/* Frees unused accounts each time the number of accounts has doubled, so that the mean cost for a
 * new account does not grow with the number of accounts. */
static void make_room(void)
{
    if (HASH_COUNT(names.accounts) < names.most)
        return;
    forget_unused();
    names.most = 2 * HASH_COUNT(names.accounts) + ROOM;
}

struct account *account_find(uid_t uid)
{
    struct account *account;
    HASH_FIND(hh, names.accounts, &uid, sizeof uid, account);
    if (account != NULL)
        return account;
    make_room();
    account = calloc(1, sizeof *account);
    if (account == NULL)
        abort();
    account->uid = uid;
    TAILQ_INIT(&account->waiting);
    queue_init(&account->queue, uid == 0);
    HASH_ADD(hh, names.accounts, uid, sizeof account->uid, account);
    return account;
}

struct account *account_bucket(struct account *account)
{
    return account->name != NULL || account->uid == 0 ? account : &names.nameless;
}

/* A number that changes when /etc/passwd or /etc/group changes. Changes in a directory server are
 * noticed after fresh_for. */
static uint64_t files_stamp(void)
{
    static const char *const files[] = {"/etc/passwd", "/etc/group"};
    uint64_t stamp = 0;
    struct stat status;
    for (int i = 0; i < 2; i++)
        if (stat(files[i], &status) == 0)
            stamp = stamp * 31 + status.st_ino + (uint64_t)status.st_ctim.tv_sec * 1000003 +
                    (uint64_t)status.st_ctim.tv_nsec;
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

static void names_ask(struct question *question)
{
    const bool is_first = STAILQ_EMPTY(&names.asked);
    STAILQ_INSERT_TAIL(&names.asked, question, next);
    names.count++;
    names.urgent += !question->is_last;
    if (is_first)
        names_expect();
    names_send(question);
}

static void names_ask_last(void)
{
    struct question *question;
    while (names.count < LAST_AT_ONCE && (question = STAILQ_FIRST(&names.last)) != NULL) {
        STAILQ_REMOVE_HEAD(&names.last, next);
        names_ask(question);
    }
}

/* False: the account is not known, or its answer is too old. The state is then ACCOUNT_ASKED, and
 * the caller asks the question, unless a question was under way before. */
static bool is_ready(struct account *account)
{
    if (account->state == ACCOUNT_ASKED)
        return false;
    uint64_t stamp = files_stamp();
    int64_t now = monotonic_now();
    if (account->state == ACCOUNT_KNOWN && account->files_stamp == stamp &&
        now - account->asked < fresh_for)
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
        names_ask(new_question(account));
    return ready;
}

bool account_ready_last(struct account *account)
{
    const bool is_asked = account->state == ACCOUNT_ASKED, ready = is_ready(account);
    if (!ready && !is_asked) {
        struct question *question = new_question(account);
        question->is_last = true;
        STAILQ_INSERT_TAIL(&names.last, question, next);
    }
    names_ask_last();
    return ready;
}

void names_warn_unknown(const char *name)
{
    struct question *question = new_question(NULL);
    snprintf(question->name, sizeof question->name, "%s", name);
    names_ask(question);
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

static void add_groups(struct account *account, const char *groups)
{
    char *copy = strdup(groups), *item;
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

/* Takes one paragraph of an answer. True: the paragraph was the last of the answer. */
static bool learn(struct account *account, const struct paragraph *answer)
{
    const char *name = paragraph_get(answer, "name"), *groups = paragraph_get(answer, "groups"),
               *gids = paragraph_get(answer, "gids");
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
    account->state = account->learning            ? ACCOUNT_ASKED
                     : strcmp(outcome, "ok") == 0 ? ACCOUNT_KNOWN
                                                  : ACCOUNT_FAILED;
    return !account->learning;
}

/* Ends a question that has its answer; answer == NULL: the question failed. */
static void names_end_question(struct question *question, const struct paragraph *answer)
{
    struct account *account = question->account;
    names.count--;
    names.urgent -= !question->is_last;
    names_ask_last();
    names_expect();
    if (account != NULL && answer == NULL) {
        account->state = ACCOUNT_FAILED;
        account->learning = false;
    } else if (account == NULL && answer != NULL &&
               strcmp(paragraph_get(answer, "answer"), "ok") != 0)
        event_broker("warning", "acl.conf names %s, but the account database has no such name",
                     question->name);
    free(question);
    if (account != NULL)
        names.tell(account);
}

/* True: the answer is about the uid of the question. The broker checks this, because the name and
 * the groups of one user must never count for another user. */
static bool is_answer_to(const struct question *question, const struct paragraph *answer)
{
    uint64_t uid;
    return paragraph_get(answer, "answer") != NULL &&
           (question->account == NULL ||
            (paragraph_get_number(answer, "uid", UINT32_MAX, &uid) == 1 &&
             uid == question->account->uid));
}

/* ---- the program ---- */

static void names_on_start(struct program *lookup, bool again)
{
    struct question *question;
    (void)lookup;
    (void)again;
    STAILQ_FOREACH (question, &names.asked, next)
        names_send(question); /* these questions were added while the program did not run */
    names_expect();
}

static bool names_on_message(struct program *lookup, const struct paragraph *answer, int *fd)
{
    struct question *question = STAILQ_FIRST(&names.asked);
    (void)lookup;
    (void)fd;
    if (question == NULL || !is_answer_to(question, answer))
        return false;
    names_expect();
    if (question->account != NULL && !learn(question->account, answer))
        return true; /* more paragraphs follow */
    STAILQ_REMOVE_HEAD(&names.asked, next);
    names_end_question(question, answer);
    return true;
}

/* Call this when the program has ended. The questions that the program had received fail. Later
 * questions are sent when the program runs again. */
static void names_on_gone(struct program *lookup, const char *why)
{
    struct questions owed = STAILQ_HEAD_INITIALIZER(owed);
    struct question *question;
    (void)lookup;
    (void)why;
    STAILQ_CONCAT(&owed, &names.asked);
    while ((question = STAILQ_FIRST(&owed)) != NULL) {
        STAILQ_REMOVE_HEAD(&owed, next);
        names_end_question(question, NULL);
    }
}

static const struct program_description lookup_is = {
    .name = "the account lookup",
    .kind = CHILD_LOOKUP,
    .talk = COPROCESS_PIPES,
    SUPERVISE_EACH_SECOND,
    .on_start = names_on_start,
    .on_message = names_on_message,
    .on_gone = names_on_gone,
};

void names_prepare(char *path, struct identity_to_run_as as, void (*known)(struct account *account))
{
    names.tell = known;
    char *const argv[] = {path, NULL};
    supervise_prepare(&names.lookup, &lookup_is, argv, as);
}

bool names_start(void)
{
    return supervise_start(&names.lookup, -1, -1);
}

bool names_are_settled(bool all)
{
    return (all ? STAILQ_EMPTY(&names.asked) : names.urgent == 0) &&
           names.lookup.state != PROGRAM_BACKING_OFF;
}

bool account_has_gid(const struct account *account, gid_t gid)
{
    for (int i = 0; i < account->gid_count; i++)
        if (account->gids[i] == gid)
            return true;
    return false;
}
