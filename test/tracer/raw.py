#!/usr/bin/python3 -S
"""raw SPOOL SECONDS FILE [DOOR]: traces the own threads as rtf trace does, or rtf why (DOOR: why), and keeps the bytes that come (lib/watch-stream.h).

Prints a JSON object: the threads that are traced, and each record and name.
"""
import json
import socket
import struct
import sys
import time

REFUSED, BEGIN, NAMES, RECORDS, END = range(1, 6)
RECORD = struct.Struct("=qBBHHHhhiiHHQq")


def take(body, count, kind, said):
    if kind == BEGIN:
        said["begin"], said["cpus"], said["knows_timers"], said["causes"] = struct.unpack_from("=qIHH", body)
        said["threads"] = list(struct.unpack_from(f"={count}i", body, 16))
        assert len(body) == 16 + 4 * count
    elif kind == NAMES:
        for at in range(count):
            thread, name = struct.unpack_from("=i16s", body, 20 * at)
            said["names"].append([thread, name.decode("latin1")])
        assert len(body) == 20 * count
    elif kind == RECORDS:
        for at in range(count):
            # what tells causes comes last
            time, kind, wait, cpu, to_cpu, state, priority, next_priority, thread, next, others, call, timer, expires = RECORD.unpack_from(body, RECORD.size * at)
            said["records"].append([time, kind, cpu, to_cpu, state, priority, next_priority, thread, next, timer, expires, wait, others, call])
        assert len(body) == RECORD.size * count
    elif kind == END:
        said["end"] = struct.unpack_from("=q", body)[0]
        said["dropped"] = list(struct.unpack_from(f"={said['cpus']}Q", body, 8))
    else:
        said["refused"] = [count, body.decode()]


def main():
    spool, seconds, file, name = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else "trace"
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(f"{spool}/{name}")
    said = {"names": [], "records": []}
    until = time.monotonic() + seconds
    with open(file, "wb") as raw:
        while "end" not in said and "refused" not in said:
            left = until - time.monotonic()
            door.settimeout(left if left > 0 else None)
            if left <= 0:
                door.shutdown(socket.SHUT_WR)
            try:
                datagram = door.recv(1 << 20)
            except TimeoutError:
                continue
            if not datagram:
                break
            raw.write(datagram)
            kind, count = struct.unpack_from("=II", datagram)
            take(datagram[8:], count, kind, said)
    print(json.dumps(said))


main()
