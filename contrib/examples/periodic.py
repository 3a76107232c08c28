#!/usr/bin/python3
"""The same in Python: 10 ms of every 100 ms. PYTHONPATH is contrib/python, or the package python3-rtf is there."""
import sys

import rtf

periods = int(sys.argv[1]) if len(sys.argv) > 1 else 20
missed = 0
try:
    with rtf.reserve(runtime="10ms", period="100ms") as r:
        for tick in r.every():
            missed += tick.missed
            sum(range(1000))  # the work
            if tick.number == periods:
                break
except rtf.Error as refusal:
    sys.exit(f"periodic.py: {refusal.reason}")
print(f"{periods} periods, {missed} missed")
