# The warnings of rtf-lint(8) about plugins.conf and acl.conf. Before these files, standard input
# has facts about the machine: "cpus", "servant", "spool", "user" and "group", see rtf-lint.
# rtf-brokerd --check explains a wrong line. rtf-lint only finds that a line is wrong.

function wrong(sentence) {
    print file ":" FNR ": " sentence "; rtf-brokerd --check says what is wrong"
    failed = 1
    exit 78
}

function say(name, line, sentence) { print name ":" line ": " sentence }

# ---- reading ----

# Returns a time in microseconds; a number without a unit is in microseconds, see acl.conf(5).
function time(word) {
    if (word == "tick")
        return tick
    return word * (word ~ /ms$/ ? 1000 : word ~ /[0-9]s$/ ? 1000000 : 1)
}

# Makes a set of the CPUs in a list. Returns the number of these CPUs.
function parse_cpus(list, set,    parts, ends, i, cpu, count) {
    split("", set)
    split(list, parts, ",")
    for (i in parts) {
        if (split(parts[i], ends, "-") == 1)
            ends[2] = ends[1]
        for (cpu = ends[1] + 0; cpu <= ends[2] + 0 && cpu < 1024; cpu++)
            if (!(cpu in set)) {
                set[cpu]
                count++
            }
    }
    return count + 0
}

function read_fact(    i) {
    if ($1 == "cpus")
        online_count = parse_cpus($2, online)
    else if ($1 == "servant") {
        servant_count++
        servant[servant_count] = $2
        servant_priority[servant_count] = $3
    } else if ($1 == "spool")
        spool_group = $2
    else if ($1 == "user" || $1 == "group") {
        known[$2] = $3
        for (i = 4; i <= NF; i++)
            $1 == "user" ? is_member[$2, $i] : gid[$2] = $i
    }
}

# Since Linux 6.12 the kernel keeps 0.05 of each CPU for ordinary threads. That share runs before
# FIFO threads, and so before the broker.
function read_plugin(    i, ends, threshold, unthrottled, cpus, cpu) {
    if (NF < 4)
        wrong("this is no plugin line")
    line_of[$1] = FNR
    is_deadline[$1] = $3 == "-" || $3 == "100" || $3 == "100-100"
    split($3, ends, "-")
    if (!is_deadline[$1] && (ends[2] == "" ? ends[1] : ends[2]) + 0 > highest) {
        highest = (ends[2] == "" ? ends[1] : ends[2]) + 0
        highest_line = FNR
    }
    threshold = 1
    for (i = 5; i <= NF; i++) {
        if ($i ~ /^threshold=/)
            threshold = substr($i, 11) + 0
        if ($i ~ /^resource=/)
            is_amount[$1]
        if ($i ~ /^partition=/)
            unthrottled = $i == "partition=unthrottled"
    }
    if ($4 == "all")
        for (cpu in online)
            cpus[cpu]
    else
        parse_cpus($4, cpus)
    for (cpu in cpus) {
        if (!(cpu in online))
            offline[FNR] = $4
        else if (is_deadline[$1] && unthrottled && threshold > 0.9 && !(cpu in filled)) {
            filled[cpu]
            filled_count++
            filled_line = FNR
        }
    }
    plugin_lines = FNR
}

function read_rule(    number) {
    if (NF != 4)
        wrong("this is no rule")
    if ($2 != "-" && !($2 in line_of))
        wrong("plugins.conf has no plugin " $2)
    count++
    rule_line[count] = FNR
    rule_text[count] = substr($1, 1, 40) " " substr($2, 1, 32) " " $3 " " substr($4, 1, 24)
    domain[count] = $1
    plugin[count] = $2
    property[count] = $3
    value[count] = $4
    bare[count] = $4 ~ /^[0-9]+$/
    closes[count] = $3 ~ /^max_(user_)?(utilization|amount|bandwidth)$/ && $4 ~ /^0+(\.0*)?$/ # with the value 0 nobody gets anything
    opens[count] = !closes[count] && $3 ~ /^max_(user_)?(utilization|amount|bandwidth)$/
    number = $1
    sub(/^@/, "", number)
    if (number !~ /^(-|[0-9]+)$/ && !($1 in known) && !named[$1]++)
        unknown[count]
    # A name and a number can mean the same account.
    subject[count] = $1 == "-" ? "-" : ($1 ~ /^@/ ? "@" : "u") " " ($1 in known ? known[$1] : number)
}

# ---- rules that are probably mistakes ----

function is_group(rule) { return domain[rule] ~ /^@/ }

# True if this user is a member of this group.
function is_in(user, group) {
    return is_group(group) && !is_group(user) && (domain[user], (domain[group] in gid) ? gid[domain[group]] : substr(domain[group], 2)) in is_member
}

function is_related(rule, other) { return is_in(rule, other) || is_in(other, rule) || (is_group(rule) && is_group(other)) } # true for two groups, because a user may be in both

function is_broader(broad, rule) {
    return (subject[broad] == subject[rule] || domain[broad] == "-") && (plugin[broad] == "-" || plugin[broad] == plugin[rule])
}

# True if a rule opens at least one plugin to the users of this rule.
function something_opens(rule,    other) {
    for (other = 1; other <= count; other++)
        if (opens[other] && (plugin[rule] == "-" || plugin[other] == "-" || plugin[other] == plugin[rule]) &&
            (domain[other] == "-" || domain[rule] == "-" || subject[other] == subject[rule] || is_related(rule, other)))
            return 1
    return 0
}

function something_bounds(rule,    other) {
    for (other = 1; other <= count; other++)
        if (!opens[other] && property[other] !~ /^(ignore_adm_test|reclaim|min_runtime|max_user_threads)$/ && (is_broader(other, rule) || is_related(rule, other)))
            return 1
    return 0
}

function is_first_of_subject(rule,    before) {
    for (before = 1; before < rule; before++)
        if (domain[before] == domain[rule] && plugin[before] == plugin[rule] && opens[before] == opens[rule] && closes[before] == closes[rule])
            return 0
    return 1
}

# "min_runtime tick" bounds only SCHED_DEADLINE, because there the kernel ends runtimes at a tick.
function bounds_least(rule, name) { return value[rule] != "tick" || name == "-" || (tick > 0 && is_deadline[name]) }

# Returns a rule for the same users whose largest runtime is below the smallest runtime of this
# rule.
function rule_below(rule,    other) {
    for (other = 1; property[rule] == "min_runtime" && other <= count; other++)
        if (property[other] == "max_runtime" && time(value[other]) < time(value[rule]) && (is_broader(other, rule) || is_broader(rule, other)) &&
            bounds_least(rule, plugin[rule] != "-" ? plugin[rule] : plugin[other]))
            return other
    return 0
}

# Returns a rule such that no period, or no deadline, passes both rules.
function rule_beside(rule,    other, most) {
    most = property[rule]
    if (!sub(/^min_/, "max_", most) || most !~ /^max_(period|deadline)$/)
        return 0
    for (other = 1; other <= count; other++)
        if (property[other] == most && time(value[other]) < time(value[rule]) && (is_broader(other, rule) || is_broader(rule, other)))
            return other
    return 0
}

function is_sum(rule) { return property[rule] ~ /^max_(user_)?(utilization|amount|bandwidth)$/ }

function same_sum(rule,    before) {
    for (before = 1; is_sum(rule) && before < rule; before++)
        if (property[before] == property[rule] && subject[before] == subject[rule] && plugin[before] == plugin[rule])
            return before
    return 0
}

# Returns a broader rule with a smaller sum. All rules hold at once, so the broader rule also bounds
# the users who are meant to get more by this rule.
function smaller_rule(rule,    other) {
    for (other = 1; property[rule] ~ /^max_(user_)?utilization$/ && other <= count; other++)
        if (property[other] == property[rule] && value[other] + 0 < value[rule] + 0 && !closes[other] && subject[other] != subject[rule] &&
            (plugin[other] == "-" || plugin[other] == plugin[rule]) && (domain[other] == "-" || is_in(rule, other)))
            return other
    return 0
}

function is_stranger(rule) {
    return spool_group != "" && domain[rule] !~ /^([-@]|[0-9]+$)/ && domain[rule] in known && known[domain[rule]] != "root" && !((domain[rule], spool_group) in is_member)
}

function judge_values(rule,    other) {
    if (other = rule_beside(rule))
        say("acl.conf", rule_line[rule], rule_text[rule] ": no spec can pass both this rule and line " rule_line[other] ": " rule_text[other])
    if (other = same_sum(rule))
        say("acl.conf", rule_line[rule], rule_text[rule] ": line " rule_line[other] " bounds the same sum, and the smaller of the two holds")
    if (other = smaller_rule(rule))
        say("acl.conf", rule_line[rule], rule_text[rule] ": this gives nothing more, because line " rule_line[other] " holds as well: " rule_text[other])
    if (property[rule] ~ /utilization$/ && bare[rule] && value[rule] > online_count && value[rule] >= 10 && value[rule] <= 100)
        say("acl.conf", rule_line[rule], rule_text[rule] ": a sum is in CPUs, and this machine has " online_count "; " value[rule] " % of one CPU is " value[rule] / 100)
    if (property[rule] ~ /^max_(runtime|period|deadline)$/ && bare[rule] && value[rule] < 100)
        say("acl.conf", rule_line[rule], rule_text[rule] ": a number without a unit is in microseconds; " value[rule] "ms is milliseconds")
    if (is_stranger(rule) && !strange[domain[rule]]++)
        say("acl.conf", rule_line[rule], rule_text[rule] ": " domain[rule] " is no member of the group that may use the spool")
}

function judge_rule(rule,    below) {
    judge_values(rule)
    below = rule_below(rule)
    if (rule in unknown)
        say("acl.conf", rule_line[rule], rule_text[rule] ": the account database knows no such " (is_group(rule) ? "group" : "user"))
    if (below)
        say("acl.conf", rule_line[rule], rule_text[rule] ": no runtime can pass both this rule and line " rule_line[below] ": " rule_text[below])
    if (!is_first_of_subject(rule))
        return
    if (!opens[rule] && !closes[rule] && !something_opens(rule))
        say("acl.conf", rule_line[rule], rule_text[rule] ": this bounds, but no rule opens anything there (" \
            (plugin[rule] in is_amount ? "max_amount or max_bandwidth" : "max_utilization or max_user_utilization") ")")
    else if (opens[rule] && property[rule] ~ /utilization$/ && !something_bounds(rule))
        say("acl.conf", rule_line[rule], rule_text[rule] ": this opens, and nothing bounds runtime, period, deadline or priority")
}

# ---- lines of plugins.conf that this machine cannot follow ----

function judge_machine(    i) {
    for (i = 1; i <= plugin_lines; i++)
        if (i in offline)
            say("plugins.conf", i, "some of the CPUs " offline[i] " are not online: nothing can be attached there")
    if (filled_count > 0 && filled_count == online_count)
        say("plugins.conf", filled_line, "SCHED_DEADLINE threads may fill every CPU, and may keep the broker waiting for many of their periods when " \
            "they use up their runtimes: threshold=0.9 leaves room for the broker")
    # If these threads of the kernel cannot run, inotify, cgroups and ending processes wait for
    # ever. Soon most of the machine waits, too (seen with Linux 6.1).
    for (i = 1; i <= servant_count; i++)
        if (servant_priority[i] <= highest) {
            say("plugins.conf", highest_line, "the kernel's thread " servant[i] " has priority " servant_priority[i] ": a granted thread of this priority " \
                "or above that never sleeps stops the machine; raise ktimers, rcuc and irq_work above " highest)
            return
        }
}

FNR == 1 { file = FILENAME == "-" ? "-" : FILENAME; sub(/.*\//, "", file) }
FILENAME == "-" || FILENAME == "" { read_fact(); next }
{ sub(/#.*/, ""); gsub(/\r/, " ") } # removes comments, and the carriage returns of files from other systems
NF == 0 { next }
file == "plugins.conf" { read_plugin() }
file == "acl.conf" { read_rule() }

END {
    if (failed)
        exit 78
    judge_machine()
    for (rule = 1; rule <= count; rule++)
        judge_rule(rule)
    if (count == 0)
        print "acl.conf: the file has no rule, so only root is granted anything"
}
