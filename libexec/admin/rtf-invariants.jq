# The comparison of rtf-invariants(8). Each line of output is a contradiction. A line that begins
# with "foreign: " names a real-time thread that this broker has not attached.

def cpus: if . == "" then [] else split(",") | map(split("-") | map(tonumber) | [range(.[0]; .[-1] + 1)]) | add end;
def place: .user + "/" + .name;
# USER/NAME of the file from which the reservation is made. The reservation NAME+TID is made from the
# program file NAME.json.
def place_of_file: .user + "/" + (.name | sub("\\+.*"; ""));

def lines: split("\n")[] | select(. != "");

# The last record of a journal for each task, and all threads that the journal names.
def journal:
    split("\n\n") | map(split("\n") | map(index("=") as $at | select($at != null) | {key: .[:$at], value: .[$at + 1:]}) | from_entries)
    | {kernel: (map(select(.record == "kernel")) | last),
       tasks: (map(select(.record == "reservation" or .record == "gone")) | INDEX(.task) | map_values(select(.record == "reservation"))),
       threads: (map(select(.tid != null) | {tid, process, started_by} | map_values(tonumber)) | unique)};

# The CPUs with a scheduling domain of rtf; and the CPUs whose domain another broker has made.
def kernel:
    [$made | split("\n\n")[] | capture("^cpu=(?<cpu>[0-9]+)\nby=(?<by>.*)") | .cpu |= tonumber] as $domains
    | {domains: ($domains | map(.cpu)), others: ($domains | map(select(.by as $by | $own | split("\n") | index($by) | not).cpu))};

$books[0] as $books | ($journal | journal) as $journal | kernel as $kernel
| [$others | split("\u001e")[] | select(. != "") | journal?] as $others
| [$files | lines | capture("^(?<user>[^/]+)/(?<name>.+)\\.(?<kind>json|tid|verdict) (?<uid>[0-9]+)$") | .uid |= tonumber] as $files
| [$logged | lines | fromjson? | select(.stage == "attach" and .decision == "ok") | {tid, time: (.time | sub("\\.[0-9]+"; "") | fromdate)}] as $logged
| [$books.uids[]] as $members | [$unseen | lines | split(" ")[1]] as $unseen
| [$in_domains | lines | split(" ") | map(tonumber) | {tid: .[0], cpu: .[1]}] as $in_domains
| ($books.plugins | INDEX(.name)) as $lines
| ($threads | INDEX(.tid)) as $running
| [$verdicts | [lines | split("\t") | {user: .[0], file: .[1], line: (.[2:] | join("\t"))}] | group_by([.user, .file])[]
    | {user: .[0].user, name: (.[0].file[2:] | rtrimstr(".verdict"))} + (map(.line) | join(" ") | fromjson? | objects | {grant, thread, result, program, threads})] as $verdicts
# The verdict of a program file has a row for each reservation: makes each row a verdict.
| [$verdicts[] | if .program == null then . else (.user as $user | .threads[]? | objects | select(.grant != null) | {user: $user, name: .reservation, grant, thread, result}), .grant = null end] as $verdicts
| ($verdicts | INDEX(place)) as $verdict
| ($files | map(select(.kind == "json")) | INDEX(place)) as $declared
| ($files | map(select(.kind != "verdict")) | INDEX(place)) as $asked # a .tid without a spec gets a verdict, too
| ($books.reservations | INDEX(place)) as $known
| ([$books.reservations[].grant | select(. != null)] + $books.debts) as $all_grants
| [$all_grants[] | select(.plugin != null)] as $grants # grants of CPU time
| ([$all_grants[].claims, ($books.reservations[] | .held // {})] | map(to_entries[] | {key: "\(.key) -1", value}) | group_by(.key)
    | map({key: .[0].key, value: (map(.value) | add)}) | map(select(.value != 0)) | from_entries) as $others_held
| [$books.reservations[] | select(.thread != null)] as $attached
| ($attached | INDEX(.thread.tid)) as $by_tid
| ($journal.threads | map({tid, started_by}, {tid: .process, started_by}) | group_by(.tid) | map(max_by(.started_by)) | INDEX(.tid)) as $named
| ($logged | group_by(.tid) | map(max_by(.time)) | INDEX(.tid)) as $in_log
| ([$others[].threads[]] | group_by(.tid) | map(max_by(.started_by)) | INDEX(.tid)) as $theirs
| ([$others[].tasks[] | select(.tid != null) | {tid: (.tid | tonumber), started_by: (.started_by | tonumber)}] | INDEX(.tid)) as $theirs_now

# True if the thread is the one with this id in the index. The id may have passed to a later thread.
| def is_in($index): .start <= ($index["\(.tid)"].started_by // -1);

# True if this broker is known to have attached the thread, or a thread of its process: a thread
# that calls execve(2) takes over the id of the first thread.
def was_attached: is_in($named) or $booted + .start / $ticks <= ($in_log["\(.tid)"].time // -1) + 1;

# True if a plugin of this broker gives the thread's policy and priority.
def is_given: . as $thread | any($books.plugins[];
    if $thread.policy == "deadline" then .deadline else (.deadline | not) and .lowest <= $thread.priority and $thread.priority <= .highest end);

# The reason why this broker has not attached the thread; null: this broker may have attached it. Every grant has
# reset-on-fork, which the owner cannot remove. A killed broker may have left no record of an
# attachment, so a thread counts as attached by this broker unless something rules that out.
def foreign: .uid as $uid | was_attached as $ours
    | if is_in($theirs_now) or (is_in($theirs) and ($ours | not)) then "another broker has attached it"
      elif ($ours or ($members | index($uid))) | not then "uid \($uid) has no directory in this spool"
      elif .reset_on_fork | not then "without reset-on-fork, which every grant has"
      elif ($ours or is_given) | not then "no plugin of this broker gives that"
      else null end;

def is_global: $lines[.].partition == "global" and $lines[.].deadline;

# ---- the sums of the ledger equal the grants, and stay within the limits
(
    [$grants[] | .weight as $weight | .plugin as $plugin
        | if $plugin | is_global then {key: "\($plugin) -1", value: $weight} else .cpus | cpus[] | {key: "\($plugin) \(.)", value: $weight} end]
    | group_by(.key) | map({key: .[0].key, value: (map(.value) | add)}) | map(select(.value != 0)) | from_entries
) as $own
| (
    [$grants[] | select(.plugin | is_global | not) | .rate as $rate | .cpus | cpus[] | {key: "all \(.)", value: $rate}]
    | group_by(.key) | map({key: .[0].key, value: (map(.value) | add)}) | map(select(.value != 0)) | from_entries
) as $shared
| ($books.promised | map({key: "\(.plugin // "all") \(.cpu)", value: .sum}) | from_entries) as $promised
| (
    ($own + $shared + $others_held) as $sums
    | (($sums + $promised) | keys[]) | select($sums[.] != $promised[.])
    | "ledger: \(.): the ledger has \($promised[.] // 0), the sum of the grants is \($sums[.] // 0)"
),
(
    $books.promised[] | select(.plugin != null and $lines[.plugin].resource != "cpu") | select(.sum > $lines[.plugin].capacity)
    | "ledger: \(.plugin): the sum is \(.sum), the capacity is \($lines[.plugin].capacity)"
),
(
    $books.promised[] | select(.plugin != null and $lines[.plugin].promises and $lines[.plugin].resource == "cpu")
    | .plugin as $plugin | select([$grants[] | select(.plugin == $plugin and .untested)] == [])
    | ($lines[$plugin].threshold * (if .cpu < 0 then $lines[$plugin].cpus | cpus | length else 1 end)) as $most
    | select(.sum > $most + 2000)
    | "ledger: \($plugin) on \(if .cpu < 0 then "all its CPUs" else "CPU \(.cpu)" end): the sum is \(.sum), the limit is \($most)"
),
(
    $books.plugins[] | .name as $name | .background as $count | [$books.reservations[].grant.background[]? | select(. == $name)] | select(length != $count)
    | "ledger: \($name): the count of reservations in the background is \($count), there are \(length)"
),
(
    (($books.used + $books.charges) | keys[]) | select(($books.used[.] // 0) != ($books.charges[.] // 0))
    | "access rules: \(.): the sum is \($books.used[.] // 0), the charges of the reservations are \($books.charges[.] // 0)"
),

# ---- the journal agrees with the books
(
    $books.reservations[] | select(.busy | not) | . as $spec | $journal.tasks["\(.task)"] as $record
    | if .grant == null then
          select($record.plugin != null) | "journal: \(place) has a grant of \($record.plugin), the broker knows none"
      elif $record == null then "journal: \(place) is missing"
      else
          [.grant.claims | keys[] | ["\($lines[.].resource)_plugin", .], ["\($lines[.].resource)_background", 0]] +
          [.grant.background[] | ["\($lines[.].resource)_plugin", .], ["\($lines[.].resource)_background", 1]] +
          if .grant.plugin == null then [["plugin", "-"]] else [["plugin", .grant.plugin], ["policy", .grant.policy], ["cpus", .grant.cpus], ["priority", .grant.priority], ["accepted_runtime", .grant.runtime],
           ["period", .grant.period], ["tid", .thread.tid // 0]] end | .[]
          | (.[1] | tostring) as $here | ($record[.[0]] // "0") as $there | select($here != $there)
          | "journal: \($spec | place): \(.[0]) is \($there), the broker says \($here)"
      end
),
(
    $journal.tasks[] | select(.plugin != null) | select($known[place] == null)
    | "journal: \(place) has a grant, and the broker does not know it"
),

# ---- files
(
    $books.reservations[] | select(.grant != null and (.busy | not)) | select(.user as $user | $unseen | index($user) | not) | . as $spec
    | $declared[place_of_file] as $declared
    | if $declared == null then "files: \(place) is granted, and there is no such spec"
      elif $declared.uid != .uid then "files: \(place) is granted to \(.uid), and is a spec of \($declared.uid)"
      elif $verdict[place] == null then "files: \(place) is granted, and has no verdict"
      else
          [["plugin", .grant.plugin, $verdict[place].grant.plugin], ["claims", (.grant.claims | keys), ([$verdict[place].grant.claims[] | select(.background | not).plugin] | sort)],
           ["background", (.grant.background | sort), ([$verdict[place].grant.claims[] | select(.background).plugin] | sort)],
           ["runtime", .grant.runtime // 0, $verdict[place].grant.accepted_runtime // 0],
           ["runtime in its mode", .grant.runtime_in_mode // 0, ($verdict[place].grant | .runtime_in_mode // .accepted_runtime // 0)],
           ["period", .grant.period // 0, $verdict[place].grant.period // 0], ["thread", .thread.tid, $verdict[place].thread.tid]][]
          | select(.[1] != .[2]) | "files: \($spec | place): \(.[0]) is \(.[1]), and its owner was told \(.[2])"
      end
),
(
    $asked[] | select($known[place].busy | not) | select($verdict[place] == null)
    | .user as $user | select($books.quiet[$user] and ([$books.reservations[] | select(.user == $user)] | length) < $books.limit)
    | "files: \(place) has no answer"
),
(
    $files[] | select(.kind == "verdict") | select($asked[place] == null and ($known[place].busy | not)) | "files: \(place) has a verdict, and there is no spec"
),
(
    $verdicts[] | select(.grant != null) | select($known[place].busy | not) | select($known[place].grant == null)
    | "files: \(place) has a verdict with a grant, and the broker has granted nothing"
),

# ---- threads
(
    $attached[] | select(.grant.plugin != null and (.busy | not) and (.thread.pending | not)) | . as $spec | $running["\(.thread.tid)"] as $thread
    # A guarded thread is ordinary from the moment its runtime is used up until its next period. The
    # thread may have become ordinary before or after the books were written.
    | ($thread.policy == "other" and (.thread.enforcement == "suspended" or (.thread.enforcement == "in force" and .grant.policy != "deadline"))) as $suspended
    | if $thread == null or $thread.start > .thread.started_by then "kernel: \(place): thread \(.thread.tid) is not real-time"
      else
          (if $suspended then [] else [["policy", .grant.policy, $thread.policy], ["priority", .grant.priority, $thread.priority]] end) + [["CPUs", .grant.cpus, $thread.cpus],
           ["reset-on-fork", true, $thread.reset_on_fork]]
          + (if .grant.policy == "deadline" and ($suspended | not) then [["runtime", .grant.runtime_in_mode, $thread.runtime], ["period", .grant.period, $thread.period],
                                                 ["deadline", .grant.deadline, $thread.deadline], ["overrun signal", (.grant.overrun_signal // false), ($thread.overrun_signal // false)],
                                                 ["reclaiming", (.grant.reclaim and $thread.reclaim), ($thread.reclaim // false)]] else [] end)
          | .[] | select(.[1] != .[2]) | "kernel: \($spec | place): thread \($spec.thread.tid): \(.[0]) is \(.[2]), granted is \(.[1])"
      end
),
(
    $attached | group_by(.thread.tid)[] | select(length > 1) | "broker: thread \(.[0].thread.tid) is attached to \(map(place) | join(" and "))"
),
(
    $threads[] | select(.policy == "fifo" or .policy == "rr" or .policy == "deadline") | select(.uid != 0 and $by_tid["\(.tid)"] == null)
    | select(.session as $session | $helpers | index($session) | not)
    | foreign as $why
    | if $why == null then "kernel: thread \(.tid) of uid \(.uid) is \(.policy), and nothing is granted to it"
      else "foreign: thread \(.tid) of uid \(.uid) is \(.policy)\(if .priority > 0 then " \(.priority)" else "" end): \($why)" end
),

# ---- the machine
(
    ([$books.plugins[] | select(.partition == "unthrottled")] != []) as $lifted
    | if $lifted and $rt_runtime != "-1" then "kernel: sched_rt_runtime_us is \($rt_runtime), under partition=unthrottled"
      elif $lifted and $lifts == "" then "kernel: this broker needs sched_rt_runtime_us to be -1, and /run/rtf/throttle does not say so"
      elif ($lifted | not) and $lifts != "" then "kernel: /run/rtf/throttle says that \($lifts) needs sched_rt_runtime_us to be -1, and no line of plugins.conf needs that"
      else empty end
),
(
    $books.plugins[] | select(.partition == "cpuset") | .name as $name | .cpus | cpus[] | select(. as $cpu | $kernel.domains | index($cpu) | not)
    | "kernel: CPU \(.) of \($name) has no scheduling domain of its own"
),
(
    $in_domains[] | select($by_tid["\(.tid)"] == null) | . as $place | $running["\(.tid)"] | select(. != null)
    | select(is_in($theirs_now) or (($kernel.others | index($place.cpu)) and (was_attached | not)) | not) | $place
    | "kernel: thread \(.tid) is in the domain of CPU \(.cpu), and not attached"
)
