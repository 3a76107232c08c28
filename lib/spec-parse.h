/* Parses the text of NAME.json to a spec (rtf-spec(5)), and the text of NAME.tid to a thread id.
 * The text is hostile: a process with only the user's rights parses it. */
#ifndef RTF_SPEC_PARSE_H
#define RTF_SPEC_PARSE_H

#include "spec.h"

/* Parses NAME.json. False: *reason names the key, its line, and the allowed values. Call spec_free
 * in any case. */
bool spec_parse(const char *text, size_t length, struct spec *spec,
                char reason[static REASON_BYTES]);

/* Parses NAME.tid: one decimal thread id, then optionally " inode=" and the inode of the thread's
 * pidfd, and at most one newline. If the text has no inode, *inode is 0. */
bool spec_parse_tid(const char *text, size_t length, pid_t *tid, uint64_t *inode);

#endif
