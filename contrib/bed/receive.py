#!/usr/bin/env python3
"""receive.py PORT SECONDS: receives datagrams until none has come for SECONDS. Then prints one line of JSON for each stream: the number of
datagrams that arrived, and their latencies in microseconds."""
import json
import socket
import struct
import sys
import time

into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
into.bind(("", int(sys.argv[1])))
print("ready", flush=True)
streams = {}
into.settimeout(30)
try:
    while True:
        data = into.recv(65536)
        now = time.monotonic_ns()
        stream, number, sent = struct.unpack("!IIQ", data[:16])
        streams.setdefault(stream, {})[number] = (now - sent) // 1000
        into.settimeout(float(sys.argv[2]))
except TimeoutError:
    pass
for stream, seen in sorted(streams.items()):
    late = sorted(seen.values())
    print(json.dumps({"stream": stream, "came": len(seen), "p50": late[len(late) // 2], "p95": late[len(late) * 95 // 100],
                      "p99": late[len(late) * 99 // 100], "max": late[-1]}), flush=True)
