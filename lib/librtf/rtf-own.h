/* The private structures behind the handles of rtf.h. */
#ifndef RTF_OWN_H
#define RTF_OWN_H

#include <pthread.h>
#include <stdatomic.h>

#include "client.h"
#include "rtf.h"

enum { OWN_PLUGIN = 33, OWN_CPUS = 128, OWN_CODE = 32, OWN_TIME = 32 };

/* The indices of keys whose values are kept as JSON texts. OWN_REST is one object with all keys for
 * which rtf.h has no call. */
enum { OWN_MODES, OWN_UNITS, OWN_NETWORK, OWN_DISK, OWN_THREADS, OWN_REST, OWN_TEXTS };
enum { OWN_MODE = 32, OWN_AMOUNTS = OWN_THREADS - OWN_UNITS + 1 };

struct own_params {
    uint64_t runtime, desired_runtime, period, deadline, expires;
    unsigned priority;
    bool ignore_admission, lasting, waits;
    char plugin[OWN_PLUGIN], cpus[OWN_CPUS], name[CLIENT_NAME_MAX + 1];
    unsigned importance, weight;
    bool dry_run;
    char mode[OWN_MODE];
    const char *texts[OWN_TEXTS]; /* borrowed from the caller, or from a spec handle */
};
_Static_assert(sizeof(struct own_params) <= sizeof(struct rtf_params),
               "struct rtf_params cannot grow: programs are compiled with its size");

/* The largest number of inotify watches that a connection keeps for later calls. */
enum { SPARE = 64 };

struct rtf_connection_own {
    /* protects the list `specs`; a thread that holds this lock may take the lock of a spec */
    pthread_mutex_t list;
    /* Protects the other members. If a thread needs several locks, it takes this lock last. The
     * descriptor numbers in `client` never change, so reading them needs no lock. */
    pthread_mutex_t lock;
    /* its member `why` is unused, because calls work on copies of the client */
    struct client client;
    char *spool;
    char why[CLIENT_WHY];
    uint64_t timeout;
    bool blocking;
    pid_t process;  /* generated names have the form task-PROCESS-MADE */
    unsigned made;  /* the number of generated names */
    uint64_t token; /* the next token; the first one is random */
    unsigned calls; /* the number of calls that wait now */
    struct client_watch spare[SPARE];
    int spares;
    int poll, events; /* the descriptors for rtf_fd; -1 before the first call of rtf_fd */
    struct rtf_spec_own *specs;
};

/* The kind of the last request. */
enum own_request { OWN_NOTHING, OWN_CREATE, OWN_CHANGE, OWN_ATTACH, OWN_DETACH, OWN_RELEASE };

struct rtf_spec_own {
    struct rtf_connection_own *connection;
    struct rtf_spec *handle;
    struct rtf_spec_own *next, *before;
    pthread_mutex_t lock; /* protects the members below */
    enum own_request request;
    char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN];
    /* the inode of the NAME.json that belongs to this handle; 0: there is no such file */
    ino_t inode;
    pid_t awaited; /* the thread to be attached; 0: none */
    bool has_key;  /* the thread was attached with the key "attach", not with NAME.tid */
    bool lasting;
    /* true: the spec is a program file (rules for threads), and may be granted before any thread
     * has a reservation */
    bool is_program;
    /* the text of the spec in force, if a later change was not granted; NULL: the file has the text
     * in force */
    char *former;
    /* the value of the key "time" in the verdict from which the members below come. Each verdict
     * has another time */
    char decided[OWN_TIME];
    /* a descriptor (O_PATH) of the verdict that the library has looked at last; -1: none. When the
     * broker replaces or removes the verdict, this file has no name any more. The number of the
     * descriptor never changes, because other threads may use it; dup3(2) puts a new file behind
     * the number */
    _Atomic int verdict;
    /* the text of the answer, not parsed yet; NULL: the members below have the contents of the
     * answer */
    _Atomic(char *) unread;
    enum rtf_result result;
    char reason[CLIENT_WHY], code[OWN_CODE];
    uint64_t nearest, nearest_minimum;
    _Atomic bool granted, attached;
    _Atomic bool served; /* true: a thread was attached at the end of the last call */
    _Atomic uint64_t accepted_runtime, period;
    uint64_t deadline;
    char plugin[OWN_PLUGIN], policy[16], cpus[CLIENT_WHY], mode[OWN_MODE];
    uint64_t runtime_in_mode, amounts[OWN_AMOUNTS];
    char *texts[OWN_TEXTS]; /* the texts that rtf_params_from_spec has returned to the program */
    _Atomic pid_t thread;
    uint64_t pace;      /* us: the period of the last rtf_task_wait */
    int64_t activation; /* ns */
    uint64_t missed;
};

/* Makes a copy of the connection's client, which is connected to the broker that runs now. After
 * CLIENT_OK the caller has to give the copy back with own_return. */
enum client_outcome own_take(struct rtf_connection_own *connection, struct client *client,
                             int64_t until);
/* Like own_take, but does not check whether the broker still runs. This saves a system call; the
 * wait for the answer notices the broker's end. */
enum client_outcome own_take_at_once(struct rtf_connection_own *connection, struct client *client);
/* After a failed request: enters the caller's directory again if it was removed or renamed. Returns
 * true if it was removed or renamed. */
bool own_enter_again(struct rtf_connection_own *connection, struct client *client);
void own_return(struct rtf_connection_own *connection, struct client *client);

/* Makes a token that no other request of this connection has. */
void own_make_token(struct rtf_connection_own *connection, char token[static CLIENT_TOKEN]);

/* own_enlist puts the spec into the list of its connection, and own_strike takes it out. */
void own_enlist(struct rtf_spec_own *spec);
void own_strike(struct rtf_spec_own *spec);

struct own_params own_params(const struct rtf_params *params);
void own_keep_params(struct rtf_params *params, const struct own_params *own);

/* Returns the index in `texts` of the value of this key; -1: no text has this key. */
int own_text_of(const char *key);

/* Returns the text of a spec file, which the caller frees. attach: a thread's id; 0: leave the key
 * out; -1: null, which detaches. NULL with errno: out of memory, or a word in *asked is not
 * UTF-8. */
char *own_write(const struct own_params *asked, pid_t attach, const char *token);

/* Reads the text of a spec file into *params. texts: before the call, the strings of an earlier
 * call, or NULL; after the call, the strings to which *params points. The caller frees the strings.
 * False: the text is not a spec, or has values that struct own_params cannot hold. */
bool own_parse(const char *text, struct own_params *params, char *texts[static OWN_TEXTS]);

/* Copies the connection's client, without a watch and without messages. */
void own_copy(struct rtf_connection_own *connection, struct client *client);

/* Ends the handle. Removes the spec from the spool if it has no thread and is not lasting. */
void own_end(struct rtf_spec_own *spec, struct client *client);

#endif
