/* Whether a broker keeps what the spool says. */
#ifndef RTF_SERVING_H
#define RTF_SERVING_H

enum serving { NOT_SERVED, STARTING, SERVED };

/* Of the spool that is open as `root`. A user who may not open its FIFOs cannot tell, and is told SERVED. */
enum serving serving(int root);

#endif
