/* The code of the plugins fp and rr, which differ only in the policy (section 5.3 of the ReTiF
 * paper). */
#ifndef RTF_FIXED_PRIORITY_H
#define RTF_FIXED_PRIORITY_H

int fixed_priority_main(int argc, char **argv, const char *policy);

#endif
