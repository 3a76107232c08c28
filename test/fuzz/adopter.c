/* Fuzzes the messages of an adopter that has been taken over. The first bytes tell which datagrams
 * come with a descriptor. */
#include "../../libexec/broker/directories/directories.c" /* NOLINT(bugprone-suspicious-include): the fuzzed function is static there */

#include <fcntl.h>

#include "fuzz.h"
#include "memory.h"
#include "reservations.h"

int max_specs = 3;
struct spool spool = {.specs = -1};

/* ---- replaces the rest of the broker ---- */

static int readers; /* the number of users with a reader */
static struct account account = {.state = ACCOUNT_KNOWN};

void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    must(memory != NULL);
    return memory;
}

struct account *account_find(uid_t uid)
{
    account.uid = uid;
    return &account;
}

bool account_ready(struct account *of)
{
    must(of == &account);
    return account.uid % 7 != 3; /* for some users, the account lookup has not finished */
}

bool account_ready_last(struct account *of)
{
    return account_ready(of);
}

struct acl *rules;

bool acl_names_uid(const struct acl *of, uid_t uid)
{
    must(of == rules);
    return uid % 5 == 2;
}

void account_hold(struct account *account)
{
    must(account->uid != (uid_t)-1);
}

void account_let_go(struct account *account)
{
    must(account->uid != (uid_t)-1);
}

struct account *user_bucket(const struct user *user)
{
    must(user->account == &account);
    return &account;
}

void reader_init(struct user *user)
{
    readers++;
    /* the adoption opens the directory */
    must(strlen(user->name) < NAME_BYTES && user->directory == -1);
}

void reader_leave(struct user *user)
{
    readers--;
    must(user->state == DIRECTORY_GONE);
}

void reader_scan(struct user *user)
{
    must(user->state == DIRECTORY_ADOPTED);
}

void scan_forget(struct user *user)
{
    must(user->state == DIRECTORY_GONE);
}

void reservation_queue(struct reservation *reservation)
{
    must(reservation != NULL && false); /* no user has a reservation */
}

/* ---- the target ---- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct paragraph_input input;
    struct paragraph said;
    struct user *next;
    const char *why;
    unsigned carries = length == 0 ? 0 : *bytes;
    directories.users = NULL;
    directories.adopting = 0;
    directories.swept = directories.scanned = false;
    must(paragraph_feed(&input, bytes + (length > 0), length - (length > 0)));
    for (bool good = true; good && paragraph_take(&input, &said, &why) == 1;
         carries = carries >> 1 | (carries & 1) << 7) {
        /* the broker's adopter code closes the descriptors, not this code */
        int fd = (carries & 1) != 0 ? 1000 : -1;
        good = directories_on_message(&directories.adopter, &said, &fd);
        must(directories.adopting >= 0 &&
             directories.adopting <= (int)HASH_COUNT(directories.users) &&
             (int)HASH_COUNT(directories.users) == readers);
    }
    for (struct user *user = directories.users; user != NULL; user = next) {
        next = user->hh.next;
        let_go(user);
    }
    users_sweep();
    must(readers == 0 && directories.adopting == 0 && LIST_EMPTY(&account.users) &&
         account.directories == 0);
    struct message *message;
    while ((message = TAILQ_FIRST(&directories.messages)) != NULL) {
        TAILQ_REMOVE(&directories.messages, message, next);
        paragraph_output_free(&message->text);
        free(message);
    }
    input.taken = input.length = 0;
    return 0;
}
