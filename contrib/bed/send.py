#!/usr/bin/env python3
"""send.py ADDRESS PORT STREAM BYTES PERIOD-MS COUNT [START]: a stream of datagrams, each with its stream, its number and the time.

Its socket is there from the start, and it says that it is ready; it begins when the file START is there, at once without one. Ends with
the second socket that it sends from, which it opens when it begins: half of the datagrams go from each. PERIOD-MS can be a range, LEAST-MOST: each pause is
another time between the two then.
"""
import os
import random
import socket
import struct
import sys
import time

address, port, stream, size, count = sys.argv[1], *map(int, (*sys.argv[2:5], sys.argv[6]))
least, most = map(float, (sys.argv[5].split("-") * 2)[:2])
start = sys.argv[7] if len(sys.argv) > 7 else None
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
print("ready", flush=True)
while start and not os.path.exists(start):
    time.sleep(0.01)
sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
due = time.monotonic()
for number in range(count):
    time.sleep(max(0, due - time.monotonic()))
    due += random.uniform(least, most) / 1000
    head = struct.pack("!IIQ", stream, number, time.monotonic_ns())
    sockets[number % 2].sendto(head.ljust(size, b"."), (address, port))
