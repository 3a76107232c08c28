/* For clang-tidy only: uthash without its inside. Its macros are written out wherever they are used, and to follow a hash table's buckets
 * through each of them took a third of the time of `make lint`, and finds nothing about our code. */
#include_next <uthash.h>
#ifndef RTF_LINT_UTHASH_H
#define RTF_LINT_UTHASH_H

void *lint_find(const void *head, const void *key, unsigned long length);
void lint_change(void *head, const void *element);

#undef HASH_FIND
#define HASH_FIND(hh, head, key, length, out) ((out) = (head) == NULL ? NULL : lint_find((head), (key), (length)))
#undef HASH_ADD_KEYPTR
#define HASH_ADD_KEYPTR(hh, head, key, length, element) lint_change(&(head), (element))
#undef HASH_DELETE
#define HASH_DELETE(hh, head, element) lint_change(&(head), (element))
#undef HASH_CLEAR
#define HASH_CLEAR(hh, head) lint_change(&(head), (head))

#endif
