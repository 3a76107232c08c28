"""Faults, one sentence each."""
import re
import sys

ENOUGH = 100  # one wrong answer leads to more



class Enough(Exception):
    """So many faults that more would not help."""


def compact(paragraph):
    if paragraph is None or isinstance(paragraph, str):
        return paragraph
    return " ".join(f"{key}={value}" for key, value in paragraph.items()) or "nothing"


class Report:
    def __init__(self):
        self.count = 0
        self.told = set()
        self.step = "start"

    def fault(self, sent, got, demand):
        self.count += 1
        if self.count >= ENOUGH:
            raise Enough
        kind = re.sub(r"\d+", "", demand.split(":")[0])
        if kind in self.told:  # the first of a kind teaches, the rest are counted
            return
        self.told.add(kind)
        said = "".join(f"{verb} '{compact(what)}', " for verb, what in (("sent", sent), ("got", got)) if what)
        print(f"plugin-check: {self.step}: {said}{'but ' if said else ''}{demand}", file=sys.stderr)
