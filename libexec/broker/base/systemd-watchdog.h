/* Tells a service manager that the broker serves, and later that it still serves: NOTIFY_SOCKET=
 * and WATCHDOG_USEC= (sd_notify(3)). The service manager restarts a broker that hangs. Without
 * these variables nothing happens, and no timer wakes the broker. */
#ifndef RTF_SYSTEMD_WATCHDOG_H
#define RTF_SYSTEMD_WATCHDOG_H

/* Opens the socket, before the broker gives up the right to open one. */
void watchdog_open(void);
void watchdog_ready(void);

#endif
