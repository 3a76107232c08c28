# Program files: one file reserves for the threads of a program, by their names.

load helper

# program UID NAME...: starts a process of this user with threads of these names. $PROGRAM is its id; `tell LINE` tells it something (test/fixtures/threads).
program() {
    local user=$1
    shift
    rm -f "$WORK/orders" "$WORK/said"
    mkfifo "$WORK/orders" "$WORK/said"
    setpriv --reuid "$user" --regid "$user" --clear-groups -- /usr/bin/python3 -S "$RTF_SOURCE/test/fixtures/threads" "$@" <"$WORK/orders" >"$WORK/said" 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
    exec 7>"$WORK/orders"
    read -r ready <"$WORK/said"
}
tell() { echo "$1" >&7; }
tidy() { exec 7>&-; }

thread() { # NAME: the thread of the process that has this name
    local task
    for task in /proc/"$PROGRAM"/task/*; do
        [ "$(cat "$task/comm")" != "$1" ] || { echo "${task##*/}"; return; }
    done
    return 1
}

policy() { chrt -p "$(thread "$1")" | sed -n 's/.*policy: //p'; } # of the thread with this name
is_ordinary() { [ "$(policy "$1")" = SCHED_OTHER ]; }
is_deadline() { [[ "$(policy "$1")" = SCHED_DEADLINE* ]]; }
says() { told "$2" "$(cat "$SPECS/$ALICE/$1.verdict")" 2>/dev/null; } # NAME EXPRESSION: what NAME.verdict of Alice says
rules() { echo '{"process": '"$PROGRAM"', "threads": ['"$1"']'"${2:+, $2}"'}'; }

camera='{"name": "camera*", "runtime": "1ms", "period": "20ms"}'

@test "each thread that a rule matches gets its reservation, and the others are left alone" {
    broker_start
    program $ALICE camera-1 camera-2 audio other
    said=$(spec $ALICE player "$(rules "$camera"', {"name": "audio", "priority": 15, "runtime": "1ms", "period": "10ms", "plugin": "FP"}, {"name": "*", "leave": true}' '"token": "t1"')")
    told '.result == "OK" and .grant.threads == 3 and .token == "t1" and .program.state == "stands"' "$said"
    [ "$(field '[.threads[] | "\(.name) \(.rule) \(.result) \(.grant.plugin)"] | join("; ")' "$said")" = 'camera-1 1 OK EDF; camera-2 1 OK EDF; audio 2 OK FP' ]
    told '.threads[0].tid == '"$(thread camera-1)" "$said"
    is_deadline camera-1
    is_deadline camera-2
    [[ $(policy audio) = SCHED_FIFO* ]]
    is_ordinary other
    is_ordinary python3
    as $ALICE rm "$SPECS/$ALICE/player.json"
    eventually is_ordinary camera-1
    eventually is_ordinary audio
    eventually test ! -e "$SPECS/$ALICE/player.verdict"
}
