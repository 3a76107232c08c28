# What the commands of rtf that are written in shell share in jq: include "front" with -L beside this file.

# Values as they are typed: which keys are words whatever they look like. All others are JSON if they can be.
def is_word: . as $key | ["runtime", "period", "deadline", "desired_runtime", "expires", "plugin", "comment", "token", "lifetime", "move",
    "cpus", "on_refusal"] | index($key) != null;

def typed($key): if . == "null" then null elif ($key | is_word) then . else . as $text | try fromjson catch $text end;

# KEY=VALUE lines over a spec; KEY= takes a key out.
def lay_over($lines):
    reduce ($lines | split("\n")[] | select(. != "")) as $line (.;
        ($line | index("=")) as $at | $line[:$at] as $key | $line[$at + 1:] as $value |
        if $value == "" then del(.[$key]) else .[$key] = ($value | typed($key)) end);

# eth0:1024B/20ms, eth0:10Mbit or eth0:background: a claim on a network.
def network($text): $text | capture("^((?<interface>[^:]*):)?(?<size>[^/]*)(/(?<period>.*))?$") |
    (if .interface then {interface} else {} end) + (if .size == "background" and .period == null then {background: true} elif .period then {bytes: .size, period} else {bandwidth: .size} end);

# What other users, or programs, may have written, for a terminal: printable ASCII, and all else as \uXXXX, as JSON has it.
def hex4: [range(3; -1; -1) as $at | (. / ([1, 16, 256, 4096][$at]) | floor) % 16 | "0123456789abcdef"[.:. + 1]] | join("");
def printable: if test("^[ -~]*$") and (contains("\n") | not) then . else
    explode | map(if . >= 32 and . <= 126 then [.] | implode elif . <= 65535 then "\\u" + hex4
        else "\\u" + (55232 + (. / 1024 | floor) | hex4) + "\\u" + (56320 + . % 1024 | hex4) end) | join("") end;

# The broker's sentence. A verdict of an older broker has none.
def refusal: .sentence // .reason // "no reason given" | printable;

# 1500 is 1500us, 5000 is 5ms.
def time: if . == null then "-" elif . % 1000000 == 0 then "\(. / 1000000)s" elif . % 1000 == 0 then "\(. / 1000)ms" else "\(.)us" end;

# Billionths of a CPU, in decimals and exact: 250000000 is 0.25.
def cpus: (. / 1000000000 | floor) as $whole | (. - $whole * 1000000000) as $rest |
    if $rest == 0 then "\($whole)" else "\($whole)." + ("\(1000000000 + $rest)"[1:] | sub("0+$"; "")) end;

# "EDF grants 5ms of each 20ms on CPUs 0-1, 0.25 of a CPU"
def granted: # of a grant
    (if .plugin == null then "granted" else
        "\(.plugin) grants " +
        (if .accepted_runtime then "\(.accepted_runtime | time)" + (if .period then " of each \(.period | time)" else "" end)
         elif .period then "a period of \(.period | time)" else "it" end) +
        (if .deadline and .deadline != .period then " within \(.deadline | time)" else "" end) +
        (if .priority then " at \(.policy) priority \(.priority)" else "" end) +
        " on CPU" + (if .cpus | test("^[0-9]+$") then "" else "s" end) + " \(.cpus)" +
        (if .utilization > 0 then ", \(.utilization | cpus) of a CPU" else "" end) end) +
    ([.claims[]? | if .background then ", \(.plugin) in the background" else ", \(.count // .amount // "\(.bytes) bytes/\(.period)us") of \(.plugin)" end] | join(""));
