#!/usr/bin/python3 -S
"""streams-walk PROGRAM STEPS SEED: streams come, change, are asked for and go at random; each answer of the network's plugin is held against paper 002,
section 4.3, in fractions: the sum of all transmission times, each divided by its period, stays within the threshold. Prints what was decided."""
import os
import random
import sys
from fractions import Fraction
from math import ceil, floor

sys.path.insert(0, os.environ["RTF_SOURCE"] + "/contrib")
from plugin_check.protocol import Plugin  # noqa: E402

PAYLOAD, HEADERS, MOST = 1472, 42, 1 << 30
PERIODS = [1, 7, 250, 1000, 20000, 33333, 1000000, 3600000000]
program, steps, chance = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))


def weight(data, period):
    """Bytes a second on the wire, rounded up: more is never promised than there is."""
    packets = -(-data // PAYLOAD)
    return ceil(Fraction((data + packets * HEADERS) * 1000000, period))


def walk(bits, threshold):
    capacity = floor(Fraction(bits, 8) * Fraction(threshold))
    plugin = Plugin([program, "name=NET", "cpus=", "priority=-", "resource=network", "interface=eth0", f"rate={bits}bit", f"threshold={threshold}"])
    assert plugin.greeting.get("answer") == "ok", plugin.greeting
    held, granted, refused = {}, 0, 0
    for step in range(steps):
        task, period = chance.randrange(1, 40), chance.choice(PERIODS)
        # An amount that just fits, or just does not fit.
        left = capacity - sum(weight(*held[other]) for other in held if other != task)
        data = max(1, min(MOST, int(left * period // 1000000 * chance.choice([0.02, 0.1, 0.3, 0.9, 0.94, 0.97, 1, 1.1])) + chance.randrange(-2, 3)))
        stream = {"task": task, "bytes": data, "period": period}
        where = f"step {step}: {stream}, {left} of {capacity} left"
        if chance.random() < 0.25:
            assert plugin.ask({"op": "release", "task": task})[1].closing.get("answer", "ok") == "ok", where
            held.pop(task, None)
            continue
        answer = plugin.ask({"op": "accept", **stream})[1].closing
        fits = weight(data, period) <= left
        assert answer["answer"] == ("ok" if fits else "no"), f"{where}: {answer}"
        if not fits:
            refused += 1
            nearest = int(answer.get("nearest", 0))
            assert nearest == 0 or weight(nearest, period) <= left, f"{where}: the nearest does not fit: {answer}"
            assert weight(nearest + 1, period) > left, f"{where}: one byte more would fit: {answer}"
            assert (answer.get("retry") == "never") == (weight(data, period) > capacity), f"{where}: {answer}"
        elif chance.random() < 0.8:  # otherwise the test only asks
            plugin.ask({"op": "schedule", **stream})
            held[task] = (data, period)
            granted += 1
    return f"# rate {bits}, threshold {threshold}: {granted} granted, {refused} refused"


for link in ((3553000, "0.96"), (100000000, "0.97"), (10000000000000, "1"), (64000, "0.333333333")):
    print(walk(*link))
