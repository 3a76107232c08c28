/* The tables of wishes and attached threads, and what a grant is booked in: ledger, access rules' sums,
 * neighbouring plugins. */
#ifndef RTF_WISHES_H
#define RTF_WISHES_H

#include "acl.h"
#include "wish.h"

/* The access rules in force. */
extern struct acl *rules;
extern int max_wishes;

/* Zeroed; ends the broker when there is none, for state/ brings it back to here. */
void *allocate(size_t size);

/* Whose limits a user has: his account's, or those of all who have none and are not named in the rules. */
struct account *user_bucket(const struct user *user);

/* NULL when `create` is false and there is none. */
struct wish *wish_find(struct user *user, const char *name, bool create);
/* It has been granted before: whatever the limit is now, it stays, and counts. */
void wish_keep(struct wish *wish);
/* Counts it among its user's, or sets wish->over_limit; when it is made, and again when it is judged, for others may have gone
 * since. A released one is not counted, though it is still known for a moment. */
void wish_count(struct wish *wish);
void wish_uncount(struct wish *wish);
struct wish *wish_of_task(uint64_t task);
void wish_forget(struct wish *wish);

/* What its reader has told of its files has been answered, or has become nothing. */
void wish_sighting_end(struct wish *wish);

/* Writes down what holds for the wish from now on. False with errno. */
bool wish_record(struct wish *wish);

/* All wishes in the order of their making: this, and then wish->hh_task.next. */
struct wish *wish_first(void);

/* Numbers up to this one have been given to an earlier broker's tasks. And one that nobody has. */
void tasks_from(uint64_t first);
uint64_t task_new(void);

/* What a grant weighs in the ledger: its runtime in each window of this length. */
uint64_t grant_window(const struct grant *grant);
uint64_t grant_utilization(const struct grant *grant);

/* Plugins that share CPUs hear of one another's tasks. */
void tell_neighbours(uint64_t task, const struct grant *before, const struct grant *after);

/* A plugin that was restarted hears of this one: it is its own, or a neighbour's, or neither. */
void feed_one(int plugin, uint64_t task, const struct grant *grant);

/* Puts a charged grant into the ledger and makes it the wish's. */
void grant_book(struct wish *wish, struct grant *grant);

/* Takes the wish's grant out of all books and frees it. */
void grant_unbook(struct wish *wish, bool tell_plugin);

struct attachment *attachment_find(pid_t tid);
unsigned attachments_count(void);
struct attachment *attachment_new(struct wish *wish, const struct identity *identity, int pidfd, bool by_file, const struct attributes *former);

/* From here on the end of the thread is an event. False with errno, or when another wish has the thread. */
bool attachment_watch(struct attachment *attachment);
void attachment_end(struct wish *wish);

/* The attachment takes the descriptor (-1: there is none). `armed`: it tells when the thread runs, until
 * attachment_watch_told, to be called when it has. False: nothing will tell. */
bool attachment_keep_watch(struct attachment *attachment, int watch, bool armed);
void attachment_watch_told(struct attachment *attachment);

/* Its thread has ended. Before Linux 6.9 the pidfd of a thread that does not lead its process is the process's. */
bool attachment_is_over(const struct attachment *attachment);

/* One of this process that did not lead it, and is over; NULL. */
struct attachment *attachment_over_in(pid_t process);

/* Its watch, as of now or when it was dropped, has seen its thread end, and no execve(2) by it. */
bool attachment_has_died(const struct attachment *attachment);
void attachment_drop_watch(struct attachment *attachment);
struct attachment *attachment_of_watch(struct source *source);

/* It is real-time and not watched as it should be: that is done a moment later, and nobody waits for it. The one to be watched first
 * (watch_at), NULL; and when that is under way. */
void attachment_watch_soon(struct attachment *attachment);
struct attachment *attachment_to_watch(void);
void attachment_watch_begun(struct attachment *attachment);

/* When to look again whether its id goes on (CLOCK_MONOTONIC, ns); 0: that is known. And the one to look at first. */
void attachment_doubt(struct attachment *attachment, int64_t look_at);
struct attachment *attachment_most_doubtful(void);

/* Freed by attachments_sweep, when the events in hand have been dealt with: one of them may point here. */
void attachment_bury(struct attachment *attachment);
void attachments_sweep(void);

#endif
