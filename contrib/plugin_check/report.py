"""Faults, one sentence each."""
import re
import sys

ENOUGH = 100  # one wrong answer leads to more


class Enough(Exception):
    """There are so many faults that further faults would not help."""


def compact(said):
    return " ".join(f"{key}={value}" for key, value in said.items()) if isinstance(said, dict) else said


class Report:
    def __init__(self):
        self.step, self.told = "start", set()
        self.count = self.steps = self.granted = self.refused = 0

    def fault(self, sent, got, demand):
        self.count += 1
        kind = re.sub(r"\d+", "", demand.split(":")[0])
        if kind not in self.told:  # only the first fault of a kind is printed; the others are counted
            said = "".join(f"{verb} '{compact(what)}', " for verb, what in (("sent", sent), ("got", got)) if what)
            print(f"plugin-check: {self.step}: {said}{'but ' if said else ''}{demand}", file=sys.stderr)
            self.told.add(kind)
        if self.count >= ENOUGH:
            raise Enough
