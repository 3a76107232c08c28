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

#include "loop.h"
#include "reader.h"
#include "sighting.h"
#include "thread.h"

enum { PLUGINS_MAX = 64 };

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

/* An attached thread, as who else is on its CPUs feels it. {0}: not at all. */
struct presence {
    cpu_set_t cpus;
    uint64_t mean, longest; /* ns, that it keeps another one waiting */
};

struct attachment {
    struct source source;
    struct wish *wish;
    pid_t tid, process;
    uint64_t started_by; /* thread.h */
    int pidfd;
    bool by_file;   /* asked for by NAME.tid, not by the key attach */
    bool died;      /* its watch has seen it end without an execve(2) */
    bool served;    /* it has been real-time, */
    int64_t since;  /* and for no longer than since then: CLOCK_MONOTONIC, ns; 0: not known */
    bool laid_down; /* put back at the broker's end, to be attached again by the next */
    struct attributes former;
    struct presence presence;
    char *group;      /* the cpuset group it came from; NULL where no line of plugins.conf has domains */
    bool guarded;     /* guard.h: it can be ordinary until its next period, */
    bool has_lent;    /* under SCHED_DEADLINE, too */
    bool pending;     /* asleep: real-time when it runs */
    bool awake;       /* and now it does */
    int naps;         /* how often it slept again before it could be made real-time */
    int watch;        /* libexec/watch.h; -1: none */
    bool watch_once;  /* the thread's running, not its execve */
    void *watch_page;
    size_t watch_bytes;
    struct source watch_source;
    TAILQ_ENTRY(attachment) of_unwatched;
    int64_t watch_at; /* 0: it is watched, or need not be; else when it will be, CLOCK_MONOTONIC */
    RB_ENTRY(attachment) of_doubts;
    int64_t look_at;  /* 0: no doubt; else when to look again whether its id goes on, CLOCK_MONOTONIC */
    int looks;
    RB_ENTRY(attachment) of_process; /* if it does not lead it */
    UT_hash_handle hh; /* by tid */
};

struct account;
struct request;
struct line;
struct scan;

/* A directory in specs/. */
struct user {
    char name[NAME_BYTES];
    uid_t uid;
    uint64_t inode;
    int directory; /* O_PATH: for readers to enter, never to be looked into here */
    bool adopting, adopted, gone;
    bool told;                   /* by the adopter that runs now */
    bool scanned;                /* once at least */
    int64_t look_at;             /* directories.c: to be judged then; CLOCK_MONOTONIC, 0: not */
    struct account *of;          /* whose number of directories it is part of; NULL: not adopted */
    struct account *account;
    struct reader reader;
    struct scan *scan;           /* scans.c; NULL */
    struct wish *wishes;
    TAILQ_ENTRY(user) of_list;
    LIST_ENTRY(user) of_account;
    UT_hash_handle hh; /* by name */
};

/* Which of its files. */
enum { OF_JSON = 1, OF_TID = 2, OF_VERDICT = 4 };

/* The thread has to be made again what was granted, as soon as its owner's file has been seen. */
struct recovery;

struct wish {
    struct user *user;
    char *token;                         /* of the last wish that was judged; NULL */
    uint64_t task;                       /* its number towards plugins */
    struct stamp judged, judged_tid;     /* the files that have had their answer */
    struct stamp leaving_tid;            /* its reader has been told to remove this one, and has not told since that it has gone */
    struct sighting *sighting;           /* what its reader has told of its files and has not been answered; NULL */
    struct open_file json;               /* that came with it */
    struct grant *grant;
    struct attachment *attachment;
    struct request *request;             /* at most one at a time */
    struct recovery *recovery;           /* order.c; NULL */
    struct account *counted;             /* whose number of wishes it is part of */
    TAILQ_ENTRY(wish) of_line;           /* turns.c: to be looked at in turn; */
    struct line *line;                   /* NULL: not */
    int64_t rests_until;                 /* CLOCK_MONOTONIC: what its last thread used is paid back then */
    int64_t decided;                     /* CLOCK_REALTIME, ns: when what holds now was decided */
    bool asked, coming;                  /* its reader has been asked what there is; will tell without being asked */
    bool dirty, exited, recovered, over_limit;
    bool ending;                         /* its thread has ended, and so does it: NAME.json is being removed */
    unsigned char found;                 /* scans.c: OF_... */
    bool verdict_is_told;                /* scans.c */
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
    bool dry_run;
    const struct spec *judged;       /* of a dry run: what the rules were asked; NULL: they were not */
    const struct grant *would_grant; /* of a dry run; NULL */
};

#endif
