/* Making the kernel follow the grant: which thread is attached, which should be? */
#ifndef RTF_APPLY_GRANT_H
#define RTF_APPLY_GRANT_H

#include "attach.h"
#include "request.h"

/* The grant is reservation->grant; the thread is named by the key attach or by NAME.tid. */
enum next enforce(struct request *request);

/* The cpuset group that a thread would be put back to, allocated; NULL where no domains are in use. False with errno. */
bool group_of(pid_t tid, char **group);

/* Gives the attached thread its former attributes back; and goes on with that, when it was ordinary and had to wait. */
enum next detach(struct request *request);
enum next detach_on(struct request *request);

enum next helper_answered(struct request *request, enum step step, const struct helper_event *event);

#endif
