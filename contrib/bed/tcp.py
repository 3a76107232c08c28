#!/usr/bin/env python3
"""tcp.py ADDRESS PORT: sends data over one connection as fast as the connection takes them, until it is killed.
tcp.py sink PORT: receives the data of such connections."""
import socket
import sys
import threading

def take(connection):
    while connection.recv(1 << 16):
        pass


if sys.argv[1] == "sink":
    listener = socket.create_server(("", int(sys.argv[2])))
    print("ready", flush=True)
    while True:
        threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()
out = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    out.sendall(b"x" * (1 << 16))
