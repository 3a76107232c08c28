#include "target-thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attachments.h"
#include "cgroup.h"
#include "execve.h"
#include "plugin-lines.h"
#include "readers.h"
#include "second-reservation.h"
#include "stale-thread-id.h"
#include "thread-owner.h"

static bool is_attached_elsewhere(const struct reservation *reservation, pid_t tid)
{
    const struct attachment *other = attachment_find(tid);
    return other != NULL && other->reservation != reservation && !attachment_is_over(other);
}

/* True: the reservation is made from a program file (rtf-spec(5)). Such a file stands for all
 * threads of the program, so a thread may be younger than the file. */
static bool is_of_program(const struct reservation *reservation)
{
    return reservation_name_of_program(reservation->name) != 0;
}

/* Refuses to attach a thread that has ended. If the file NAME.tid names the thread (by_file), the
 * reader removes the file, because the file could only name a wrong thread later. */
static void target_is_outlived(struct request *request, bool by_file)
{
    request->activation.why_not = TARGET_OUTLIVED;
    if (!by_file)
        return;
    /* the reader removes the file only if the file still has this stamp, because the owner may have
     * written the file again */
    reader_remove(request->reservation->user, request->reservation->name, "tid",
                  &request->tid.stamp);
    request->tid.stamp = (struct stamp){0};
}

/* Finds the group to which a detached thread returns. A thread that an attached thread has started
 * is in the attached thread's leaf of a domain. The new thread must not return to this leaf later,
 * because the broker removes the leaf when the attached thread ends. */
bool target_group(pid_t tid, char **group)
{
    char mount[GROUP_BYTES], path[GROUP_BYTES];
    cpu_set_t domains;
    int cpu, length = 0;
    pid_t parent;
    unsigned long long started_by;
    *group = NULL;
    plugins_domains(&domains);
    if (CPU_COUNT(&domains) == 0)
        return true;
    if (!thread_group(cgroups_find("cpuset", mount), "cpuset", tid, path))
        return false;
    if (sscanf(path, "/rtf-%d/t%d.%llu%n", &cpu, &parent, &started_by, &length) == 3 &&
        path[length] == '\0') {
        const struct attachment *other = attachment_find(parent);
        if (other == NULL || other->started_by != started_by || other->group == NULL) {
            /* the attached thread of this leaf has just ended, and the helper is about to empty the
             * leaf */
            errno = EAGAIN;
            return false;
        }
        snprintf(path, sizeof path, "%s", other->group);
    }
    *group = strdup(path);
    return *group != NULL;
}

/* Refuses a thread that the owner has named by its id in another pid namespace. */
static void refuse_unseen(struct request *request, pid_t unseen)
{
    refuse_thread(
        request, WHY_NO_THREAD,
        "thread %d of the pid namespace of its owner is not found: it has ended, or this kernel cannot find it (before Linux 6.14)",
        (int)unseen);
}

struct attachment *target_thread(struct request *request, pid_t tid, bool by_file)
{
    struct reservation *reservation = request->reservation;
    struct identity identity;
    struct attributes former;
    char *group, reason[REASON_BYTES];
    const struct stamp *file = by_file ? &request->tid.stamp : &request->json.stamp;
    const char *name = by_file ? ".tid" : ".json";
    const pid_t unseen =
        by_file ? request->spec.attach_unseen : reservation->grant->spec.attach_unseen;
    if (unseen != 0) {
        refuse_unseen(request, unseen);
        return NULL;
    }
    int pidfd = thread_find(tid, !file_is_just_written(file), &identity);
    if (pidfd < 0) {
        refuse_thread(request, WHY_NO_THREAD, "there is no thread %d", (int)tid);
        if (file_is_older(file, &(struct identity){.start = 0}))
            target_is_outlived(request, by_file);
    } else if (thread_is_anothers(request, tid, &identity)) {
        close(pidfd);
        return NULL;
    } else if (!is_of_program(reservation) && file_is_older(file, &identity)) {
        refuse_thread(request, WHY_STALE,
                      "%s%s is older than thread %d: the file means an earlier thread with this id",
                      reservation->name, name, (int)tid);
        target_is_outlived(request, by_file);
    } else if (is_attached_elsewhere(reservation, tid)) {
        refuse_thread(request, WHY_ATTACHED_ELSEWHERE,
                      "thread %d is attached to another reservation already", (int)tid);
        request->activation.why_not = TARGET_TAKEN;
    } else if (reservation->grant->spec.budget_process && identity.process != tid) {
        refuse_thread(request, WHY_UNCLEAR_THREAD,
                      "thread %d is not the first thread of its process, %d: with \"budget\": "
                      "\"process\" name the first thread",
                      (int)tid, (int)identity.process);
    } else if (leader_is_alike(&identity)) {
        refuse_thread(
            request, WHY_UNCLEAR_THREAD,
            "thread %d cannot be attached, because the first thread of its process, %d, is real-time with reset-on-fork, and rtf has not made it so: after an execve the broker could not tell the two threads apart",
            (int)tid, (int)identity.process);
        request->activation.why_not = TARGET_TAKEN;
    } else if (!thread_attributes(tid, &former))
        refuse_thread(request, WHY_UNCLEAR_THREAD, "the state of thread %d cannot be read: %s",
                      (int)tid, strerror(errno));
    else if (!target_group(tid, &group)) {
        if (errno == EAGAIN)
            request->activation.why_not = TARGET_TAKEN;
        refuse_thread(
            request, WHY_UNCLEAR_THREAD,
            "the broker cannot find the cpuset group of thread %d, and could not move the thread back later: %s",
            (int)tid, strerror(errno));
    } else {
        execve_former(&identity, &former);
        if (!second_reservation_allows(reservation, &identity, &former, reason)) {
            refuse_thread(request, WHY_ATTACHED_ELSEWHERE, "%s", reason);
            request->activation.why_not = TARGET_TAKEN;
            free(group);
            close(pidfd);
            return NULL;
        }
        struct attachment *target = attachment_new(reservation, &identity, pidfd, by_file, &former);
        target->group = group;
        return target;
    }
    if (pidfd >= 0)
        close(pidfd);
    return NULL;
}
