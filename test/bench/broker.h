/* A broker on a private spool, and what it and its parts cost. */
#ifndef RTF_BENCH_BROKER_H
#define RTF_BENCH_BROKER_H

#include <stdint.h>
#include <sys/types.h>

struct broker {
    char top[64]; /* the directory of all that a run makes */
    char spool[128], specs[160];
    pid_t pid;
};

/* plugins: the lines of plugins.conf. The rules let `uid` do as it likes. Returns when it serves. */
void broker_start(struct broker *broker, const char *build, const char *plugins, uid_t uid, gid_t group);
void broker_stop(struct broker *broker);

#endif
