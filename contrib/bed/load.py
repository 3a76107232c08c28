"""Reads a disk past the page cache, as a user.

    load.py UID DISK stream BYTES PERIOD-MS SECONDS    reads BYTES at random places each period; prints the percentage that was read, and how many were late
    load.py UID DISK greedy BYTES SECONDS              reads at random places without a pause; prints bytes per second
    load.py UID DISK row BYTES SECONDS                 reads at consecutive places without a pause; prints bytes per second
    load.py UID DISK thinker BYTES THINK-MS SECONDS    reads at random places, with a pause after each read; prints a line for each read: its time in microseconds
    load.py UID DISK sequential [BYTES]                reads BYTES (default 128 KiB) after BYTES until it is killed
    load.py UID DISK deep                              16 threads read 64 KiB at random places until it is killed
"""

import mmap
import os
import random
import sys
import threading
import time

uid, path, kind, *words = sys.argv[1:]
fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
size = os.lseek(fd, 0, os.SEEK_END)
if uid != "0":
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
print("ready", flush=True)
if kind in ("stream", "greedy", "row", "thinker"):
    sys.stdin.readline()


def read(buffer, offset):
    os.preadv(fd, [buffer], offset)


def anywhere(count):
    return random.randrange(size // count) * count


def for_ever(count, places):
    buffer = mmap.mmap(-1, count)
    for place in places:
        read(buffer, place)


def random_places(count):
    while True:
        yield anywhere(count)


def places_in_turn(count):
    place = anywhere(count)
    while True:
        yield place
        place = (place + count) % (size - size % count)


if kind == "stream":
    count, period, seconds = int(words[0]), int(words[1]) / 1000, float(words[2])
    buffer = mmap.mmap(-1, count)
    begin = time.monotonic()
    jobs = int(seconds / period)
    done = late = 0
    for job in range(jobs):
        release = begin + job * period
        while (left := release - time.monotonic()) > 0:
            time.sleep(left)
        if time.monotonic() > begin + seconds:
            break
        read(buffer, anywhere(count))
        done += 1
        late += time.monotonic() > release + period
    print(100 * done // jobs, late, flush=True)
elif kind in ("greedy", "row"):
    count, seconds = int(words[0]), float(words[1])
    buffer, places = mmap.mmap(-1, count), (random_places if kind == "greedy" else places_in_turn)(count)
    end = time.monotonic() + seconds
    done = 0
    while time.monotonic() < end:
        read(buffer, next(places))
        done += count
    print(int(done / seconds), flush=True)
elif kind == "thinker":
    count, think, seconds = int(words[0]), int(words[1]) / 1000, float(words[2])
    buffer = mmap.mmap(-1, count)
    end = time.monotonic() + seconds
    took = []
    while (begin := time.monotonic()) < end:
        read(buffer, anywhere(count))
        took.append(int(1e6 * (time.monotonic() - begin)))
        time.sleep(think)
    print(*took, sep="\n", flush=True)
elif kind == "sequential":
    count = int(words[0]) if words else 131072
    for_ever(count, places_in_turn(count))
else:
    for _ in range(16):
        threading.Thread(target=for_ever, args=(65536, random_places(65536))).start()
