/* Finds out whether a broker serves a spool. */
#ifndef RTF_SERVING_H
#define RTF_SERVING_H

enum serving { NOT_SERVED, STARTING, SERVED };

/* `root` is the open spool. Returns SERVED also if the user may not open the FIFOs of the spool. */
enum serving serving(int root);

#endif
