/* A thread must belong to the owner of the directory with the spec. */
#ifndef RTF_THREAD_OWNER_H
#define RTF_THREAD_OWNER_H

#include "request.h"

/* True: the thread belongs to another user or to the kernel, and the request is refused. */
bool thread_is_anothers(struct request *request, pid_t tid, const struct identity *identity);

#endif
