/* The modes of what is root's in the spool, as spool/manifest has them. Who changes those of all that is there, by chmod -R, opens the log and the state to
 * everybody: they are put right when that happens, and at each SIGHUP. The adopter does it, for it may. */
#ifndef RTF_SPOOL_MODES_H
#define RTF_SPOOL_MODES_H

/* Before privileges are given up. Where there is no inotify instance left, the log says so, and SIGHUP remains. */
void spool_modes_watch(void);

/* What is as it should be is left alone. */
void spool_modes_mend(void);

#endif
