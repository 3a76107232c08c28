/* The end of a broker. */
#ifndef RTF_LAY_DOWN_H
#define RTF_LAY_DOWN_H

/* The broker calls lay_down at SIGTERM: every thread gets its former attributes back, and the
 * kernel gets its settings back. Reservations and grants stay in the journal for the next start.
 * The broker calls leave_in_force at SIGINT: all threads and settings stay as they are. */
void lay_down(void);
void leave_in_force(void);

#endif
