#!/usr/bin/env python3
"""flood.py ADDRESS PORT: sends datagrams as fast as the interface takes them, until it is killed."""
import socket
import sys

out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        out.sendto(b"x" * 1472, (sys.argv[1], int(sys.argv[2])))
    except OSError:
        pass
