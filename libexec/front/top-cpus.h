/* The load of each CPU, from /proc/stat. */
#ifndef RTF_TOP_CPUS_H
#define RTF_TOP_CPUS_H

enum { CPUS_SHOWN = 1024 };
struct cpu {
    int number;
    unsigned long long busy, all; /* ticks since boot */
    /* how much of the time between the last two calls of cpus_look the CPU was busy */
    int thousandths;
};

/* Reads /proc/stat. *all is an array that the next call overwrites. Returns its length. */
int cpus_look(const struct cpu **all);

#endif
