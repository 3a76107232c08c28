#!/usr/bin/python3 -S
"""exposition.py [--openmetrics]: reads Prometheus text, or OpenMetrics, and says where it breaks a rule of the format. Prints each sample on a line:
NAME{LABEL="VALUE",...} VALUE, with the labels in their order and a value in the form of a JSON string."""
import json
import re
import sys

openmetrics = "--openmetrics" in sys.argv
NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
LABEL = re.compile(rf'({NAME})="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:{LABEL.pattern})(?:,(?:{LABEL.pattern}))*)\}})? (\S+)')
SUFFIXES = {"counter": ["_total"] if openmetrics else [""], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}


def check(condition, line, why):
    if not condition:
        sys.exit(f"line {line}: {why}: {lines[line - 1] if line <= len(lines) else ''}")


def unescape(text):
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


def metadata(number, line):
    found = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
    check(found, number, "no comment, HELP or TYPE")
    kind, name, text = found.groups()
    if kind == "HELP":
        check(name not in families, number, "a family comes twice")
        families[name] = {"type": None, "help": text, "line": number}
    else:
        check(list(families)[-1:] == [name] and families[name]["type"] is None, number, "TYPE does not follow HELP")
        check(text in SUFFIXES and (openmetrics or text != "info"), number, "unknown type")
        check(openmetrics or (text == "counter") == name.endswith("_total"), number, "counters, and no others, end with _total")
        check(not openmetrics or not re.search("_(total|info|bucket|sum|count)$", name), number, "the name of the family has a suffix")
        families[name]["type"] = text


def sample(number, line):
    found = SAMPLE.fullmatch(line)
    check(found, number, "no sample")
    name, text, value = found[1], found[2] or "", found[found.re.groups]
    family = list(families)[-1] if families else ""
    check(families and families[family]["type"], number, "a sample without a type")
    check(name in [family + suffix for suffix in SUFFIXES[families[family]["type"]]], number, "a sample outside of its family")
    labels = {key: unescape(text) for key, text in LABEL.findall(text)}
    check(len(labels) == len(LABEL.findall(text)), number, "a label comes twice")
    key = (name, tuple(sorted(labels.items())))
    check(key not in samples, number, "a sample comes twice")
    check(re.fullmatch(r"[0-9]+(\.[0-9]+)?", value), number, "the value is no plain number")
    families[family]["empty"] = False
    samples[key] = value
    print(name + json.dumps(labels), value)


def histogram(name):
    buckets = [(float(dict(labels)["le"]), int(value)) for (of, labels), value in samples.items() if of == name + "_bucket"]
    check(buckets == sorted(buckets) and [count for _, count in buckets] == sorted(count for _, count in buckets), 1, "buckets are not in order")
    check(buckets[-1][0] == float("inf") and buckets[-1][1] == int(samples[(name + "_count", ())]), 1, "the last bucket is not the count")


data = sys.stdin.buffer.read()
check_ascii = re.fullmatch(rb"[\n -~]*", data)
lines = data.decode("utf-8", "replace").split("\n")
families, samples = {}, {}
check(check_ascii, 1, "a byte that is not printable")
check(lines.pop() == "", len(lines), "the last line has no end")
if openmetrics:
    check(lines.pop() == "# EOF", len(lines), "the last line is not EOF")
for count, content in enumerate(lines, 1):
    if content.startswith("#"):
        metadata(count, content)
    else:
        sample(count, content)
for family, facts in families.items():
    check("empty" in facts, facts["line"], "a family without samples")
    if facts["type"] == "histogram":
        histogram(family)
