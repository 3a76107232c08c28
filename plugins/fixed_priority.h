/* The code of the plugins fp and rr (section 5.3 of the ReTiF paper). These plugins differ only in
 * the policy: SCHED_FIFO or SCHED_RR. */
#ifndef RTF_FIXED_PRIORITY_H
#define RTF_FIXED_PRIORITY_H

int fixed_priority_main(int argc, char **argv, const char *policy);

#endif
