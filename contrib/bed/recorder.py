#!/usr/bin/env python3
"""recorder.py PORT WORK-MS BYTES PLACE: takes each datagram at the port as a frame. For each frame it works for WORK-MS of CPU time, and
then writes BYTES to the disk, past the page cache, from PLACE on. The disk is descriptor 3.

Prints "ready" at the start. At its end (SIGTERM) it prints a line for each frame: the time when the frame was on the disk, in seconds of
CLOCK_BOOTTIME.
"""
import fcntl
import mmap
import os
import signal
import socket
import sys
import time

DISK, MOST = 3, 64 << 20
port, work, size, place = int(sys.argv[1]), float(sys.argv[2]) / 1000, int(sys.argv[3]), int(sys.argv[4])
into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
into.bind(("", port))
fcntl.fcntl(DISK, fcntl.F_SETFL, fcntl.fcntl(DISK, fcntl.F_GETFL) | os.O_DIRECT)
buffer = mmap.mmap(-1, size)
frames = []


def end(*_):
    sys.exit()


def record():
    into.recv(65536)
    until = time.thread_time() + work
    while time.thread_time() < until:
        pass
    os.pwrite(DISK, buffer, place + len(frames) * size % MOST)
    frames.append(time.clock_gettime(time.CLOCK_BOOTTIME))


signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
try:
    while True:
        record()
finally:
    print(*frames, sep="\n", flush=True)
