/* Makes the requests of a spec handle. The caller holds the lock of the handle. Each function
 * returns the result; RTF_PENDING: the connection is not blocking, and own_look reads the answer. */
#ifndef RTF_OWN_REQUESTS_H
#define RTF_OWN_REQUESTS_H

#include "rtf-own.h"

/* Creates the spec. thread: the thread to attach; 0: none. */
enum rtf_result own_create(struct rtf_spec_own *spec, const struct own_params *asked, pid_t thread);

/* Writes the spec file anew. asked: the new parameters; then the thread stays the same. asked =
 * NULL: the parameters stay, and only the thread changes. attach: a thread's id; -1: no thread. */
enum rtf_result own_rewrite(struct rtf_spec_own *spec, const struct own_params *asked,
                            pid_t attach);

/* Writes or removes NAME.tid. The grant stays as it is. thread: the thread to attach; 0: detach. */
enum rtf_result own_set_thread(struct rtf_spec_own *spec, pid_t thread);

/* Makes the handle stand for a spec that exists, whatever program has made the spec. */
enum rtf_result own_find(struct rtf_spec_own *spec, const char *name);
enum rtf_result own_release(struct rtf_spec_own *spec);

#endif
