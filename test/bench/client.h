/* A user of a spool, or of the floor: puts files, waits for what answers them. Every time is from before the first system call to
 * after the last one. */
#ifndef RTF_BENCH_CLIENT_H
#define RTF_BENCH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client {
    int directory, watch;
    int aside;          /* a directory in that one, where files are written before they are renamed: nobody watches it */
    char answer[64];    /* the name of the verdict that is waited for */
    char verdict[4096]; /* the last one */
};

void client_open(struct client *client, const char *directory);
void client_close(struct client *client);

/* Each returns ns. NAME.json or NAME.tid is put, and NAME.verdict waited for and read. */
int64_t client_put(struct client *client, const char *file, const char *text);
/* It is written in the directory itself, as shell scripts do: its creation and its closing are events, too. */
int64_t client_put_from_beside(struct client *client, const char *file, const char *text);
/* b.tid is removed, and the same. */
int64_t client_detach(struct client *client);
/* NAME.json is removed, and until NAME.verdict has gone. */
int64_t client_release(struct client *client, const char *file);

bool client_says(const struct client *client, const char *text);

/* This process becomes that user, who is in the group. */
void become_user(uid_t uid, gid_t group);
void pin(int cpu); /* -1: to none */

#endif
