# What the commands of rtf that are written in shell share in jq: include "front" with -L beside this file.

# What other users, or programs, may have written, for a terminal: printable ASCII, and all else as \uXXXX, as JSON has it.
def hex4: [range(3; -1; -1) as $at | (. / ([1, 16, 256, 4096][$at]) | floor) % 16 | "0123456789abcdef"[.:. + 1]] | join("");
def printable: if test("^[ -~]*$") and (contains("\n") | not) then . else
    explode | map(if . >= 32 and . <= 126 then [.] | implode elif . <= 65535 then "\\u" + hex4
        else "\\u" + (55232 + (. / 1024 | floor) | hex4) + "\\u" + (56320 + . % 1024 | hex4) end) | join("") end;

# 1500 is 1500us, 5000 is 5ms.
def time: if . == null then "-" elif . % 1000000 == 0 then "\(. / 1000000)s" elif . % 1000 == 0 then "\(. / 1000)ms" else "\(.)us" end;

# Billionths of a CPU, in decimals and exact: 250000000 is 0.25.
def cpus: (. / 1000000000 | floor) as $whole | (. - $whole * 1000000000) as $rest |
    if $rest == 0 then "\($whole)" else "\($whole)." + ("\(1000000000 + $rest)"[1:] | sub("0+$"; "")) end;
