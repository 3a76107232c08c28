# Shared by the jq programs of the commands of rtf(1) that are written in sh: include "front" with -L of this directory.

# Makes a text of another user or program safe for a terminal: each character other than printable ASCII becomes \uXXXX, as in JSON.
def hex4: [range(3; -1; -1) as $at | (. / ([1, 16, 256, 4096][$at]) | floor) % 16 | "0123456789abcdef"[.:. + 1]] | join("");
def printable: if test("^[ -~]*$") and (contains("\n") | not) then . else
    explode | map(if . >= 32 and . <= 126 then [.] | implode elif . <= 65535 then "\\u" + hex4
        else "\\u" + (55232 + (. / 1024 | floor) | hex4) + "\\u" + (56320 + . % 1024 | hex4) end) | join("") end;

# A time in microseconds as text: 1500 is 1500us, 5000 is 5ms.
def time: if . == null then "-" elif . % 1000000 == 0 then "\(. / 1000000)s" elif . % 1000 == 0 then "\(. / 1000)ms" else "\(.)us" end;

# Billionths of a CPU as an exact decimal number: 250000000 is 0.25.
def cpus: (. / 1000000000 | floor) as $whole | (. - $whole * 1000000000) as $rest |
    if $rest == 0 then "\($whole)" else "\($whole)." + ("\(1000000000 + $rest)"[1:] | sub("0+$"; "")) end;
