/* Functions shared by the files of the client. */
#ifndef RTF_CLIENT_OWN_H
#define RTF_CLIENT_OWN_H

#include <sys/stat.h>

#include "client.h"

enum { FILE_NAME = NAME_MAX + 1 };

/* Formats a sentence into client->why, and returns the outcome. */
__attribute__((format(printf, 3, 4))) enum client_outcome client_fail(struct client *client,
                                                                      enum client_outcome outcome,
                                                                      const char *format, ...);

/* Calls lstat(2) for NAME.SUFFIX in the user's directory. False: no such file. */
bool client_entry(const struct client *client, const char *name, const char *suffix,
                  struct stat *status);

/* Like client_look, but does not check whether the directory was renamed. For a caller that watches
 * the directory. */
enum client_outcome client_glance(struct client *client, const struct client_wait *wait,
                                  struct client_verdict *verdict);

#endif
