/* plugins.conf(5) and the programs that it names: rtf-plugin(7). They decide; nothing they say is believed
 * before ledger.c has looked at it.
 *
 * Requests are written without waiting and answered in order. A plugin that does not answer within its
 * timeout, answers out of form or ends is killed, started again after a growing pause, and told again what
 * it had scheduled; whoever waited for it is told ANSWER_RESTARTING. */
#ifndef RTF_PLUGINS_H
#define RTF_PLUGINS_H

#include "coprocess.h"
#include "wish.h"

enum partition { PARTITION_GLOBAL, PARTITION_UNTHROTTLED };

struct plugin_line {
    int line;
    char name[PLUGIN_NAME_BYTES];
    char *program; /* absolute */
    int lowest, highest; /* POSIX priorities; 0, 0 for SCHED_DEADLINE */
    bool deadline;       /* plans SCHED_DEADLINE */
    char tests[16];      /* what its ok proves, as it said in its greeting: none, necessary, sufficient, exact */
    bool proves;         /* sufficient or exact */
    bool promises;       /* its tasks count in the ledger: it tests at all, or threshold= was given */
    cpu_set_t cpus;
    enum partition partition;
    uint64_t threshold; /* billionths, for each CPU; in the broker's own ledger */
    int64_t timeout;    /* ns */
    char *words;        /* as given, blank-separated */
};

/* What a plugin said, after the form was checked and nothing else. */
struct plugin_event {
    enum { PLUGIN_ANSWER, PLUGIN_UPDATE, PLUGIN_UP } kind;
    uint64_t id;   /* ANSWER: of the request */
    uint64_t task; /* UPDATE */
    enum answer answer;
    bool has_cpus, has_priority;
    struct attributes plan; /* ANSWER ok, partial; UPDATE: cpus, priority where present */
    uint64_t nearest;
    bool never; /* NO: no other task's end can change it */
    char reason[256];
};

/* Reads and checks the file; relative programs are looked for in `directory`. False: "plugins.conf:LINE: ...". */
bool plugins_load(const char *path, const char *directory, char reason[static REASON_BYTES]);

/* Starts them all and waits for their greetings, for they may refuse to start. False: who and why. */
bool plugins_start(struct identity_to_run_as as, char reason[static REASON_BYTES]);
void plugins_stop(void);

int plugins_count(void);
int plugin_index(const char *name); /* -1 */
const struct plugin_line *plugin_line(int plugin);
bool plugin_is_up(int plugin);
int plugins_highest_priority(void);
bool plugins_share_cpu(int plugin, int other);

/* Each returns the id that the answer will carry. Nothing is sent before plugins_flush. */
uint64_t plugin_accept(int index, uint64_t task, const struct spec *spec, uint64_t max_runtime, bool commit);
uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant);
uint64_t plugin_release(int index, uint64_t task);

/* Another plugin's task on a shared CPU: came or changed; went when grant is NULL. */
void plugin_load(int index, uint64_t task, const struct grant *grant);

void plugins_flush(void);

void plugin_read(int index);
bool plugin_receive(int index, struct plugin_event *event);

/* It lied: killed, to be started again. */
void plugin_fail(int index, const char *reason);

int64_t plugins_deadline(void);
void plugins_expire(int64_t now);

#endif
