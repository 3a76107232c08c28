#!/usr/bin/python3 -S
"""perfetto.py FILE: reads a trace of rtf-trace(1), and says where it breaks a rule of Perfetto's reader: the order of the keys, the escapes, the
order of the events, spans of one thread that overlap and do not nest, a line of systemTraceEvents that the reader cannot parse."""
import json
import re
import sys

NEAR = 1e-3    # us: the file has ns, and the sums of two numbers are not exact
LINE = re.compile(r"-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*[a-zA-Z0-9.]{0,4}\s+(\d+\.\d+):\s+(\S+):")
FIELD = re.compile(r" (?:prev|next)_(?:comm|pid|prio|state)=\S")


def check(condition, why):
    if not condition:
        sys.exit(f"{sys.argv[1]}: {why}")


def check_order(events):
    for before, event in zip(events, events[1:]):
        check(before["ts"] <= event["ts"], f"not sorted: {before} {event}")


def check_nesting(spans):
    ends = []
    for span in spans:
        check(span["dur"] >= 0, f"shorter than nothing: {span}")
        ends = [end for end in ends if end > span["ts"] + NEAR]
        check(not ends or span["ts"] + span["dur"] <= ends[-1] + NEAR, f"does not nest: {span}")
        ends.append(span["ts"] + span["dur"])


def check_lines(text):
    lines = text.split("\n")
    check(lines[0].startswith("#") and lines[-1] == "", "systemTraceEvents does not begin with # or end with a line break")
    for line in lines[1:-1]:
        found = LINE.search(line)
        check(found and found[5] == "sched_switch" and len(FIELD.findall(line)) == 7, f"bad line: {line!r}")


with open(sys.argv[1], encoding="ascii") as file:
    content = file.read()
trace = json.loads(content)
check(list(trace) == ["displayTimeUnit", "traceEvents", "systemTraceEvents", "otherData"], f"keys are {list(trace)}")
check(not set(re.findall(r"\\(.)", content)) - set('n"\\'), "an escape that Perfetto does not know")
events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
check_order(events)
for tid in {event["tid"] for event in events}:
    check_nesting([event for event in events if event["tid"] == tid and event["ph"] == "X"])
check_lines(trace["systemTraceEvents"])
print(len(events), "events")
