#include "explain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "asking.h"
#include "ledger.h"
#include "names.h"
#include "place.h"
#include "plugins.h"
#include "readers.h"
#include "request.h"
#include "spec.h"
#include "spool.h"
#include "state.h"
#include "units.h"
#include "wishes.h"

static int fault(int code, const char *sentence)
{
    fprintf(stderr, "rtf-brokerd: %s\n", sentence);
    return code;
}

/* ---- who ---- */

static bool find_uid(const char *name, uid_t *uid)
{
    uint64_t number;
    const struct passwd *account = getpwnam(name);
    if (account != NULL)
        *uid = account->pw_uid;
    else if (parse_number(name, UINT32_MAX - 1, &number))
        *uid = (uid_t)number;
    else
        return false;
    return true;
}

static struct user *new_user(const char *name, uid_t uid)
{
    bool alive = true;
    struct user *user = allocate(sizeof *user);
    snprintf(user->name, sizeof user->name, "%s", name);
    user->uid = uid;
    user->directory = -1;
    reader_init(user);
    user->gone = true; /* no file of it is looked at */
    user->account = account_find(uid);
    account_hold(user->account);
    while (user->account->state != ACCOUNT_FAILED && !account_ready(user->account) && names_deadline() != INT64_MAX && alive) {
        names_wait(&alive);
        while (names_receive(&alive) != NULL)
            ;
    }
    return user;
}

/* ---- what is granted already ---- */

static struct user **users;
static int user_count;

static struct user *user_of(const char *name, uid_t uid)
{
    for (int i = 0; i < user_count; i++)
        if (users[i]->uid == uid)
            return users[i]; /* who has two directories has one here: their wishes count together */
    users = realloc(users, ((size_t)user_count + 1) * sizeof(struct user *));
    if (users == NULL)
        abort();
    return users[user_count++] = new_user(name, uid);
}

static void take_up(int specs, const struct recorded_wish *recorded)
{
    struct stat status;
    struct grant *grant = allocate(sizeof *grant);
    *grant = recorded->grant;
    grant->plugin = plugin_index(recorded->plugin);
    if (grant->plugin < 0 || fstatat(specs, recorded->user, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        free(grant);
        return;
    }
    struct wish *wish = wish_find(user_of(recorded->user, status.st_uid), recorded->name, true);
    grant->utilization = grant_utilization(grant);
    acl_charge(rules, wish->user->account, grant->plugin, acl_weight(&grant->spec, grant->plan.runtime), &grant->charge);
    grant_book(wish, grant);
    (void)plugin_schedule(grant->plugin, wish->task, grant);
}

/* False: it is not known what is in use. */
static bool take_up_all(const char *path)
{
    char reason[REASON_BYTES];
    struct recorded_state state;
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int specs = root < 0 ? -1 : openat(root, "specs", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    spool.lasting = root < 0 ? -1 : openat(root, "state", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (spool.lasting >= 0)
        place_find();
    bool read = specs >= 0 && spool.state >= 0 && state_read(&state, reason);
    for (int i = 0; read && state.same_boot && i < state.count; i++)
        if (state.wishes[i].granted)
            take_up(specs, &state.wishes[i]);
    if (read)
        state_free(&state);
    if (root >= 0)
        close(root);
    return read;
}

/* ---- the wish ---- */

static char *read_file(const char *path, size_t *length)
{
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = malloc(SPEC_BYTES_MAX + 2);
    ssize_t got = 1;
    if (text == NULL)
        abort();
    for (*length = 0; fd >= 0 && got > 0 && *length <= SPEC_BYTES_MAX; *length += got > 0 ? (size_t)got : 0)
        got = read(fd, text + *length, SPEC_BYTES_MAX + 1 - *length);
    if (fd < 0 || got < 0) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

/* A wish that is granted already is explained as a change. */
static struct wish *wish_called(struct user *user, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1, *dot = strrchr(name, '.');
    char plain[NAME_BYTES] = "explained";
    if (dot != NULL && strcmp(dot, ".json") == 0 && name_is_valid(name, (size_t)(dot - name), NAME_BYTES - 1))
        snprintf(plain, sizeof plain, "%.*s", (int)(dot - name), name);
    return wish_find(user, plain, true);
}

/* ---- asking, with nothing else to do ---- */

static struct request *request;
static enum next next;
static bool restarted;

static void take_answers(int plugin)
{
    struct plugin_event event;
    while (plugin_receive(plugin, &event)) {
        if (event.kind == PLUGIN_UP)
            restarted = true;
        else if (event.kind == PLUGIN_UPDATE)
            printf("  %s would move task %llu\n", plugin_line(plugin)->name, (unsigned long long)event.task);
        else if (event.kind == PLUGIN_ANSWER && next == WAIT && take_waiting_for_plugin(event.id) == request)
            next = plugin_answered(request, &event);
    }
}

static void wait_for_plugins(void)
{
    struct epoll_event ready[LOOP_EVENTS];
    plugins_flush();
    int count = loop_wait(ready, plugins_deadline(), INT64_MAX);
    for (int i = 0; i < count; i++) {
        const struct source *source = ready[i].data.ptr;
        if (source->kind == SOURCE_PLUGIN)
            plugin_read(source->index);
    }
    plugins_expire(monotonic_now());
    for (int i = 0; i < plugins_count(); i++)
        take_answers(i);
}

static void show_rules(const struct wish *wish)
{
    const struct grant *const own[2] = {wish->grant, NULL};
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (request->spec.plugin != NULL && strcmp(request->spec.plugin, line->name) != 0)
            continue;
        printf("%s:\n", line->name);
        acl_explain(rules, wish->user->account, i, &request->spec, own, stdout);
    }
}

static void show_replies(void)
{
    static const char *const answers[] = {"ok", "partial", "no", "restarting"};
    const struct outcome *outcome = &request->outcome;
    for (int i = 0; i < outcome->reply_count; i++)
        printf("%s answers %s%s%s\n", plugin_line(outcome->replies[i].plugin)->name, answers[outcome->replies[i].answer],
               outcome->replies[i].reason[0] == '\0' ? "" : ": ", outcome->replies[i].reason);
}

static int show_outcome(const struct wish *wish)
{
    char cpus[CPU_LIST_TEXT], share[UTILIZATION_TEXT];
    const struct grant *grant = wish->grant;
    const struct refusal *refusal = &request->outcome.refusal;
    if (next == ENFORCE) {
        printf("granted by %s: %s on CPU %s", plugin_line(grant->plugin)->name, policy_name(grant->plan.policy), format_cpus(&grant->plan.cpus, cpus));
        if (grant->plan.priority != 0)
            printf(", priority %d", grant->plan.priority);
        if (grant->plan.runtime != 0)
            printf(", runtime %lluus, %s of a CPU", (unsigned long long)grant->plan.runtime, format_utilization(grant->utilization, share));
        putchar('\n');
        return EX_OK;
    }
    printf("refused: %s\n", request->outcome.reason);
    if (refusal->nearest != 0)
        printf("nearest runtime that would be granted: %lluus\n", (unsigned long long)refusal->nearest);
    return 1;
}

static bool may_use_the_spool(const struct account *account)
{
    return account->uid == 0 || acl_names_uid(rules, account->uid) || account_has_gid(account, spool.group);
}

int explain(const char *wish_path, const char *user_name, const char *spool_path)
{
    char reason[REASON_BYTES];
    uid_t uid;
    size_t length;
    if (!find_uid(user_name, &uid))
        return fault(EX_NOUSER, "--as takes the name of a user or a uid");
    char *text = read_file(wish_path, &length);
    if (text == NULL)
        return fault(EX_NOINPUT, strerror(errno));
    if (!names_restart() || !plugins_start(reason))
        return fault(EX_CONFIG, reason);
    if (!take_up_all(spool_path))
        printf("what is granted on %s cannot be read: it is explained as if nothing were in use\n", spool_path);
    const struct passwd *account = getpwuid(uid);
    struct wish *wish = wish_called(user_of(account == NULL ? user_name : account->pw_name, uid), wish_path);
    request = request_begin(wish, wish->grant != NULL ? CHANGE : CREATE);
    if (length > SPEC_BYTES_MAX || !spec_parse(text, length, &request->spec, reason)) {
        printf("no wish: %s\n", length > SPEC_BYTES_MAX ? "it has more than 64 KiB" : reason);
        return EX_DATAERR;
    }
    if (wish->user->account->state == ACCOUNT_FAILED)
        return fault(EX_TEMPFAIL, "the account database does not answer");
    if (!may_use_the_spool(wish->user->account)) {
        printf("refused: uid %u is not a member of the spool's group %u, and acl.conf does not name it\n", uid, spool.group);
        return 1;
    }
    show_rules(wish);
    for (next = ask_next(request); next == ASK || next == WAIT;)
        if (next == ASK)
            next = ask_next(request);
        else
            wait_for_plugins();
    show_replies();
    if (restarted)
        return fault(EX_SOFTWARE, "a plugin failed while it was asked, and has forgotten what is granted");
    return show_outcome(wish);
}
