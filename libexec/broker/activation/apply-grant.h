/* Makes the kernel follow the grant: which thread is attached, and which thread should be? */
#ifndef RTF_APPLY_GRANT_H
#define RTF_APPLY_GRANT_H

#include "attach.h"
#include "request.h"

/* Compares the attached thread with the thread that the key "attach" or NAME.tid names. The grant
 * is reservation->grant. */
enum step_result apply_grant_compare(struct request *request);

/* Makes the reservation's share of a network or disk. */
enum step_result apply_grant_share(struct request *request);
enum step_result apply_grant_shared(struct request *request, const struct helper_event *event);

/* _record writes the thread and its former attributes into the journal. Only then _apply has the
 * kernel changed: a crash in between loses nothing. */
enum step_result apply_grant_record(struct request *request);
enum step_result apply_grant_apply(struct request *request);
enum step_result apply_grant_applied(struct request *request, const struct helper_event *event);

/* Binds the attached thread to the shares. */
enum step_result apply_grant_bind(struct request *request);
enum step_result apply_grant_give(struct request *request);
enum step_result apply_grant_given(struct request *request, const struct helper_event *event);
enum step_result apply_grant_bound(struct request *request, const struct helper_event *event);

/* Gives the attached thread its former attributes back. */
enum step_result apply_grant_detach(struct request *request);
enum step_result apply_grant_detached(struct request *request, const struct helper_event *event);

#endif
