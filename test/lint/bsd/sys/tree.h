/* For clang-tidy only: the functions of a tree are declared, and not looked into (../../uthash.h says why). */
#include_next <bsd/sys/tree.h>
#undef RB_GENERATE
#define RB_GENERATE(name, type, field, compare)
