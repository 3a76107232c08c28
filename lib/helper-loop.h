/* The loop of helpers that answer each request by one word: rtf-net, rtf-disk. A request comes on standard input, a SOCK_SEQPACKET socket, as a
 * paragraph with op= and id=, and is answered by id=, answer=ok|gone|no, and of a no the reason=. */
#ifndef RTF_HELPER_LOOP_H
#define RTF_HELPER_LOOP_H

#include "paragraph.h"

enum { SERVE_REASON = 512 };
enum done { DONE, GONE, REFUSED };

/* GONE: of a thread that has ended. REFUSED: *reason. */
typedef enum done serve_one(const char *op, const struct paragraph *request, char reason[static SERVE_REASON]);

enum done refuse(char reason[static SERVE_REASON], const char *sentence);

/* Until the broker's end. Returns the exit status. */
int serve(serve_one *one);

#endif
