/* The requests of a spec handle. The caller holds the spec's lock. Each function returns the result;
 * RTF_PENDING: the connection is not blocking, and own_look reads the answer. */
#ifndef RTF_OWN_REQUESTS_H
#define RTF_OWN_REQUESTS_H

#include "rtf-own.h"

/* Creates the spec. thread: the thread to attach; 0: none. */
enum rtf_result own_create(struct rtf_spec_own *spec, const struct own_params *asked, pid_t thread);

/* Writes the spec file anew: with new parameters and the same thread, or (asked = NULL) with
 * another thread. attach: a thread's id; -1: none. */
enum rtf_result own_rewrite(struct rtf_spec_own *spec, const struct own_params *asked,
                            pid_t attach);

/* Writes or removes NAME.tid, which leaves the grant as it is. thread = 0: detach. */
enum rtf_result own_set_thread(struct rtf_spec_own *spec, pid_t thread);

/* Takes a spec that exists, whatever program has made it. */
enum rtf_result own_find(struct rtf_spec_own *spec, const char *name);
enum rtf_result own_release(struct rtf_spec_own *spec);

#endif
