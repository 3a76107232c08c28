# The limits that the rules of acl.conf set for an account on a plugin: for rtf-acl(8). Amounts are billionths of a CPU, or numbers in the unit of another resource.
include "front";

# Converts "0.25" to billionths, without rounding.
def sum: split(".") | (.[0] | tonumber) * 1000000000 + (((.[1] // "") + "000000000")[:9] | tonumber);

# Converts "10Mbit" or "640kB" to bytes a second, rounded down.
def bandwidth: capture("^(?<number>[0-9]+)(?<unit>[A-Za-z]*)$") | (.number | tonumber) *
    ({bit: 1, kbit: 1000, Mbit: 1000000, Gbit: 1000000000, B: 8, kB: 8000, MB: 8000000, KiB: 8192, MiB: 8388608}[.unit] // 8) / 8 | floor;

def opens: .property | test("^max_(user_)?(utilization|amount|bandwidth)$");
def is_threads: .property == "max_user_threads";
def is_amount: is_threads or (.property | test("(amount|bandwidth)$"));
def value: .property as $property | .threads as $threads | .value |
    if . == "tick" then $threads elif $property | test("utilization$") then sum elif $property | test("(amount|threads)$") then tonumber else bandwidth end;
def amount($rule): if ($rule | is_amount) then tostring else cpus end;

# True if the rule applies to the account. The broker decides in the same way (libexec/broker/access).
def is_for($account): .domain as $domain |
    if $domain == "-" then true
    elif $domain[:1] == "@" then $domain[1:] as $group | ($account.gids | index($group)) != null or ($account.groups | index($group)) != null
    else $domain == $account.name or $domain == ($account.uid | tostring) end;

def matches($account; $plugin): is_for($account) and (.plugin == $plugin.name or (.plugin == "-" and $plugin.resource == "cpu"));

# How much of a rule's limit is in use, from the broker's books or from the answer to a dry run; null: not known. The books have the amounts by the
# keys that `key` makes, a dry run has them by line number.
def key($plugins): (if .plugin == "-" then -1 else .plugin as $name | $plugins | map(.name) | index($name) end) as $index |
    (if .domain == "-" then "0 " elif .domain[:1] == "@" then (if .domain[1:] | test("^[0-9]+$") then "4 " else "3 " end) + .domain[1:]
     elif .domain | test("^[0-9]+$") then "2 " + .domain else "1 " + .domain end) + " \($index)";
def used($account; $plugins; $sums): if $sums == null then null
    elif $sums.told then is_threads as $whole | $sums.told["\(.line)"] // null | if . == null then null elif $whole then tonumber else sum end
    elif .property | test("^max_user_") then (if .plugin == "-" then -1 else .plugin as $name | $plugins | map(.name) | index($name) end) as $index | $sums["\(if is_threads then "threads" else "uid" end) \($account.uid) \($index)"] // 0
    else $sums[key($plugins)] // 0 end;

def told($account; $plugins; $sums): . as $rule | used($account; $plugins; $sums) as $used |
    {line, text, says: (if opens then (if value == 0 then "closes" else "opens" end)
                        elif .property | test("^(trace|ignore_adm_test|reclaim)$") then (if .value == "true" then "opens" else "closes" end) else "bounds" end)} +
    (if opens or is_threads then {used: (if $used == null then null else $used | amount($rule) end),
                    left: (if $used == null or value == null then null else ([value - $used, 0] | max) | amount($rule) end)} else {used: null, left: null} end);

# For one account and each plugin: whether the account may use the plugin, how much it may use in all, how much of this is left, and every rule that
# applies to this account and this plugin.
def explained($plugins; $sums): . as $account | $plugins[] | . as $plugin |
    [$account.rules[] | select(matches($account; $plugin))] as $rules |
    ($rules | map(select(opens))) as $openings |
    {user: $account.name, uid: $account.uid, plugin: $plugin.name,
     may: (if $account.uid == 0 then true else $account.member and ($openings | length) > 0 and all($openings[]; value > 0) end),
     why: (if $account.uid == 0 then "root is not restricted" elif ($account.member | not) then "not in the group of the spool"
           elif $openings == [] then "no rule opens anything" elif any($openings[]; value == 0) then "a rule closes it" else null end),
     most: (if $account.uid == 0 or $openings == [] then null else ($openings | min_by(value)) as $least | $least | value | amount($least) end),
     left: (if $account.uid == 0 or $openings == [] or $sums == null then null
            else [$openings[] | used($account; $plugins; $sums) as $used | select($used != null) | {rule: ., left: ([value - $used, 0] | max)}] | min_by(.left)
                 | if . == null then null else .rule as $rule | .left | amount($rule) end end),
     rules: (if $account.uid == 0 then [] else $rules | map(told($account; $plugins; $sums)) end)};
