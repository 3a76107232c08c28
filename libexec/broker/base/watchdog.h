/* Tells a service manager that started the broker with NOTIFY_SOCKET= and WATCHDOG_USEC= (sd_notify(3)) that it serves, and
 * that it still does: a broker that hangs is then started again. Without these nothing happens, and nothing wakes it. */
#ifndef RTF_WATCHDOG_H
#define RTF_WATCHDOG_H

/* While a socket can still be opened. */
void watchdog_open(void);
void watchdog_ready(void);

#endif
