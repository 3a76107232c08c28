# Names of files and directories: which names count, and how the broker treats the others.
load helper

PERIODIC='{"runtime": "1ms", "period": "20ms"}'

prepare() {
    HOME_OF_BOB=$WORK/home
    install -d -m 700 -o $BOB -g $BOB "$HOME_OF_BOB"
    ROUNDS=0
}

# here UID SCRIPT: runs a shell script as this user in the user's own directory, and makes the directory if necessary.
here() { as "$1" sh -c "mkdir -p '$SPECS/$1' && cd '$SPECS/$1' && $2"; }

# is_granted UID NAME
is_granted() {
    local answer
    answer=$(verdict "$1" "$2")
    [ "$(field '.result == "OK" and .grant != null' "$answer")" = true ] || { echo "$1/$2: $answer" >&2; return 1; }
}

# bob_is_answered: no other user notices. The broker takes events in their order, so it has also looked at all earlier files.
bob_is_answered() {
    ROUNDS=$((ROUNDS + 1))
    put $BOB "round$ROUNDS" '{"runtime": 100, "period": "100ms"}'
    is_granted $BOB "round$ROUNDS"
    rm "$SPECS/$BOB/round$ROUNDS.json"
}

looks() { [ "$(stat -c "$2" "$1" 2>/dev/null)" = "$3" ]; }

# ---- specs ----

@test "a name is 1 to 64 letters, digits and _ . @ : - and starts with a letter, a digit or _" {
    broker_start
    longest=$(printf '%064d' 0)
    for name in a 7 _ A-b a.b a@host a:1 a.json a.tid a.verdict a..b a- "$longest"; do
        here $ALICE "echo '$PERIODIC' >'$name.json'"
        is_granted $ALICE "$name"
    done
    logged 0 '.decision == "ignored"'
}

@test "other names are left alone and logged" {
    broker_start
    bob_is_answered
    left_alone() {
        local uid=$1 name
        shift
        for name in "$@"; do
            here "$uid" "echo '$PERIODIC' >'./$name'"
        done
        bob_is_answered
        for name in "$@"; do
            [ "$(cat "$SPECS/$uid/$name")" = "$PERIODIC" ]
            jq -se "any(.[]; .stage == \"spool\" and .decision == \"ignored\" and .uid == $uid and .name == \"$name\" and (.reason | test(\"a name must be\")))" \
                "$EVENTS" >/dev/null || { echo "$name" >&2; return 1; }
        done
        [ -z "$(find "$SPECS/$uid" -name '*.verdict')" ]
    }
    # Each file causes two events, and ten lines are logged for one user.
    left_alone $ALICE '-a.json' '@a.json' ':a.json' 'a b.json' 'a+b.json'
    left_alone $CAROL 'a~.json' 'a.jsonx' 'cam' 'cam.txt'
}

@test "a user who gave a file a name that counts for nothing finds a notice in the directory" {
    broker_start
    here $ALICE "echo '$PERIODIC' >'my cam.json'; echo '$PERIODIC' >Cam.JSON; echo '$PERIODIC' >'my cam.json'"
    bob_is_answered
    told() { [ "$(as $ALICE sort "$SPECS/$ALICE/.ignored")" = "Cam.JSON: $1
my cam.json: $1" ]; }
    a_name='ignored: a name must be [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} followed by .json or .tid'
    eventually told "$a_name"
    [ "$(stat -c '%u %a' "$SPECS/$ALICE/.ignored")" = "$ALICE 600" ]
    # The broker reports the names again that are there at its start, and no others.
    rm "$SPECS/$ALICE/Cam.JSON"
    broker_stop TERM
    broker_start
    only() { [ "$(cat "$SPECS/$ALICE/.ignored")" = "my cam.json: $a_name" ]; }
    eventually only
}

@test "names with 65 characters, of 255, with newlines, escapes, no UTF-8 or many dots harm neither log nor others" {
    broker_start
    bob_is_answered
    here $ALICE ": >'$(printf '%065d' 0).json'; : >'$(printf '%0250d' 0).json'; : >'
a.json'; : >\"\$(printf 'a\\033[31mb.json')\"; : >\"\$(printf '\\377\\376.json')\"; : >'ä.json'; : >'\"},{.json'; : >'\$(reboot).json'"
    bob_is_answered
    jq -se 'all(.[]; .schema == 1)' "$EVENTS" >/dev/null
    [ "$(grep -c '"ignored"' "$EVENTS")" -ge 8 ]
    no grep -q "$(printf '\033')" "$EVENTS"
    [ -z "$(find "$SPECS/$ALICE" -name '*.verdict')" ]
    [ "$(find "$SPECS/$ALICE" -type f | tr -dc '\n' | wc -c)" -ge 8 ]
}

# When a directory is adopted, a verdict without a spec is left over from a broker or a reader that died, and is removed.
has_been_looked_through() { [ "$(stat -c %a "$SPECS/$ALICE")" = 2700 ] && ! helpers rtf-reader >/dev/null; }

@test "dot files, .json and .tid alone, and verdicts of no spec are ignored without a word" {
    broker_start
    bob_is_answered
    as $ALICE mkdir "$SPECS/$ALICE"
    eventually has_been_looked_through
    here $ALICE "for name in .cam.json .tid .json .cam.tid .a.verdict other.verdict; do echo '$PERIODIC' >\$name; done; mkdir .folder; mkfifo .pipe; ln -s /dev/zero .link"
    bob_is_answered
    no grep -q "\"uid\":$ALICE" "$EVENTS"
    [ "$(find "$SPECS/$ALICE" -mindepth 1 | wc -l)" = 9 ]
}

@test "the log of ignored names is limited, and omitted names delay no other user" {
    broker_start
    bob_is_answered
    here $ALICE 'number=0; while [ $number -lt 500 ]; do : >"bad name $number"; number=$((number + 1)); done'
    bob_is_answered
    lines=$(grep -c '"ignored"' "$EVENTS")
    [ "$lines" -ge 1 ]
    [ "$lines" -le 20 ]
    [ "$(find "$SPECS/$ALICE" -name 'bad name*' | wc -l)" = 500 ]
    # The limit is Alice's: another user's ignored name is still reported.
    here $BOB ": >'bad name'"
    bob_is_answered
    grep '"ignored"' "$EVENTS" | grep -q "\"uid\":$BOB"
    here $ALICE "echo '$PERIODIC' >cam.json"
    is_granted $ALICE cam
}

@test "a name that is wrong becomes a spec when it is renamed, and a spec that is renamed to a wrong one goes" {
    broker_start
    here $ALICE "echo '$PERIODIC' >'my cam.json'"
    here $ALICE "mv 'my cam.json' cam.json"
    is_granted $ALICE cam
    here $ALICE "mv cam.json 'my cam.json'"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(cat "$SPECS/$ALICE/my cam.json")" = "$PERIODIC" ]
}

@test "a name is case-sensitive and its two files belong together" {
    broker_start
    sleeper $ALICE
    here $ALICE "echo '$PERIODIC' >Cam.json; echo '{\"runtime\": \"2ms\", \"period\": \"20ms\"}' >cam.json"
    is_granted $ALICE Cam
    is_granted $ALICE cam
    here $ALICE "echo $SLEEPER >Cam.tid"
    is_granted $ALICE Cam
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 1000/20000/20000 cpus=$ALL_CPUS reset=1" ]
    [ "$(jq .thread "$SPECS/$ALICE/cam.verdict")" = null ]
}

# ---- directories ----

@test "a directory is named by its owner's uid or account" {
    configure_rules '1 - max_utilization 1' "$BOB - max_utilization 1"
    broker_start
    account=$(getent passwd 1 | cut -d: -f1)
    for directory in 1 "$account"; do
        as 1 sh -c 'mkdir "$1" && echo "$2" >"$1/cam.json"' sh "$SPECS/$directory" "$PERIODIC"
        as 1 env USER="$directory" "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s cam >"$WORK/verdict"
        [ "$(jq -r .result "$WORK/verdict")" = OK ]
        looks "$SPECS/$directory" '%u %g %a' "1 $GROUP 2700"
    done
    # These names belong to no user.
    for directory in root daemon1 01 "+1" ' 1'; do
        as 1 mkdir "$SPECS/$directory"
        eventually test ! -e "$SPECS/$directory"
    done
}

@test "an empty directory under another user's name is removed, so that this user can make one" {
    broker_start
    as $BOB mkdir "$SPECS/$ALICE"
    eventually test ! -e "$SPECS/$ALICE"
    grep -q 'moved aside: a directory in specs/ must have the name or the uid of its owner' "$EVENTS"
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
}

@test "a filled directory under another user's name is moved aside with its content, and counts for no user" {
    broker_start
    as $BOB sh -c 'mkdir "$1/dir" && echo "$2" >"$1/dir/cam.json" && mv "$1/dir" "$3"' sh "$HOME_OF_BOB" "$PERIODIC" "$SPECS/$ALICE"
    eventually test ! -e "$SPECS/$ALICE"
    aside=$(find "$SPECS" -mindepth 1 -maxdepth 1 -name '.*' -user $BOB)
    [ "$(cat "$aside/cam.json")" = "$PERIODIC" ]
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
    bob_is_answered
    [ ! -e "$aside/cam.verdict" ]
    as $BOB rm -r "$aside"
    # A directory that users move into specs/ is moved aside each time.
    for round in 1 2 3; do
        as $BOB sh -c 'mkdir "$1/dir" && : >"$1/dir/file" && mv "$1/dir" "$2"' sh "$HOME_OF_BOB" "$SPECS/$CAROL"
        eventually test ! -e "$SPECS/$CAROL"
    done
    spec $CAROL cam "$PERIODIC" >/dev/null
    is_granted $CAROL cam
}

@test "a file that is no directory is moved aside" {
    broker_start
    as $BOB sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE" "$PERIODIC"
    eventually test ! -e "$SPECS/$ALICE"
    as $BOB ln -s "$HOME_OF_BOB" "$SPECS/$ALICE"
    eventually test ! -L "$SPECS/$ALICE"
    as $BOB mkfifo "$SPECS/$ALICE"
    eventually test ! -e "$SPECS/$ALICE"
    as $BOB ln -s "$HOME_OF_BOB" "$SPECS/$BOB"
    eventually test ! -L "$SPECS/$BOB"
    [ -z "$(find "$HOME_OF_BOB" -mindepth 1)" ]
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
    bob_is_answered
}

@test "a directory that got a wrong name while no broker ran is moved aside at the start" {
    broker_start
    broker_stop TERM
    as $BOB sh -c 'mkdir "$1" && : >"$1/file"' sh "$SPECS/$ALICE"
    as $BOB sh -c ': >"$1"' sh "$SPECS/$CAROL"
    broker_start
    eventually test ! -e "$SPECS/$ALICE"
    eventually test ! -e "$SPECS/$CAROL"
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
}

@test "a directory that its owner renames in specs/ is no user directory any more, and its specs are gone" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$PERIODIC" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    as $ALICE mv "$SPECS/$ALICE" "$SPECS/elsewhere"
    eventually is_policy "$SLEEPER" other
    eventually test ! -e "$SPECS/elsewhere"
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
}

@test "a directory with a leading dot belongs to no user, and is moved aside like any other name" {
    broker_start
    as $ALICE mkdir "$SPECS/.mine"
    eventually test ! -e "$SPECS/.mine"
    eventually logged 1 ".uid == $ALICE and .decision == \"refused\""
    mkdir "$SPECS/.of-root" # rtf leaves root's own entries with a leading dot alone
    bob_is_answered
    [ -d "$SPECS/.of-root" ]
}

@test "a directory that was moved aside stays there, whatever its owner does to it" {
    broker_start
    as $BOB sh -c 'exec 3>"$1/.mine" && echo mine >&3 && while [ -e "$1/.mine" ]; do sleep 0.05; done
        for n in $(seq 70); do chmod 600 /proc/self/fd/3; touch -c /proc/self/fd/3; done' sh "$SPECS"
    before=$(find "$SPECS" -name ".aside-$BOB-*")
    [ "$(cat "$before")" = mine ]
    # when this is granted, the adopter has taken all earlier events
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
    bob_is_answered
    as $BOB chmod 640 "$before"
    spec $CAROL cam "$PERIODIC" >/dev/null
    is_granted $CAROL cam
    [ "$(find "$SPECS" -name ".aside-$BOB-*")" = "$before" ]
}

@test "a second name of a file goes from specs/, a file with one name is moved aside, and so is the last one" {
    broker_start
    as $ALICE sh -c 'mkdir "$1/$2" && cd "$1/$2" && echo mine >.file && ln .file ../.link && ln .file ../link && echo other >../.only' sh "$SPECS" "$ALICE"
    is_one() { [ "$(stat -c %h "$SPECS/$ALICE/.file")" = 1 ] && [ "$(aside_of $ALICE)" = 1 ]; }
    aside_of() { find "$SPECS" -mindepth 1 -maxdepth 1 -name ".aside-$1-*" | wc -l; }
    eventually is_one
    [ "$(cat "$SPECS/$ALICE/.file")" = mine ]
    [ "$(cat "$SPECS/.aside-$ALICE-"*)" = other ]
}

@test "a directory that root makes for a user and gives away is adopted" {
    broker_start
    install -d -m 700 -o $ALICE -g $GROUP "$SPECS/$ALICE"
    here $ALICE "echo '$PERIODIC' >cam.json"
    is_granted $ALICE cam
    eventually looks "$SPECS/$ALICE" '%u %g %a' "$ALICE $GROUP 2700"
}

@test "a directory that is given away is not its former owner's any more" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$PERIODIC" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    chown $BOB "$SPECS/$ALICE"
    eventually is_policy "$SLEEPER" other
    eventually test ! -e "$SPECS/$ALICE"
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
}

@test "a stranger's specs are refused until acl.conf names the stranger, and after acl.conf no longer does" {
    configure_rules "$BOB - max_utilization 1"
    broker_start
    # A user with the group's rights has made a directory. Neither the account database nor acl.conf knows the user.
    spec $CAROL cam "$PERIODIC" >"$WORK/verdict"
    jq -e ".result == \"ACL_FAIL\" and .grant == null and (.reason | test(\"uid $CAROL is not a member of the spool's group $GROUP\"))" "$WORK/verdict"
    bob_is_answered
    configure_rules "$BOB - max_utilization 1" "$CAROL - max_utilization 1"
    kill -HUP "$BROKER"
    eventually logged 1 '.decision == "reloaded"'
    here $CAROL 'touch cam.json'
    is_granted $CAROL cam
    looks "$SPECS/$CAROL" %a 2700
    configure_rules "$BOB - max_utilization 1"
    kill -HUP "$BROKER"
    eventually logged 2 '.decision == "reloaded"'
    spec $CAROL more "$PERIODIC" >"$WORK/verdict"
    jq -e '.result == "ACL_FAIL" and .grant == null' "$WORK/verdict"
    # The user loses the grants, too.
    eventually jq -e '.grant == null' "$SPECS/$CAROL/cam.verdict"
}

@test "a user who is not in the group cannot make a directory" {
    broker_start
    no stranger $CAROL mkdir "$SPECS/$CAROL"
    no stranger $CAROL ls "$SPECS"
    [ ! -e "$SPECS/$CAROL" ]
}

@test "a stranger's mkdir, rename and removal in a row do not confuse the broker" {
    broker_start
    as $BOB sh -c 'for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        mkdir "$1/x$round"; mv "$1/x$round" "$1/$2" 2>/dev/null; rmdir "$1/$2" "$1/x$round" 2>/dev/null; done; true' sh "$SPECS" "$ALICE"
    eventually test ! -e "$SPECS/$ALICE"
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_granted $ALICE cam
    bob_is_answered
    kill -0 "$BROKER"
}
