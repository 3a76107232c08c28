#!/usr/bin/python3
"""A loop with a deadline, as in periodic.c: 200 us of CPU time in every 1 ms. Needs the package python3-rtf, or contrib/python in PYTHONPATH."""
import sys

import rtf

periods = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
missed = 0
try:
    with rtf.reserve(runtime="200us", period="1ms") as r:
        for tick in r.every():
            missed += tick.missed
            sum(range(1000))  # the work
            if tick.number == periods:
                break
except rtf.Error as refusal:
    sys.exit(f"periodic.py: {refusal.reason}")
print(f"{periods} periods, {missed} missed")
