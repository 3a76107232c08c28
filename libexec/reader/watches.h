/* The inotify instance: what is watched in the directory. */
#ifndef RTF_READER_WATCHES_H
#define RTF_READER_WATCHES_H

#include <stdint.h>

/* It stays the caller's; -1: there is none, and nothing can be watched. */
void watches_use(int inotify);
int watches_descriptor(void);

/* A watch; or -1. `mask`: inotify(7). */
int watch_add(const char *path, uint32_t mask);

/* NAME.json itself, also by another name of it; or -1. */
int watch_file(const char *name);
void watch_end(int watch);

#endif
