/* The modes of root's directories in the spool, as spool/manifest has them. If an administrator
 * changes all modes (chmod -R), the log and the state are open to all users. So the adopter, which
 * has the right, sets the modes again at once, and at each SIGHUP. */
#ifndef RTF_SPOOL_MODES_H
#define RTF_SPOOL_MODES_H

/* Before the broker gives up its privileges. Without an inotify instance the log says so, and
 * SIGHUP remains. */
void spool_modes_watch(void);

/* Sets modes that differ; others stay as they are. */
void spool_modes_mend(void);

#endif
