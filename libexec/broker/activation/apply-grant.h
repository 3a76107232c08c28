/* Making the kernel follow the grant: which thread is attached, which should be? */
#ifndef RTF_APPLY_GRANT_H
#define RTF_APPLY_GRANT_H

#include "attach.h"
#include "request.h"

/* Compares. The grant is reservation->grant; the thread is named by the key attach or by NAME.tid. */
enum step_result apply_grant_compare(struct request *request);

/* A share of a network or disk is made. */
enum step_result apply_grant_share(struct request *request);
enum step_result apply_grant_shared(struct request *request, const struct helper_event *event);

/* The journal has the thread, and what it was before, before the kernel is asked. */
enum step_result apply_grant_record(struct request *request);
enum step_result apply_grant_apply(struct request *request);
enum step_result apply_grant_applied(struct request *request, const struct helper_event *event);

/* The attached thread uses the shares. */
enum step_result apply_grant_bind(struct request *request);
enum step_result apply_grant_bound(struct request *request, const struct helper_event *event);

/* The attached thread gets its former attributes back. */
enum step_result apply_grant_detach(struct request *request);
enum step_result apply_grant_detached(struct request *request, const struct helper_event *event);

/* The cpuset group that a thread would be put back to, allocated; NULL where no domains are in use. False with errno. */
bool group_of(pid_t tid, char **group);

#endif
