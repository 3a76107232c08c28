/* How a call of enforce.h or domain.h has ended. */
#ifndef RTF_ENFORCED_H
#define RTF_ENFORCED_H

/* BUSY: refused for now; what others hold is in the way. PENDING: it sleeps, and the kernel
 * makes it real-time only when it runs; or it is ordinary now, but must stay where it is for enforce_owed. */
enum enforced { ENFORCED, ENFORCE_GONE, ENFORCE_REFUSED, ENFORCE_BUSY, ENFORCE_PENDING };
enum { ENFORCE_REASON = 400 };

/* Writes the sentence and returns ENFORCE_REFUSED. */
enum enforced enforce_refuse(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
