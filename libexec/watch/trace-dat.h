/* Writes the kernel's own pages as a file of trace-cmd(1), version 6, which kernelshark(1) opens.
 * trace-cmd.dat.v6(5) has the format. */
#ifndef RTF_WATCH_TRACE_DAT_H
#define RTF_WATCH_TRACE_DAT_H

#include <stdbool.h>
#include <stdio.h>

#include "recorder.h"

/* Before the recording, the caller has called recorder_keep_pages. False with errno: the
 * description of an event cannot be read. The caller also checks ferror(stream). */
bool trace_dat_write(const struct recorder *recorder, FILE *stream);

#endif
