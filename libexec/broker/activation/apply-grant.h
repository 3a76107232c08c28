/* Makes the kernel follow reservation->grant: attaches the thread that the files name, and detaches
 * the thread that was attached before. Each function returns the result of a step (request.h). */
#ifndef RTF_APPLY_GRANT_H
#define RTF_APPLY_GRANT_H

#include "attach.h"
#include "request.h"

/* Compares the attached thread with the thread that NAME.tid or the key "attach" of the spec
 * names. */
enum step_result apply_grant_compare(struct request *request);

/* A share is the part of a network or disk that the reservation's traffic gets. apply_grant_share
 * asks the helper of the network or disk for the reservation's share. apply_grant_shared takes the
 * helper's answer. */
enum step_result apply_grant_share(struct request *request);
enum step_result apply_grant_shared(struct request *request, const struct helper_event *event);

/* apply_grant_record writes the thread and its former attributes into the journal.
 * apply_grant_apply then asks the attach helper to change the thread. The journal comes first, so
 * that after a crash the next broker can restore the thread. apply_grant_applied takes the helper's
 * answer. */
enum step_result apply_grant_record(struct request *request);
enum step_result apply_grant_apply(struct request *request);
enum step_result apply_grant_applied(struct request *request, const struct helper_event *event);

/* apply_grant_bind binds the attached thread to the reservation's shares. apply_grant_give gives
 * the thread the extras of the spec (extras.h). apply_grant_bound and apply_grant_given take the
 * helpers' answers. */
enum step_result apply_grant_bind(struct request *request);
enum step_result apply_grant_give(struct request *request);
enum step_result apply_grant_given(struct request *request, const struct helper_event *event);
enum step_result apply_grant_bound(struct request *request, const struct helper_event *event);

/* apply_grant_detach gives the attached thread its former attributes back. apply_grant_detached
 * takes the helper's answer. */
enum step_result apply_grant_detach(struct request *request);
enum step_result apply_grant_detached(struct request *request, const struct helper_event *event);

#endif
