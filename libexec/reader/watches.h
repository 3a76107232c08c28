/* The inotify instance, and the watches in the directory. */
#ifndef RTF_READER_WATCHES_H
#define RTF_READER_WATCHES_H

#include <stdint.h>

/* Sets the inotify instance. inotify: owned by the caller; -1: none, and nothing can be watched. */
void watches_use(int inotify);
int watches_descriptor(void);

/* Adds a watch, or returns -1. mask: see inotify(7). */
int watch_add(const char *path, uint32_t mask);

/* Watches the file NAME.json itself, under all its names; -1: failure. */
int watch_file(const char *name);
void watch_end(int watch);

#endif
