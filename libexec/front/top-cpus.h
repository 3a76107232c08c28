/* How busy each CPU was, from /proc/stat. */
#ifndef RTF_TOP_CPUS_H
#define RTF_TOP_CPUS_H

enum { CPUS_SHOWN = 1024 };
struct cpu {
    int number;
    unsigned long long busy, all; /* in ticks since the machine was booted */
    int thousandths;              /* busy, from the look before to this one */
};

/* Looks again. Returns how many there are. */
int cpus_look(const struct cpu **all);

#endif
