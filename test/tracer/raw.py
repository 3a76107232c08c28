#!/usr/bin/python3 -S
"""raw SPOOL SECONDS FILE: traces the own threads as rtf trace does, and keeps the bytes that come (lib/watch-stream.h).

Prints a JSON object: the threads that are traced, and each record and name.
"""
import json
import socket
import struct
import sys
import time

REFUSED, BEGIN, NAMES, RECORDS, END = range(1, 6)
RECORD = struct.Struct("=qBxHHHhhii4xQq")


def take(body, count, kind, said):
    if kind == BEGIN:
        said["begin"], said["cpus"], said["knows_timers"] = struct.unpack_from("=qII", body)
        said["threads"] = list(struct.unpack_from(f"={count}i", body, 16))
        assert len(body) == 16 + 4 * count
    elif kind == NAMES:
        for at in range(count):
            thread, name = struct.unpack_from("=i16s", body, 20 * at)
            said["names"].append([thread, name.decode("latin1")])
        assert len(body) == 20 * count
    elif kind == RECORDS:
        for at in range(count):
            record = body[RECORD.size * at : RECORD.size * (at + 1)]
            assert record[9] == 0 and record[28:32] == bytes(4), "the gaps of a record have bytes"
            said["records"].append(RECORD.unpack(record))
        assert len(body) == RECORD.size * count
    elif kind == END:
        said["end"] = struct.unpack_from("=q", body)[0]
        said["dropped"] = list(struct.unpack_from(f"={said['cpus']}Q", body, 8))
    else:
        said["refused"] = [count, body.decode()]


def main():
    spool, seconds, file = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(spool + "/trace")
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
