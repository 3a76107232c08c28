/* What the files of the client share. */
#ifndef RTF_CLIENT_OWN_H
#define RTF_CLIENT_OWN_H

#include <sys/stat.h>

#include "client.h"

enum { FILE_NAME = NAME_MAX + 1 };

/* Stores the sentence; returns the outcome. */
__attribute__((format(printf, 3, 4)))
enum client_outcome client_fail(struct client *client, enum client_outcome outcome, const char *format, ...);

/* What NAME.SUFFIX is, links not followed. */
bool client_entry(const struct client *client, const char *name, const char *suffix, struct stat *status);

/* client_look for who hears of it when the directory is moved. */
enum client_outcome client_glance(struct client *client, const struct client_wait *wait, struct client_verdict *verdict);

#endif
