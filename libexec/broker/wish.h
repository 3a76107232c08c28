/* What flows through the broker: a wish, the request that is under way for it, the grant it ends in.
 *
 * A wish is NAME.json of one user's directory. It lives as long as one of these does: its files, its grant,
 * its attachment, a request. Times are microseconds, 0 is "not stated". */
#ifndef RTF_WISH_H
#define RTF_WISH_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/queue.h>
#include <uthash.h>

#include "home.h"
#include "loop.h"
#include "thread.h"

enum { NAME_BYTES = 65, TOKEN_BYTES = 65, PLUGIN_NAME_BYTES = 33, REASON_BYTES = 512, PLUGINS_MAX = 64 };

/* One state of one file; inode 0 is "no file". fresh: it was read so early that another one can come to have the same time;
 * then the digest of its text tells. */
struct stamp {
    uint64_t inode;
    int64_t changed; /* CLOCK_REALTIME, ns */
    unsigned digest;
    bool fresh;
};

struct spec {
    uint64_t runtime, desired_runtime, period, deadline;
    int priority; /* 1..99 */
    pid_t attach;
    bool ignore_admission, lifetime_thread;
    bool move_process; /* its whole process may be moved into a domain */
    char *plugin, *token; /* NULL, or the request's; in a grant both are NULL */
};

/* What the access rules' sums hold of one grant; acl.c's. */
struct counter;
struct charge {
    int count;
    struct charged {
        struct counter *counter;
        uint64_t amount;
    } *parts;
};

/* A plan that is in force. plan.runtime is the accepted runtime Qa, plan.deadline the relative deadline:
 * set when the spec states them, whatever the policy. utilization is 0 without a runtime. */
struct grant {
    int plugin;
    struct attributes plan;
    struct spec spec;
    uint64_t utilization;
    struct charge charge;
};

struct attachment {
    struct source source;
    struct wish *wish;
    pid_t tid, process;
    uint64_t started_by; /* thread.h */
    int pidfd;
    bool by_file;   /* asked for by NAME.tid, not by the key attach */
    bool leader_real_time; /* when it was attached, its process's first thread was real-time by itself */
    bool served;    /* it has been real-time, */
    int64_t since;  /* and for no longer than since then: CLOCK_MONOTONIC, ns; 0: not known */
    bool laid_down; /* put back at the broker's end, to be attached again by the next */
    struct attributes former;
    struct presence presence;
    char *group;      /* the cpuset group it came from; NULL where no line of plugins.conf has domains */
    bool pending;     /* asleep: real-time when it runs */
    bool awake;       /* and now it does */
    int naps;         /* how often it slept again before it could be made real-time */
    bool replaced;    /* another thread of its process called execve(2) and has its id now */
    int watch;        /* libexec/watch.h; -1: none */
    bool watch_once;  /* the thread's running, not its execve */
    void *watch_page;
    size_t watch_bytes;
    struct source watch_source;
    TAILQ_ENTRY(attachment) of_unwatched;
    int64_t watch_at; /* 0: it is watched, or need not be; else when it will be, CLOCK_MONOTONIC */
    TAILQ_ENTRY(attachment) of_doubts;
    int64_t look_at;  /* 0: no doubt; else when to look again whether its id goes on, CLOCK_MONOTONIC */
    int looks;
    UT_hash_handle hh; /* by tid */
};

struct account;
struct request;
struct line;
struct awaited;

/* A directory in specs/. */
struct user {
    char name[NAME_BYTES];
    uid_t uid;
    int directory; /* O_RDONLY | O_DIRECTORY */
    int watch;
    bool adopted, gone;
    bool scanned;                /* scans.c has something to do */
    int64_t muted_at, look_at;   /* directories.c: when its events came too fast; when it is looked through; CLOCK_MONOTONIC, 0: not */
    struct account *of;          /* whose number of directories it is part of; NULL: not adopted */
    int64_t look_pause;
    TAILQ_ENTRY(user) of_muted;
    struct account *account;
    struct wish *wishes;
    RB_HEAD(by_file, wish) by_file; /* wishes.c */
    struct user *next_of_account;
    UT_hash_handle hh;       /* by name */
    UT_hash_handle hh_watch; /* by watch */
};

/* Which of its files. */
enum { OF_JSON = 1, OF_TID = 2 };

struct wish {
    struct user *user;
    char *token;                         /* of the last wish that was judged; NULL */
    uint64_t task;                       /* its number towards plugins */
    struct stamp judged, judged_tid;     /* the files that have had their answer */
    struct grant *grant;
    struct attachment *attachment;
    struct request *request;             /* at most one at a time */
    struct account *counted;             /* whose number of wishes it is part of */
    struct awaited *awaited;             /* noticing.c: waits for one of its files; NULL: does not */
    TAILQ_ENTRY(wish) of_handed;         /* noticing.c: its file was closed, to be told in turn */
    TAILQ_ENTRY(wish) of_line;           /* turns.c: to be looked at in turn; */
    struct line *line;                   /* NULL: not */
    const void *found_by;                /* scans.c */
    int64_t rests_until;                 /* CLOCK_MONOTONIC: what its last thread used is paid back then */
    int64_t decided;                     /* CLOCK_REALTIME, ns: when what holds now was decided */
    bool dirty, exited, recovered, over_limit, answered;
    bool written;                        /* an event since the last judgement says more than that a file was made */
    unsigned char closed;                /* OF_JSON, OF_TID: a writer has closed it since it was looked at */
    bool has_tid;                        /* NAME.tid has been told of since it was last found not to be there */
    bool unchanged;                      /* it was, at the start, when events were heard already: the first scan need not look */
    bool handed, linked;                 /* linked: NAME.json has, or had, another name somewhere */
    RB_ENTRY(wish) of_file;              /* by judged.inode within the user, if it is not linked */
    UT_hash_handle hh;                   /* by name within the user */
    UT_hash_handle hh_task;              /* by task */
    char name[];
};

enum kind { CREATE, CHANGE, ATTACH, DETACH, RECOVER, UPDATE, EXIT, RELEASE };
enum result { RESULT_OK, SCHEDULE_FAIL, ACL_FAIL, BAD_SPEC, ATTACH_FAIL };

struct refusal {
    char by[PLUGIN_NAME_BYTES];  /* a plugin, "access", "kernel", "broker" or "spec"; "" is no refusal */
    char rule[256];              /* "acl.conf:7: @students EDF max_runtime 2000"; or "" */
    char asked[32], available[32];
    uint64_t nearest;            /* us; 0 is none */
    bool never;                  /* no other task's end can change the answer */
};

enum answer { ANSWER_OK, ANSWER_PARTIAL, ANSWER_NO, ANSWER_RESTARTING };

struct reply {
    int plugin;
    enum answer answer;
    char reason[256];
};

/* What the owner is told: rtf-verdict(5). */
struct outcome {
    enum kind kind;
    enum result result;
    char reason[REASON_BYTES];
    struct refusal refusal;
    struct reply *replies;
    int reply_count;
};

#endif
