#!/usr/bin/env python3
"""send.py ADDRESS PORT STREAM BYTES PERIOD-MS COUNT [START]: sends a stream of datagrams. Each datagram has the stream, its number and
the time.

Opens its first socket and prints "ready". Waits until the file START exists, if one is given. Then opens a second socket, and sends from the two
sockets in turn. PERIOD-MS may be a range, LEAST-MOST: then each pause is a random time in the range.
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
