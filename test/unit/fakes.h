/* The surroundings of a request, without programs and without the kernel: one thread, the helpers,
 * a reader, the journal, and the owner, who writes specs and reads verdicts. told.h has the
 * plugins. A test sets what each of them answers. */
#ifndef RTF_UNIT_FAKES_H
#define RTF_UNIT_FAKES_H

#include "account.h"
#include "helper.h"
#include "plugins.h"
#include "request.h"

/* EDF has CPUs 0 and 1 alone, and LOW has fixed priorities there. LATE and NEXT share CPUs 2 and 3,
 * and judge each other's tasks. */
enum { EDF, LOW, LATE, NEXT, NET, IO, UNITS };
#define SECOND UINT64_C(1000000) /* us */

extern struct account owner_account;
extern struct user owner;

/* The threads of the kernel: the thread that the owner has attached, and the first thread of its
 * process. The first thread exists only if a test sets is_there. */
struct fake_thread {
    bool is_there, is_readable, has_group, can_be_watched, is_over, is_real_time_by_others;
    int pidfd;     /* the last descriptor that was opened for the thread */
    int transient; /* this many reads of its attributes fail first, with ENOMEM */
    struct identity identity;
    struct attributes now;
};
extern struct fake_thread thread, leader;

extern bool journal_works, account_is_known;
extern int records; /* the number of reservations in the journal */

/* The messages that the owner has got. */
struct fake_verdict {
    int count;
    enum kind kind;
    enum result result;
    struct refusal refusal;
    char reason[REASON_BYTES];
    bool would_grant;
    enum ended ended;
};
extern struct fake_verdict verdict;
/* The last message that verdict_again has sent. */
struct fake_retold {
    int count;
    enum kind kind;
    char reason[REASON_BYTES];
};
extern struct fake_retold retold;
extern uint64_t codes_told; /* a bit for each enum why that was reported since the program began */

/* How often the reader was asked to look at a file, and whether the last request was for the file's
 * content. */
extern int looks;
extern bool looks_for_the_whole;
extern const char *removed; /* the kind of the last file that the reader was asked to remove */

/* The last message to a helper: "apply", "restore", or the allocator's message KEPT. */
extern const char *helper_op;
struct fake_order {
    uint64_t id;
    pid_t tid;
    struct attributes former;
};
extern struct fake_order helper_order;

/* How often the guard was told to guard a thread, and what the last message said. */
struct fake_guard {
    int count, event;
    bool again;
};
extern struct fake_guard guarded;

int fakes_set_up(void **state);
int fakes_tear_down(void **state);

/* Starts each test with the first state of the fakes, and with no reservation. */
int fakes_begin(void **state);
int fakes_end(void **state);

/* Sets the text of acl.conf. */
void rules_are(const char *text);

/* A spec for 0.1 of a CPU, 100 ms in each second, for this plugin (NULL: for any plugin). The next
 * functions make a spec with another runtime, with a desired runtime, and with a claim but no CPU
 * time. */
struct spec tenth(const char *plugin);
struct spec spec_of(const char *plugin, uint64_t runtime, uint64_t desired);
struct spec spec_with(enum resource resource, uint64_t amount);

/* The owner writes NAME.json, or writes a text that is no spec, or writes a thread's id into
 * NAME.tid, or removes NAME.json. Then the broker looks at the files. */
struct reservation *writes(const char *name, struct spec spec);
struct reservation *writes_nonsense(const char *name, const char *why);
struct reservation *writes_tid(const char *name);
void removes_tid(struct reservation *reservation);
void removes(struct reservation *reservation);

/* The broker looks at what was written before. It has no new message. */
void is_looked_at(struct reservation *reservation);

/* Answers the last question to a plugin. An offer is on the first of the line's CPUs. */
void plugin_offers(const struct reservation *reservation, enum answer answer, uint64_t runtime);
void plugin_offers_on(const struct reservation *reservation, enum answer answer, uint64_t runtime,
                      int cpu);
void plugin_answers(const struct reservation *reservation, enum answer answer, uint64_t nearest,
                    bool never);
/* The plugin answers no, because the runtime is too small. */
void plugin_wants_more(const struct reservation *reservation, uint64_t least, uint64_t most);
void helper_answers(const struct reservation *reservation, enum helper_answer answer,
                    int64_t after);

/* Makes a reservation that EDF has granted, with 0.1 of a CPU. The second function also attaches
 * the thread. */
struct reservation *has_grant(const char *name);
struct reservation *has_thread(const char *name);

/* The step where the reservation's request is. STEPS: it has no request. */
enum step step_of(const struct reservation *reservation);

/* These checks fail with the verdict's reason in the message. */
void is_at(const struct reservation *reservation, enum step step);
void is_granted(const struct reservation *reservation);
void is_refused(const struct reservation *reservation, enum why code, bool never);

/* Fails unless the program has passed each edge of the state machine (pipeline.c) that begins at
 * one of these steps. */
void all_edges_are_passed(const enum step *from, int count);

/* The name of a step in words. */
const char *step_name(enum step step);

#endif
