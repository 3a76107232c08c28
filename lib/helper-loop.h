/* The main loop of the helpers rtf-net and rtf-disk. These programs answer each request with one
 * word. A request is a paragraph with op= and id= on standard input, a SOCK_SEQPACKET socket. The
 * answer has id=, answer=ok|gone|no and, with no, reason=. */
#ifndef RTF_HELPER_LOOP_H
#define RTF_HELPER_LOOP_H

#include "paragraph.h"

enum { SERVE_REASON = 512 };
enum done { DONE, GONE, REFUSED };

/* Serves one request. GONE: the thread of the request has ended. REFUSED: *reason has the cause. */
typedef enum done serve_one(const char *op, const struct paragraph *request,
                            char reason[static SERVE_REASON]);

enum done refuse(char reason[static SERVE_REASON], const char *sentence);

/* Serves requests until the broker ends. Returns the exit status. */
int serve(serve_one *one);

#endif
