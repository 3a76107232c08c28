/* Tells the service manager that the broker serves, and then at intervals that the broker still
 * serves. The service manager restarts a broker that hangs. It sets the variables NOTIFY_SOCKET=
 * and WATCHDOG_USEC= (sd_notify(3)). Without these variables nothing happens, and no timer wakes
 * the broker. */
#ifndef RTF_SYSTEMD_WATCHDOG_H
#define RTF_SYSTEMD_WATCHDOG_H

/* Opens the socket to the service manager. Call this before the broker gives up the right to open a
 * socket. */
void watchdog_open(void);
void watchdog_ready(void);

#endif
