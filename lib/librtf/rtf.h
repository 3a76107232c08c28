/* librtf: real-time reservations for a program's own threads. rtf(3) relates each call to the ReTiF
 * paper and has examples.
 *
 * A spec (struct rtf_spec) is a file in the spool (rtf-spec(5)). The broker answers a spec with a
 * verdict (rtf-verdict(5)). The calls write the spec, wait for the verdict and read the verdict.
 * The library starts no thread and no process, keeps no state outside of the caller's handles, and
 * prints nothing. The names of the calls are those of Tables 2 and 3 and of Listing 1 of the ReTiF
 * paper (section 3.2).
 *
 * Units and ranges: times are microseconds. A time parameter is 1 to 3600000000 (one hour); 0 means
 * "not stated". Shares of a CPU are billionths.
 *
 * Threads: any thread may make any call, and threads may share a connection. Use a spec from one
 * thread at a time.
 *
 * Ownership: the library copies the strings that the caller passes in. A string that a call returns
 * belongs to the object that was passed to the call, and lives until the next call with that
 * object.
 *
 * Handles: once a spec handle was passed to a call, the program must not move or drop the handle
 * until rtf_spec_release or rtf_disconnect has freed it. This also applies after a refusal.
 *
 * fork(2): the child must open a connection of its own.
 *
 * Waiting: a call waits for the broker's answer for at most the time set with rtf_set_timeout.
 * rtf_task_wait, rtf_task_wait_period, rtf_task_missed and rtf_spec_get_accepted_runtime are made
 * for loops with deadlines: they never ask the broker. They take no lock and allocate no memory
 * once rtf_task_start has been called, as long as nothing happens to the reservation. (The first
 * call that needs the contents of the answer to rtf_spec_create parses the answer. After a new
 * verdict, rtf_task_wait reads the verdict.)
 *
 * Descriptors: a spec holds one descriptor, of its verdict, from rtf_task_start,
 * rtf_spec_is_granted or rtf_spec_is_attached on until the handle is freed. */
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
    /* no plugin can guarantee the request; rtf_spec_code and rtf_spec_nearest tell more */
    RTF_SCHEDULE_FAIL = 1,
    /* the access rules (acl.conf(5)) do not allow the request to this user */
    RTF_ACL_FAIL = 2,
    RTF_CONNECTION_ERR = 3, /* no broker runs on the spool, or the broker ended before its answer */
    RTF_ATTACH_FAIL = 4,    /* the thread cannot be attached; see rtf_spec_attach */
    /* the parameters contradict one another, or a string is not valid in a spec */
    RTF_BAD_SPEC = 5,
    RTF_PENDING = 6, /* after rtf_set_blocking(false): rtf_process takes the answer */
    RTF_TIMEOUT = 7, /* no answer within the time of rtf_set_timeout */
    RTF_GONE = 8,    /* the spec does not exist, was removed, or its thread has ended */
    /* the call is not possible in this state, or a system call failed; see rtf_spec_reason */
    RTF_ERROR = 9
};
#define RTF_SCHEDULER_FAIL RTF_SCHEDULE_FAIL /* the paper has both spellings */

/* The name of a result, such as "RTF_OK"; "?" for an unknown value. Never NULL. */
const char *rtf_result_name(enum rtf_result result);

/* The version of the library, such as "1.0". */
const char *rtf_version(void);

/* ---- handles; the members are private ---- */

struct rtf_connection {
    struct rtf_connection_own *own;
};
struct rtf_spec {
    struct rtf_spec_own *own;
};
/* The program may copy or drop this struct freely. It points to the JSON texts that the caller has
 * set, and to nothing else. */
struct rtf_params {
    unsigned char own[512];
};
struct rtf_status;
struct rtf_tasks;

#define RTF_CONNECTION_INIT \
    {                       \
        0                   \
    }
#define RTF_SPEC_INIT \
    {                 \
        0             \
    }
#define RTF_PARAMS_INIT \
    {                   \
        {               \
            0           \
        }               \
    }
#define RTF_PARAM_INIT RTF_PARAMS_INIT

/* ---- connection (Table 2) ---- */

/* Opens the spool, opens the pipe by which the broker shows that it lives, and makes the caller's
 * directory if it is missing. spool: a path; NULL: $RTF_SPOOL, or else /var/spool/rtf. Waits for a
 * broker that is starting. Returns RTF_OK, or RTF_CONNECTION_ERR with the cause in rtf_reason. Call
 * rtf_disconnect after a failure, too: rtf_disconnect frees the handle's memory. When the broker
 * ends and is started again, the connection stays valid: the next call finds the new broker. */
enum rtf_result rtf_connect(struct rtf_connection *connection, const char *spool);

/* Removes every spec of this connection that has no thread, except for lasting specs
 * (rtf_params_set_lasting). A reservation with a thread stays until the thread ends. Frees all spec
 * handles of the connection; the program can use the handles anew. */
void rtf_disconnect(struct rtf_connection *connection);

/* One sentence about the last failure of a call that takes the connection; "" if no such call has
 * failed. */
const char *rtf_reason(const struct rtf_connection *connection);

/* Sets how long calls wait for an answer, in microseconds. The default is 30 s. 0: for ever. */
void rtf_set_timeout(struct rtf_connection *connection, uint64_t microseconds);

/* false: calls with specs return RTF_PENDING at once, and rtf_process takes the answers. The
 * default is true. */
void rtf_set_blocking(struct rtf_connection *connection, bool blocking);

/* A descriptor for poll(2): readable when rtf_process has something to do. The connection owns the
 * descriptor. Returns -1 with errno on failure. */
int rtf_fd(struct rtf_connection *connection);

/* Takes new answers, and changes of this connection's specs that no call has asked for: a thread
 * has ended, a plugin has moved a reservation, the broker has stopped, an administrator has revoked
 * a reservation, a spec has expired, or another program has changed or removed the file.
 * rtf_spec_result and the getters return the new state: see rtf(3), WHAT HAPPENS TO A RESERVATION.
 * Does not wait. Returns RTF_OK, or RTF_CONNECTION_ERR if no broker runs; then rtf_fd does not
 * become readable before a broker runs again and has written a verdict. */
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
/* 1 to 99, a higher priority runs first; 0: not stated. */
void rtf_params_set_priority(struct rtf_params *params, unsigned priority);
unsigned rtf_params_get_priority(const struct rtf_params *params);
/* The name of a plugin, at most 32 bytes; NULL or "": any plugin. RTF_BAD_SPEC: the name is longer;
 * params is unchanged. */
enum rtf_result rtf_params_set_scheduler(struct rtf_params *params, const char *plugin);
const char *rtf_params_get_scheduler(const struct rtf_params *params); /* "": any plugin */
void rtf_params_ignore_admission(struct rtf_params *params, bool ignore);

/* The names as Listing 1 of the ReTiF paper spells them. */
#define rtf_param_set_period      rtf_params_set_period
#define rtf_param_set_runtime     rtf_params_set_runtime
#define rtf_param_set_des_runtime rtf_params_set_des_runtime
#define rtf_param_set_deadline    rtf_params_set_deadline

/* This call and all calls below in this section are not in the paper. name: the name of the spec,
 * as `rtf ls` shows it (rtf-spec(5) has the rule for names). NULL or "": the library makes up a
 * name, task-PID-N. RTF_BAD_SPEC: the name is not valid; params is unchanged. */
enum rtf_result rtf_params_set_name(struct rtf_params *params, const char *name);
/* The CPUs on which the thread may run, such as "0-3,6", at most 127 bytes; NULL or "": any CPU.
 * RTF_BAD_SPEC: the text is not a list of CPUs; params is unchanged. */
enum rtf_result rtf_params_set_cpus(struct rtf_params *params, const char *cpus);
/* true: the reservation lasts until any program of the user releases it. false, the default: the
 * reservation ends when the attached thread ends. */
void rtf_params_set_lasting(struct rtf_params *params, bool lasting);
/* The reservation ends this many microseconds after its creation or last change; 0: never. */
void rtf_params_set_expires(struct rtf_params *params, uint64_t microseconds);
/* true: a request that is refused for lack of capacity waits for capacity, in order of arrival. It
 * waits at most for the time set with rtf_set_timeout. */
void rtf_params_set_wait(struct rtf_params *params, bool wait);

/* 1 to 100: spare capacity goes to more important specs first; 0: not stated. The rules have to
 * allow an importance (max_importance in acl.conf(5)). */
void rtf_params_set_importance(struct rtf_params *params, unsigned importance);
/* 1 to 100: specs of equal importance get spare capacity in proportion to their weights; 0: not
 * stated. */
void rtf_params_set_weight(struct rtf_params *params, unsigned weight);

/* rtf_params_set_modes, rtf_params_set_claim, rtf_params_set_threads and rtf_params_set_keys take
 * values of keys of rtf-spec(5), as JSON. The library does not copy the text: the text must live as
 * long as these parameters are used. NULL: the key is not stated. RTF_BAD_SPEC: the text is not one
 * JSON object or array; params is unchanged. Only the broker looks into the text: rtf_spec_create
 * returns RTF_BAD_SPEC for a text that is wrong. */
/* The modes, such as {"sd": {}, "hd": {"runtime": 5000}}. They need rtf_params_set_mode. */
enum rtf_result rtf_params_set_modes(struct rtf_params *params, const char *json);
/* The current mode, at most 31 bytes, copied; NULL or "": none. rtf_spec_change with another mode
 * and otherwise the same parameters (rtf_params_from_spec) needs no new admission. RTF_BAD_SPEC:
 * the name is longer; params is unchanged. */
enum rtf_result rtf_params_set_mode(struct rtf_params *params, const char *mode);
/* A claim on a resource: "units", "network" or "disk". For example {"count": 1, "plugin": "CAM"}.
 * RTF_BAD_SPEC: the text is wrong, or there is no such resource. */
enum rtf_result rtf_params_set_claim(struct rtf_params *params, const char *resource,
                                     const char *json);
/* The array of rules of a program file: reservations for the threads of this process by their
 * names, such as [{"name": "audio*", "runtime": 1000, "period": 10000}]. Beside the rules, only
 * these parameters can be stated: a name, a plugin, rtf_params_set_wait and rtf_params_set_lasting.
 * Use rtf_spec_create: RTF_OK means that each thread that a rule matches now has a reservation, or
 * that no rule matches. A thread that gets a matching name later gets its reservation later. The
 * reservations end with the process, or with the spec. After rtf_spec_release the threads have
 * their former scheduling a moment later. */
enum rtf_result rtf_params_set_threads(struct rtf_params *params, const char *json);
/* Further keys that have no call here, as one JSON object, such as {"nice": -5}. */
enum rtf_result rtf_params_set_keys(struct rtf_params *params, const char *json);

/* true: rtf_spec_create only asks whether the broker would grant the request. RTF_OK: the
 * reservation would be granted now, and the getters of the spec return what would be granted;
 * rtf_spec_is_granted is false. Nothing is reserved, and no spec stays behind. rtf_spec_change
 * refuses such parameters (RTF_ERROR). */
void rtf_params_set_dry_run(struct rtf_params *params, bool dry_run);

/* ---- specs (Table 2) ---- */

/* Asks for a reservation. After RTF_OK there is a reservation, and after RTF_PENDING there is a
 * request. After any other result, the handle only holds the cause. RTF_ERROR: the handle still
 * holds a reservation; release that reservation first. */
enum rtf_result rtf_spec_create(struct rtf_connection *connection, struct rtf_spec *spec,
                                const struct rtf_params *params);

/* Creates a reservation and attaches a thread (0: the caller) in one step: both succeed, or
 * neither. */
enum rtf_result rtf_spec_create_attached(struct rtf_connection *connection, struct rtf_spec *spec,
                                         const struct rtf_params *params, pid_t thread);

/* Opens an existing spec by its name. Another program of the same user may have made the spec.
 * RTF_OK: the spec has a reservation. RTF_GONE: no spec has the name. Any other result is the
 * result in the spec's verdict. */
enum rtf_result rtf_spec_find(struct rtf_connection *connection, struct rtf_spec *spec,
                              const char *name);

/* Asks for new parameters. State all parameters, not only changed ones. The thread stays attached,
 * and the spec keeps its name. If the change is refused, the old reservation stays in force. */
enum rtf_result rtf_spec_change(struct rtf_spec *spec, const struct rtf_params *params);

/* Reads the parameters of the reservation in force from the spec's file, in the units of the calls
 * above. All keys are read, also keys that have no call here. So a program can change one parameter
 * and keep the others: it calls rtf_params_from_spec, rtf_params_set_runtime and rtf_spec_change.
 * After a refused change the parameters are those before the change. JSON texts belong to the spec:
 * they live until the next rtf_params_from_spec with the spec, or until the release of the spec.
 * RTF_GONE: there is no spec. RTF_BAD_SPEC: another program has written a file that is not a spec.
 * After either result params is unchanged. */
enum rtf_result rtf_params_from_spec(struct rtf_params *params, struct rtf_spec *spec);

/* Detaches the thread, and frees the reservation and the handle. The handle can be used anew after
 * any result except RTF_PENDING. RTF_PENDING: the release is under way. The result becomes RTF_OK,
 * by rtf_process, when the thread has its former scheduling back. Keep the handle until then: a
 * second call frees it. If the spec has ended already, the result is RTF_OK. If another program has
 * changed the spec, the call releases the changed spec. */
enum rtf_result rtf_spec_release(struct rtf_spec *spec);

/* Makes the kernel schedule the thread as granted. thread: a thread's id; 0: the caller; a
 * process's id stands for its first thread. After RTF_OK the thread is scheduled as granted, except
 * for a thread that sleeps: such a thread may become real-time only when it wakes (see
 * rtf_spec_is_attached). RTF_ATTACH_FAIL: the thread cannot be attached. The broker then also takes
 * back a reservation that has no other thread and is not lasting (see rtf_spec_is_granted).
 * RTF_ATTACH_FAIL with the code "busy" and errno EBUSY: another living thread has the reservation,
 * and keeps it. After rtf_spec_detach, the reservation is free for this thread. */
enum rtf_result rtf_spec_attach(struct rtf_spec *spec, pid_t thread);

/* Gives the thread its former scheduling back. The reservation stays, for another thread. RTF_OK
 * also if no thread was attached. */
enum rtf_result rtf_spec_detach(struct rtf_spec *spec);

/* ---- the answer to the last call with the spec, or what rtf_process has taken since ---- */

enum rtf_result rtf_spec_result(const struct rtf_spec *spec);
/* one sentence, also after RTF_OK; "" before any call */
const char *rtf_spec_reason(const struct rtf_spec *spec);
/* A stable word for the cause: refusal.code of rtf-verdict(5), or no-broker, no-answer, gone,
 * taken, busy, misuse, system; "" after RTF_OK. The word "detached": another program has detached the
 * thread, or the thread has ended. */
const char *rtf_spec_code(const struct rtf_spec *spec);
/* rtf_spec_nearest: the largest runtime (us) that would be granted now, if all other parameters
 * stay; 0: no runtime, or not known. rtf_spec_nearest_minimum: the smallest runtime that would be
 * granted, if the requested runtime was refused because it is too small; else 0. So the runtime to
 * ask for next is rtf_spec_nearest_minimum, or if this is 0, rtf_spec_nearest. */
uint64_t rtf_spec_nearest(const struct rtf_spec *spec);
uint64_t rtf_spec_nearest_minimum(const struct rtf_spec *spec);

/* True if a reservation is granted now. Looks at the verdict, and takes a new verdict as
 * rtf_process does; never waits. After a stop of the broker (SIGTERM) the result is still true,
 * because the next broker restores the reservation. */
bool rtf_spec_is_granted(const struct rtf_spec *spec);
/* us; 0: nothing granted, or no runtime stated */
uint64_t rtf_spec_get_accepted_runtime(const struct rtf_spec *spec);
/* us, as granted; 0: no period */
uint64_t rtf_spec_get_period(const struct rtf_spec *spec);
/* us, as granted; 0: no deadline */
uint64_t rtf_spec_get_deadline(const struct rtf_spec *spec);
/* "" before the first request */
const char *rtf_spec_get_name(const struct rtf_spec *spec);
/* the plugin that made the grant; "": nothing granted */
const char *rtf_spec_get_plugin(const struct rtf_spec *spec);
/* "deadline", "fifo", "rr" or "" */
const char *rtf_spec_get_policy(const struct rtf_spec *spec);
/* CPUs on which the thread may run */
const char *rtf_spec_get_cpus(const struct rtf_spec *spec);
pid_t rtf_spec_get_thread(const struct rtf_spec *spec); /* 0: no thread */
/* the current mode; "": the spec has no modes */
const char *rtf_spec_get_mode(const struct rtf_spec *spec);
/* us: the runtime in the current mode; without modes the accepted runtime */
uint64_t rtf_spec_get_runtime_in_mode(const struct rtf_spec *spec);
/* The reserved amount of a resource. For "units" it is a count; for "network" and "disk" it is
 * bytes in each period. With modes, it is the largest amount of all modes. For "threads" it is the
 * number of threads of a program file that have a reservation. 0: no such claim, or a claim without
 * a guarantee. */
uint64_t rtf_spec_get_accepted_amount(const struct rtf_spec *spec, const char *resource);
/* True if the kernel schedules the thread as granted now. Looks at the verdict, like
 * rtf_spec_is_granted. */
bool rtf_spec_is_attached(const struct rtf_spec *spec);

/* ---- a periodic task ---- */

/* Begins the first period now (CLOCK_MONOTONIC). If the calling thread is SCHED_DEADLINE and its
 * period is at most 20 ms, first sleeps until the thread has its whole runtime. RTF_ERROR: nothing
 * is granted, or the grant has no period. */
enum rtf_result rtf_task_start(struct rtf_spec *spec);

/* Sleeps until the next activation. missed: receives the number of missed activations, normally 0;
 * may be NULL. Activation n is n periods after rtf_task_start. If the next activation has already
 * passed, the call does not sleep. Then the current activation is the latest one that has passed,
 * and the activations before it are missed. Signals do not end the sleep. After the sleep, the call
 * looks at the verdict: RTF_OK: the reservation is in force. RTF_GONE: nothing is reserved any
 * more. RTF_ATTACH_FAIL: no thread is attached any more, without a call of this program.
 * RTF_CONNECTION_ERR: the broker has stopped, and the thread has its former scheduling.
 * rtf_spec_reason has the cause. With each of these results the call has slept until the next
 * activation, so the caller's loop keeps its pace. The result is RTF_OK again when a broker has
 * restored the reservation. RTF_ERROR: nothing was granted, or the grant has no period; the call
 * has not slept. */
enum rtf_result rtf_task_wait(struct rtf_spec *spec, uint64_t *missed);

/* Like rtf_task_wait, but returns the number of missed activations, and no result. Prefer
 * rtf_task_wait: a program that calls rtf_task_wait_period does not see the end of its
 * reservation. */
uint64_t rtf_task_wait_period(struct rtf_spec *spec);

/* The number of activations missed since rtf_task_start. */
uint64_t rtf_task_missed(const struct rtf_spec *spec);

/* The beginning of the current period, in ns of CLOCK_MONOTONIC. */
int64_t rtf_task_activation(const struct rtf_spec *spec);

/* ---- queries: status.json (rtf-status(5)), and the caller's own specs ---- */

/* Returns a copy of the current status.json; free the copy with rtf_status_free. NULL: the caller
 * can read no status.json; rtf_reason has the cause. */
struct rtf_status *rtf_status_read(struct rtf_connection *connection);
void rtf_status_free(struct rtf_status *status);
uint64_t rtf_status_reservations(const struct rtf_status *status);
uint64_t rtf_status_attached(const struct rtf_status *status);

/* Plugins are numbered from 0, in the order in which the broker asks them. Beyond the last plugin
 * the calls return "". */
size_t rtf_status_plugins(const struct rtf_status *status);
const char *rtf_plugin_name(const struct rtf_status *status, size_t plugin);
const char *rtf_plugin_program(const struct rtf_status *status, size_t plugin);
/* "deadline", "fixed-priority" or "" */
const char *rtf_plugin_policy(const struct rtf_status *status, size_t plugin);
/* "11-20" or "" */
const char *rtf_plugin_priorities(const struct rtf_status *status, size_t plugin);
const char *rtf_plugin_cpus(const struct rtf_status *status, size_t plugin); /* "0-3,6" */
/* "serving", "restarting", "off", "ended" */
const char *rtf_plugin_state(const struct rtf_status *status, size_t plugin);

/* The free utilization for this plugin on this CPU, in billionths: the minimum over the pools that
 * bound a reservation there. If a pool has several CPUs, the free utilization of the whole pool
 * counts. RTF_UNBOUNDED: no pool bounds a reservation there. */
#define RTF_UNBOUNDED UINT64_MAX
uint64_t rtf_status_free_on(const struct rtf_status *status, const char *plugin, int cpu);

/* Returns the caller's own specs, of all programs; free the list with rtf_tasks_free. NULL:
 * failure; rtf_reason has the cause. Beyond the last spec the calls return "" or 0. */
struct rtf_tasks *rtf_tasks_read(struct rtf_connection *connection);
void rtf_tasks_free(struct rtf_tasks *tasks);
size_t rtf_tasks_count(const struct rtf_tasks *tasks);
const char *rtf_task_name(const struct rtf_tasks *tasks, size_t task);
/* "": nothing is granted */
const char *rtf_task_plugin(const struct rtf_tasks *tasks, size_t task);
/* "result" of the verdict; "": no verdict yet */
const char *rtf_task_result(const struct rtf_tasks *tasks, size_t task);
pid_t rtf_task_thread(const struct rtf_tasks *tasks, size_t task); /* 0: no thread */
uint64_t rtf_task_accepted_runtime(const struct rtf_tasks *tasks, size_t task);
uint64_t rtf_task_period(const struct rtf_tasks *tasks, size_t task);

#ifdef __cplusplus
}
#endif

#endif
