/* librtf: real-time reservations for a program's own threads. rtf(3) has each call with its place in the paper, and examples.
 *
 * A spec (struct rtf_spec) is a file in the spool (rtf-spec(5)), which the broker answers (rtf-verdict(5)): these calls write that file, wait for
 * the answer and read it. They start no thread and no process, keep nothing outside of what they are given, and print nothing. The names are
 * those of Tables 2 and 3 and of Listing 1 of the ReTiF paper (section 3.2).
 *
 * Times are microseconds; as parameters 1 to 3600000000, and 0 is what is not stated. Shares of a CPU are billionths. Any thread may make any
 * call, also with a connection that others use at the same time. Of one spec, texts and numbers belong to the thread that made the last call with
 * it. Texts that are returned live until the next call with what they were asked of, and belong to that; texts that are passed in are copied.
 * After fork(2) the child connects anew.
 *
 * Calls wait for the broker's answer, no longer than rtf_set_timeout says; rtf_task_wait_period, rtf_task_missed and
 * rtf_spec_get_accepted_runtime, which are for loops with deadlines, ask nobody, and take no lock and no memory once rtf_task_start or rtf_spec_attach has been
 * called: what the broker has answered to rtf_spec_create is read when something first asks what it says. */
#ifndef RTF_RTF_H
#define RTF_RTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rtf_result {
    RTF_OK = 0,
    RTF_SCHEDULE_FAIL = 1,  /* no plugin can honour it, now or ever: rtf_spec_code and rtf_spec_nearest */
    RTF_ACL_FAIL = 2,       /* the rules do not allow it (acl.conf(5)), or not to this user */
    RTF_CONNECTION_ERR = 3, /* no broker runs on the spool, or it ended before it answered */
    RTF_ATTACH_FAIL = 4,    /* the thread is not to be had: rtf_spec_attach */
    RTF_BAD_SPEC = 5,       /* parameters contradict one another, or a text is none that a spec can have */
    RTF_PENDING = 6,        /* rtf_set_blocking(false): the answer comes with rtf_process */
    RTF_TIMEOUT = 7,        /* no answer within the time of rtf_set_timeout */
    RTF_GONE = 8,           /* the spec is not there (any more): it was removed, or its thread has ended */
    RTF_ERROR = 9           /* a call that makes no sense here, or the system refused; rtf_spec_reason says which */
};
#define RTF_SCHEDULER_FAIL RTF_SCHEDULE_FAIL /* as the paper's text has it once */

/* Their names, "RTF_OK"; never NULL. */
const char *rtf_result_name(enum rtf_result result);

/* Of the library, as "1.0". */
const char *rtf_version(void);

/* ---- what is in these is the library's own ---- */

struct rtf_connection {
    struct rtf_connection_own *own;
};
struct rtf_spec {
    struct rtf_spec_own *own;
};
struct rtf_params { /* holds no memory elsewhere: to be copied, and forgotten, at will */
    unsigned char own[512];
};
struct rtf_status;
struct rtf_tasks;

#define RTF_CONNECTION_INIT {0}
#define RTF_SPEC_INIT {0}
#define RTF_PARAMS_INIT {{0}}
#define RTF_PARAM_INIT RTF_PARAMS_INIT

/* ---- connection (Table 2) ---- */

/* Opens the spool, NULL for $RTF_SPOOL or else /var/spool/rtf, takes hold of the broker's sign of life, and makes the caller's own directory if need be.
 * Waits for a broker that is starting. RTF_OK or RTF_CONNECTION_ERR; rtf_reason tells why. Also after a failure rtf_disconnect frees what it holds.
 * A broker that ends and is started again needs no new connection: calls find it. */
enum rtf_result rtf_connect(struct rtf_connection *connection, const char *spool);

/* Ends what has no thread, unless it was to last (rtf_params_set_lasting); reservations with a thread stay until that ends. Frees all specs of the
 * connection, whose handles are as new then. */
void rtf_disconnect(struct rtf_connection *connection);

/* One sentence about the last failure of a call with the connection itself; "" if there was none. */
const char *rtf_reason(const struct rtf_connection *connection);

/* How long calls wait for an answer: 30 s at first; 0 for ever. */
void rtf_set_timeout(struct rtf_connection *connection, uint64_t microseconds);

/* With false, calls with specs return RTF_PENDING at once, and rtf_process takes the answers. */
void rtf_set_blocking(struct rtf_connection *connection, bool blocking);

/* A descriptor for poll(2): readable when rtf_process has something to do. It belongs to the connection. -1 with errno. */
int rtf_fd(struct rtf_connection *connection);

/* Takes what has been answered or has changed (a thread ended, a plugin moved it): rtf_spec_result and its like tell it then. Does not wait.
 * RTF_OK; RTF_CONNECTION_ERR without a broker: then rtf_fd stays silent until a call has found one again. */
enum rtf_result rtf_process(struct rtf_connection *connection);

/* ---- parameters (Table 3) ---- */

void rtf_params_set_period(struct rtf_params *params, uint64_t microseconds);
uint64_t rtf_params_get_period(const struct rtf_params *params);
void rtf_params_set_runtime(struct rtf_params *params, uint64_t microseconds);
uint64_t rtf_params_get_runtime(const struct rtf_params *params);
void rtf_params_set_des_runtime(struct rtf_params *params, uint64_t microseconds);
uint64_t rtf_params_get_des_runtime(const struct rtf_params *params);
void rtf_params_set_deadline(struct rtf_params *params, uint64_t microseconds);
uint64_t rtf_params_get_deadline(const struct rtf_params *params);
/* 1 to 99, higher runs first; 0: none. */
void rtf_params_set_priority(struct rtf_params *params, unsigned priority);
unsigned rtf_params_get_priority(const struct rtf_params *params);
/* The name of a plugin, at most 32 bytes; NULL or "": any. RTF_BAD_SPEC: it is longer, and nothing has changed. */
enum rtf_result rtf_params_set_scheduler(struct rtf_params *params, const char *plugin);
const char *rtf_params_get_scheduler(const struct rtf_params *params); /* "": any */
void rtf_params_ignore_admission(struct rtf_params *params, bool ignore);

/* As Listing 1 spells them. */
#define rtf_param_set_period rtf_params_set_period
#define rtf_param_set_runtime rtf_params_set_runtime
#define rtf_param_set_des_runtime rtf_params_set_des_runtime
#define rtf_param_set_deadline rtf_params_set_deadline

/* Beyond the paper. The name of the spec, as `rtf ls` shows it (rtf-spec(5) has its rule): PROGRAM-PID-N without. RTF_BAD_SPEC: it cannot be one. */
enum rtf_result rtf_params_set_name(struct rtf_params *params, const char *name);
/* CPUs that it may have, such as "0-3,6", at most 127 bytes; NULL or "": any. RTF_BAD_SPEC: it is no such list. */
enum rtf_result rtf_params_set_cpus(struct rtf_params *params, const char *cpus);
/* With true it lasts until it is released, by whomever; without, it ends with the thread that is attached. */
void rtf_params_set_lasting(struct rtf_params *params, bool lasting);
/* It ends so long after it was last created or changed; 0: it does not. */
void rtf_params_set_expires(struct rtf_params *params, uint64_t microseconds);
/* With true a refusal for want of room is waited out, in the order of arrival, as long as the timeout allows. */
void rtf_params_set_wait(struct rtf_params *params, bool wait);

/* ---- specs (Table 2) ---- */

/* Asks for a reservation. Unless it is RTF_OK (or RTF_PENDING) nothing is reserved, and the handle only tells why. A handle that holds a
 * reservation is refused (RTF_ERROR): release it first. */
enum rtf_result rtf_spec_create(struct rtf_connection *connection, struct rtf_spec *spec, const struct rtf_params *params);

/* The same, with a thread (0: the caller) in the same step: both, or neither. */
enum rtf_result rtf_spec_create_attached(struct rtf_connection *connection, struct rtf_spec *spec, const struct rtf_params *params, pid_t thread);

/* Takes hold of a spec that is there, by its name; it may have been made by another program of the same user. RTF_OK: something is granted; RTF_GONE: there
 * is none; else what its answer says. */
enum rtf_result rtf_spec_find(struct rtf_connection *connection, struct rtf_spec *spec, const char *name);

/* Asks for other parameters, all of which are to be stated; the thread stays attached. Refused: what was granted before stays in force. The name of a
 * spec does not change. */
enum rtf_result rtf_spec_change(struct rtf_spec *spec, const struct rtf_params *params);

/* Detaches the thread, frees the capacity and the handle, which can be used anew whatever the result. */
enum rtf_result rtf_spec_release(struct rtf_spec *spec);

/* Has the thread (0: the caller; a process id is its first thread) scheduled as granted. On RTF_OK it is so in the kernel; but a thread that sleeps
 * may become real-time only when it wakes: rtf_spec_is_attached. RTF_ATTACH_FAIL: a reservation that is not lasting and has no other thread is given
 * back, too, as rtf_spec_is_granted tells. */
enum rtf_result rtf_spec_attach(struct rtf_spec *spec, pid_t thread);

/* The thread is as it was before; the reservation stays, for another one. */
enum rtf_result rtf_spec_detach(struct rtf_spec *spec);

/* ---- what has been answered: of the last call with the spec, or what rtf_process has taken ---- */

enum rtf_result rtf_spec_result(const struct rtf_spec *spec);
const char *rtf_spec_reason(const struct rtf_spec *spec); /* one sentence, also after RTF_OK; "" before any call */
/* Why not, in a word that stays what it is: refusal.code of rtf-verdict(5), or no-broker, no-answer, gone, taken, misuse, system; "" after RTF_OK. */
const char *rtf_spec_code(const struct rtf_spec *spec);
/* The runtime closest to what was asked that would be granted now, all else equal; 0: none is known. */
uint64_t rtf_spec_nearest(const struct rtf_spec *spec);

bool rtf_spec_is_granted(const struct rtf_spec *spec);
uint64_t rtf_spec_get_accepted_runtime(const struct rtf_spec *spec); /* 0: none, or none was stated */
uint64_t rtf_spec_get_period(const struct rtf_spec *spec);           /* as granted; 0: none */
uint64_t rtf_spec_get_deadline(const struct rtf_spec *spec);         /* likewise */
const char *rtf_spec_get_name(const struct rtf_spec *spec);          /* "" before it is made */
const char *rtf_spec_get_plugin(const struct rtf_spec *spec);        /* who granted it; "": nobody */
const char *rtf_spec_get_policy(const struct rtf_spec *spec);        /* "deadline", "fifo", "rr" or "" */
const char *rtf_spec_get_cpus(const struct rtf_spec *spec);          /* where its thread may run */
pid_t rtf_spec_get_thread(const struct rtf_spec *spec);              /* 0: none */
bool rtf_spec_is_attached(const struct rtf_spec *spec);              /* and the kernel schedules it as granted */

/* ---- a periodic task ---- */

/* Its first period begins now (CLOCK_MONOTONIC). RTF_ERROR: what is granted has no period. */
enum rtf_result rtf_task_start(struct rtf_spec *spec);

/* Sleeps until the next activation and returns how many were missed: 0 is the normal case. Activations lie on the grid from rtf_task_start on. If the
 * next one has passed already it returns at once, for the latest that has passed; those before it are missed, and counted. It does not return
 * before its time for a signal. */
uint64_t rtf_task_wait_period(struct rtf_spec *spec);

/* All that have been missed since rtf_task_start. */
uint64_t rtf_task_missed(const struct rtf_spec *spec);

/* When the present period began: ns of CLOCK_MONOTONIC. */
int64_t rtf_task_activation(const struct rtf_spec *spec);

/* ---- queries: status.json (rtf-status(5)), and one's own specs ---- */

/* A copy of what is there now, which rtf_status_free frees. NULL with rtf_reason: there is none that the caller may read. */
struct rtf_status *rtf_status_read(struct rtf_connection *connection);
void rtf_status_free(struct rtf_status *status);
uint64_t rtf_status_reservations(const struct rtf_status *status);
uint64_t rtf_status_attached(const struct rtf_status *status);

/* Plugins by their number, from 0, in the order in which they are asked; "" and 0 beyond the last. */
size_t rtf_status_plugins(const struct rtf_status *status);
const char *rtf_plugin_name(const struct rtf_status *status, size_t plugin);
const char *rtf_plugin_program(const struct rtf_status *status, size_t plugin);
const char *rtf_plugin_policy(const struct rtf_status *status, size_t plugin);     /* "deadline", "fixed-priority" or "" */
const char *rtf_plugin_priorities(const struct rtf_status *status, size_t plugin); /* "11-20" or "" */
const char *rtf_plugin_cpus(const struct rtf_status *status, size_t plugin);       /* "0-3,6" */
const char *rtf_plugin_state(const struct rtf_status *status, size_t plugin);      /* "serving", "restarting", "off", "ended" */

/* What is free on that CPU for this plugin, in billionths: the least of the pools that a reservation there is part of; of a pool over several CPUs it is
 * the whole. UINT64_MAX: no pool bounds it there. */
uint64_t rtf_status_free_on(const struct rtf_status *status, const char *plugin, int cpu);

/* The caller's own specs, of all programs; rtf_tasks_free frees them. NULL with rtf_reason. */
struct rtf_tasks *rtf_tasks_read(struct rtf_connection *connection);
void rtf_tasks_free(struct rtf_tasks *tasks);
size_t rtf_tasks_count(const struct rtf_tasks *tasks);
const char *rtf_task_name(const struct rtf_tasks *tasks, size_t task);
const char *rtf_task_plugin(const struct rtf_tasks *tasks, size_t task); /* "": nothing is granted */
const char *rtf_task_result(const struct rtf_tasks *tasks, size_t task); /* as in its verdict; "": there is none yet */
pid_t rtf_task_thread(const struct rtf_tasks *tasks, size_t task);       /* 0: none */
uint64_t rtf_task_accepted_runtime(const struct rtf_tasks *tasks, size_t task);
uint64_t rtf_task_period(const struct rtf_tasks *tasks, size_t task);

#ifdef __cplusplus
}
#endif

#endif
