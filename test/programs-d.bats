# rtf-programs(5): program files that the administrator writes for users, in programs.d.
load helper

prepare() {
    GIVEN=$CONFIG/programs.d
    mkdir "$GIVEN"
    chmod 755 "$CONFIG" "$GIVEN"
}

# give NAME JSON: writes a file into programs.d, as root.
give() { printf '%s\n' "$2" >"$GIVEN/$1.json"; }

# has UID NAME TEXT: the user's directory has this file, blanks aside.
has() { [ "$(tr -d ' \n' <"$SPECS/$1/admin:$2.json" 2>/dev/null)" = "$3" ]; }
has_not() { [ ! -e "$SPECS/$1/admin:$2.json" ]; }

reloads() { grep -c '"reloaded"' "$EVENTS" || true; }
has_reloaded() { [ "$(reloads)" -gt "$1" ]; }
reload() {
    local before
    before=$(reloads)
    kill -HUP "$BROKER"
    eventually has_reloaded "$before"
}

# tells DECISION REASON: the log has this line about the broker.
tells() { jq -e -s --arg decision "$1" --arg reason "$2" 'any(.[]; .stage == "broker" and .decision == $decision and .reason == $reason)' "$EVENTS" >/dev/null; }

RULES='"threads":[{"name":"*","runtime":"2ms","period":"20ms"}]'

@test "a file of programs.d is given to its user, as a program file of the user; it ends with its original" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    give mixer "{\"program\": \"/usr/bin/mixer\", $RULES, \"user\": \"$ALICE\"}"
    give README.txt 'no file of these'
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    eventually has $ALICE mixer "{\"program\":\"/usr/bin/mixer\",$RULES}"
    [ "$(stat -c %u "$SPECS/$ALICE/admin:player.json")" = $ALICE ]
    give player "{\"user\": \"$BOB\", \"program\": \"/usr/bin/player\", $RULES}"
    rm "$GIVEN/mixer.json"
    reload
    eventually has $BOB player "{\"program\":\"/usr/bin/player\",$RULES}"
    eventually has_not $ALICE player
    eventually has_not $ALICE mixer
    # A file that the user has made under such a name stays: it is not given.
    as $ALICE cp "$SPOOL/../etc/acl.conf" "$SPECS/$ALICE/admin:own.json"
    rm "$GIVEN/player.json"
    reload
    eventually has_not $BOB player
    [ -e "$SPECS/$ALICE/admin:own.json" ]
    # The broker does not run while the file goes.
    give player "{\"user\": \"$BOB\", \"program\": \"/usr/bin/player\", $RULES}"
    reload
    eventually has $BOB player "{\"program\":\"/usr/bin/player\",$RULES}"
    broker_stop INT
    rm "$GIVEN/player.json"
    broker_start
    eventually has_not $BOB player
}

@test "a file that the user has removed or changed comes back at the next reload" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    as $ALICE rm "$SPECS/$ALICE/admin:player.json"
    reload
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    put $ALICE admin:player '{"runtime": "1ms", "period": "20ms"}'
    reload
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
}

@test "a wrong file is named with key and line, and the file in force stays" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    give player "{\"user\": \"$ALICE\",
        \"porgram\": \"/usr/bin/player\", $RULES}"
    reload
    eventually tells error 'programs.d/player.json: key "porgram" (line 2) is unknown; did you mean "program"?; the file in force stays'
    has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    reload # the record still has it
    rm "$GIVEN/player.json"
    reload
    eventually has_not $ALICE player
}

# check STATUS SENTENCE: rtf-brokerd --check exits with the status and says this.
check() {
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq "$1" ]
    [[ $output == *"$2"* ]] || { echo "$output" >&2; return 1; }
}

@test "rtf-brokerd --check refuses a wrong file of programs.d, and rtf-lint tells what may be a mistake" {
    while IFS='|' read -r json sentence; do
        give player "$json"
        check 78 "rtf-brokerd: programs.d/player.json: $sentence"
    done <<END
{"program": "/usr/bin/player", $RULES}|has neither the key "user" nor "group"
{"user": 3, "program": "/usr/bin/player", $RULES}|key "user" (line 1) must be the name of a user
{"user": "@audio", "program": "/usr/bin/player", $RULES}|key "user" (line 1) must be the name of a user
{"user": "ann", "group": "audio", "program": "/usr/bin/player", $RULES}|key "group" (line 1) must be @ and the name of a group, such as "@audio"
{"user": "ann", "process": 42, $RULES}|the key "program" is missing: "process" is for users
{"user": "ann", "program": "/usr/bin/player"}|the key "threads" is missing
{"user": "ann", "program": "player", $RULES}|key "program" (line 1) must be the absolute path of a program
{"user": "ann", "program": "/usr/bin/player", "threads": []}|key "threads" (line 1) must be an array of 1 to 64 rules
{"user": "ann"|is not one JSON object: line 2, column 0
END
    printf '{"user": "ann", "program": "/usr/bin/player", %s}\n' "$RULES" >"$GIVEN/player.json"
    run "$RTF_LIBEXEC/rtf-lint" --config "$CONFIG"
    [[ $output == *'programs.d/player.json: there is no user ann'* ]]
    [[ $output == *'programs.d/player.json: there is no program /usr/bin/player'* ]]
}

@test "only root may write what counts: another owner, mode or kind of file is refused" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    chmod 664 "$GIVEN/player.json"
    check 78 "$GIVEN/player.json: must be a regular file of root's that nobody else can write"
    chmod 644 "$GIVEN/player.json"
    chown $ALICE "$GIVEN/player.json"
    check 78 "$GIVEN/player.json: must be a regular file of root's that nobody else can write"
    rm "$GIVEN/player.json"
    mkfifo "$GIVEN/player.json"
    check 78 "$GIVEN/player.json: must be a regular file of root's that nobody else can write"
    rm "$GIVEN/player.json"
    chmod 775 "$GIVEN"
    check 78 "$GIVEN: must be a directory of root's that nobody else can write"
    broker_start
    eventually tells error "$GIVEN: must be a directory of root's that nobody else can write (mode 0755 at most)"
}

is_caught() { ps -u $ALICE -o stat=,comm= | grep -q '^T.* rtf-programs$'; }
has_ended_or_stopped() { is_caught || ! pgrep -u $ALICE '^rtf-programs$' >/dev/null; }

# Bob comes after Alice.
@test "a user who stops the process that writes their file delays nobody" {
    broker_start
    # Alice stops each of her processes except this one.
    become $ALICE /usr/bin/python3 -S -c '
import os, signal, sys
print("stops", flush=True)
while os.path.isdir(sys.argv[1]):
    for _ in range(1000):
        try:
            os.kill(-1, signal.SIGSTOP)
        except (ProcessLookupError, PermissionError):
            pass' "$WORK" >"$WORK/stops" 3>&- &
    echo $! >>"$WORK/pids"
    eventually [ -s "$WORK/stops" ]
    for ((tries = 20; tries > 0; tries--)); do
        give a "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/$tries\", $RULES}"
        give b "{\"user\": \"$BOB\", \"program\": \"/usr/bin/$tries\", $RULES}"
        reload
        eventually has $BOB b "{\"program\":\"/usr/bin/$tries\",$RULES}"
        eventually has_ended_or_stopped
        ! is_caught || break
    done
    local late="the files of programs.d for uid $ALICE are not all in force: it took too long"
    no tells warning "$late"
    eventually tells warning "$late"
}
