/* A user of a spool, or of the floor, who puts files and waits for the answers. Every time is from
 * before the first system call to after the last one. */
#ifndef RTF_BENCH_CLIENT_H
#define RTF_BENCH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client {
    int directory, watch;
    /* an unwatched directory inside, where files are written before they are renamed */
    int aside;
    char answer[64];    /* the name of the awaited verdict */
    char verdict[4096]; /* the last verdict */
};

void client_open(struct client *client, const char *directory);
void client_close(struct client *client);

/* Each returns ns. Puts NAME.json or NAME.tid, waits for NAME.verdict and reads it. */
int64_t client_put(struct client *client, const char *file, const char *text);
/* Writes the file in the directory itself, as shell scripts do, so that its creation and its
 * closing are events, too. */
int64_t client_put_from_beside(struct client *client, const char *file, const char *text);
/* Removes b.tid, waits for the verdict and reads it. */
int64_t client_detach(struct client *client);
/* Removes NAME.json, and waits until NAME.verdict has gone. */
int64_t client_release(struct client *client, const char *file);

bool client_says(const struct client *client, const char *text);

/* This process becomes the user, who is in the group. */
void become_user(uid_t uid, gid_t group);
void pin(int cpu); /* -1: all CPUs */

#endif
