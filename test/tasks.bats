# rtf-tasks alone, asked as the broker asks it: what it reports of processes and their threads, and of which users.

load helper

ask() { # ask WHAT [PROGRAM]: runs test/tasks/ask.py, which describes each WHAT.
    /usr/bin/python3 -S "$RTF_SOURCE/test/tasks/ask.py" "$RTF_LIBEXEC/rtf-tasks" $ALICE $BOB "$@"
}

answers() { # WHAT PROGRAM LINE...
    local said
    said=$(ask "$1" "$2")
    [ "$said" = "$(printf '%s\n' "${@:3}" 'status 0')" ] || { echo "$said" >&2; return 1; }
}

@test "threads are told when they appear, get another name and end, with clean names" {
    answers threads '' 'event=thread id=7 comm=camera-2' 'event=thread id=7 comm=nnnnnnnnnnnnnnn' 'event=ended id=7' \
        'event=refused id=8 reason=there is no such process'
}

@test "a user is told nothing of another user's process, nor of a process that becomes another user's" {
    install -m 4755 -o $BOB /usr/bin/sleep "$WORK/sleep"
    answers others "$WORK/sleep" 'event=refused id=1 reason=the process is not yours' \
        'event=refused id=3 reason=the process is a kernel thread; if the number is that of a pid namespace (a container), rtf attach, rtf-run and librtf in there find the right process' 'event=ended id=4'
}

@test "a program is watched from each of its starts by this user, and from no start by another" {
    cp /usr/bin/sleep "$WORK/sleep"
    answers program "$WORK/sleep" 'event=ended id=1' True 'event=ended id=1' True 'event=ended id=1' None
}

@test "of a cgroup the processes of its user are told, also a process that calls no execve, and no process of another user" {
    mount=$(awk '($3 == "cgroup" || $3 == "cgroup2") && $4 !~ /cpuset|blkio/ { print $2; exit }' /proc/mounts)
    [ -n "$mount" ] && GROUP_DIRECTORY=$(mktemp -d "$mount/rtf-test.XXXXXX" 2>/dev/null) || skip 'no cgroup can be made here'
    tidy() { eventually rmdir "$GROUP_DIRECTORY" 2>/dev/null; }
    answers group "$GROUP_DIRECTORY" 'event=process id=1' 'event=ended id=1' 'of another user: None' 'event=process id=1' "True ['1', '1']" 'event=gone id=1' 'event=ended id=1'
}

@test "the helper sleeps while nothing is watched" {
    answers idle '' 'no watch: 0'
}

@test "a user who makes and names threads without end costs a part of one CPU, and keeps no news from others" {
    answers storm '' 'all told True share below 0.4: True'
}

@test "a process is looked at once, however many programs of its user are waited for" {
    answers crowd '' '64 cost less than twice as much as 1: True'
}

@test "a user with many processes, whose programs are looked for, does not delay other users" {
    answers search '' 'answered before the search has ended: True'
}

@test "a user with 64 watches of thousands of threads, who makes the kernel lose records, does not delay other users" {
    cc -O2 -o "$WORK/names" "$RTF_SOURCE/test/tasks/names.c"
    answers lists "$WORK/names" 'told within 3 ms of CPU time: True'
}

@test "a process whose threads have no room is watched until it ends" {
    answers full '' 'told to end: 0' 'ended: True'
}

@test "all watches of a user have 1024 threads together" {
    answers many '' 'threads: 1024'
}
