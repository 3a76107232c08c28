/* Making the kernel follow the grant: which thread is attached, which should be? */
#ifndef RTF_ENFORCING_H
#define RTF_ENFORCING_H

#include "attach.h"
#include "request.h"

/* The grant is wish->grant; the thread is named by the key attach or by NAME.tid. */
enum next enforce(struct request *request);

/* The cpuset group that a thread would be put back to, allocated; NULL where no domains are in use. False with errno. */
bool group_of(pid_t tid, char **group);

/* Of a grant whose runtime is enforced by the guard, as the kernel shows the thread: it may be ordinary until its next period. */
enum enforcement { NOT_ENFORCED, IN_FORCE, SUSPENDED };
enum enforcement attachment_enforcement(const struct attachment *attachment, const struct attributes *now);

/* Says so in the log if the thread does not run as granted any more: its owner may change his own thread's affinity, and
 * lower its policy. */
bool has_drifted(const struct wish *wish);

/* Gives the attached thread its former attributes back; and goes on with that, when it was ordinary and had to wait. */
enum next detach(struct request *request);
enum next detach_on(struct request *request);

enum next helper_answered(struct request *request, const struct helper_event *event);

#endif
