/* Keeps the modes of root's directories in the spool as in spool/manifest. An administrator who
 * changes all modes (chmod -R) could open the log and the state to all users. So the broker has the
 * adopter, which may change modes, set the modes again at once, and at each SIGHUP. */
#ifndef RTF_SPOOL_PERMISSIONS_H
#define RTF_SPOOL_PERMISSIONS_H

/* Watches the modes. Call this before the broker gives up its privileges. If the kernel gives no
 * inotify instance, the log says so, and the modes are set only at SIGHUP. */
void spool_permissions_watch(void);

/* Sets the modes that differ from spool/manifest. */
void spool_permissions_mend(void);

#endif
