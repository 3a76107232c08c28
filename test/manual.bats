# bats file_tags=lane:compute
# The manual: its pages are well-formed, agree with the programs and with each other, and the commands that they show work when a user types them.
load helper

prepare() {
    MAN=$RTF_SOURCE/man
    configure_rules "$ALICE - max_utilization 0.9" "$BOB - max_utilization 0.9"
}

# section PAGE [HEADING]: prints the text of the section with its literal blocks, or the whole page.
section() {
    awk -v wanted="$2" '
        /^```/ { literal = !literal }
        !literal && /^# / { inside = $0 == "# " wanted; next }
        inside || wanted == ""' "$MAN/$1.scd"
}

# blocks PAGE [HEADING]: writes each literal block to a file of its own, $WORK/block.N, as a reader of the page sees it.
blocks() {
    rm -f "$WORK"/block.*
    section "$@" | awk -v base="$WORK/block." '
        /^```/ { literal = !literal; count += literal; next }
        literal { gsub(/\\\\/, "\\"); printf "%s\n", $0 >(base sprintf("%02d", count)) }'
    [ -e "$WORK/block.01" ]
}

# is_json FILE: the file looks like JSON, not like a script.
is_json() { [[ $(head -c 1 "$1") == '{' ]] && ! grep -q '^ *\(weekly\|rotate\)' "$1"; }

# program PROGRAM: prints the path of the program.
program() { if [ -e "$RTF_BIN/$1" ]; then echo "$RTF_BIN/$1"; else echo "$RTF_LIBEXEC/$1"; fi; }

# plainly PAGE [HEADING]: prints the text without scdoc's marks.
plainly() { section "$@" | sed -e 's/\\\(.\)/\1/g' -e 's/\*//g'; }

# with_tools: programs under their names in $PATH, each with the spool of this test, as it would be installed.
with_tools() {
    mkdir "$WORK/bin"
    for name in rtf-run rtf-wait; do
        printf '#!/bin/sh\nexec %s --spool %s "$@"\n' "$RTF_BIN/$name" "$SPOOL" >"$WORK/bin/$name"
        chmod 755 "$WORK/bin/$name"
    done
}

# session UID FILE: runs the file as a shell script of this user. The script ends at the first error. It uses the spool and the programs of this test.
# bash calls fork(2) again if it fails once: see *A fork beside the attachment* in rtf(7).
session() {
    sed -i "s,/var/spool/rtf,$SPOOL,g" "$2"
    chmod 644 "$2"
    as "$1" env PATH="$WORK/bin:/usr/bin:/bin" USER="$1" TID="${SLEEPER:-}" HOME=/ bash -eu "$2" </dev/null >"$WORK/out" 2>&1 ||
        { cat "$2" "$WORK/out" >&2; return 1; }
}

# bats test_tags=turn:1
@test "every page is built without a complaint of scdoc or of groff" {
    for page in "$MAN"/*.scd; do
        name=$(basename "$page" .scd)
        scdoc <"$page" >"$WORK/$name" 2>"$WORK/err"
        LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$WORK/$name" >"$WORK/out" 2>>"$WORK/err"
        [ ! -s "$WORK/err" ] || { echo "$name: $(<"$WORK/err")" >&2; false; }
        [ "$(wc -l <"$WORK/out")" -gt 40 ]
    done
}

# bats test_tags=turn:0
@test "every page begins with its name, section and a line for apropos, and has the usual headings" {
    for page in "$MAN"/*.scd; do
        name=$(basename "$page" .scd)
        [[ $(head -n 1 "$page") == "${name%.*}(${name##*.})"* ]] || { echo "$name: first line" >&2; false; }
        [[ $(section "$name" NAME | grep .) =~ ^[a-z.,\ -]+\ -\ [a-z] ]] || { echo "$name: NAME" >&2; false; }
        [[ $(section "$name" NAME | grep .) == "${name%.*}"[,\ ]* ]] || { echo "$name: NAME" >&2; false; }
        for heading in SYNOPSIS DESCRIPTION 'SEE ALSO'; do
            [ -n "$(section "$name" "$heading" | tr -d '\n')" ] || { echo "$name: no $heading" >&2; wrong=yes; }
        done
    done
    [ -z "$wrong" ]
}

@test "lines of literal blocks fit on a terminal" {
    for page in "$MAN"/*.scd; do
        scdoc <"$page" | LC_ALL=C.UTF-8 MANWIDTH=120 man -l - | col -b | awk -v page="$page" 'length > 120 { print page ": " $0; wide = 1 } END { exit wide }' >&2
    done
}

@test "every cross reference to a page of ours leads to a page, and every page is referred to" {
    known=$(cd "$MAN" && ls -- *.scd | sed 's/\.\([0-9]\)\.scd$/(\1)/' | sort)
    references=$(sed -e 's/[*\\]//g' "$MAN"/*.scd "$RTF_SOURCE"/README.md "$RTF_SOURCE"/etc/*.* | grep -oE '\b(rtf[a-z-]*|muse|acl\.conf|plugins\.conf)\([0-9]\)' | sort -u)
    [ "$(grep -vxF 'rtf-detach(8)' <<<"$references")" = "$known" ] || { diff <(echo "$known") <(echo "$references") >&2; false; }
    for page in "$MAN"/*.scd; do
        name=$(basename "$page" .scd)
        if plainly "$name" 'SEE ALSO' | grep -qF "${name%.*}(${name##*.})"; then
            echo "$name refers to itself" >&2
            return 1
        fi
    done
    # The tour names every page.
    for page in $known; do
        [ "$page" = 'rtf(7)' ] || plainly rtf.7 'SEE ALSO' | grep -qF "$page" || { echo "rtf(7) does not name $page" >&2; false; }
    done
}

@test "every heading that a page refers to is there" {
    count=0
    for page in "$MAN"/*.scd; do
        name=$(basename "$page" .scd)
        while read -r heading; do
            count=$((count + 1))
            grep -qxE "##? $heading" <(sed 's/\\//g' "$page") || { echo "$name: no heading $heading" >&2; false; }
        done < <(tr '\n' ' ' <"$page" | sed 's/\\//g' | grep -oE 'see \*[A-Z_][A-Z_ ]+\*[.,;)]' | sed -e 's/^see \*//' -e 's/\*.$//')
    done
    [ "$count" -ge 5 ]
}

@test "every option of --help is on the page, and every option on the page is in --help" {
    for name in rtf-run.1 rtf-wait.1 rtf-brokerd.8 rtf-attach.8; do
        program=${name%.*}
        help=$("$(program "$program")" --help | grep -E '^ {1,8}-' | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u)
        page=$(section "$name" OPTIONS | sed 's/\\//g' | grep -E '^\*-' | grep -oE '\*--?[a-zA-Z?][a-z-]*' | tr -d '*' | sort -u)
        diff <(echo "$page") <(echo "$help") >"$WORK/diff" || { echo "$name: < only on the page, > only in --help" >&2; cat "$WORK/diff" >&2; wrong=yes; }
    done
    [ -z "$wrong" ]
}

@test "options of the synopsis are those of the options' section" {
    for name in rtf-wait.1 rtf-brokerd.8; do
        options=$(plainly "$name" SYNOPSIS | grep -oE -- '--[a-z-]+')
        [ -n "$options" ]
        for option in $options; do
            section "$name" OPTIONS | grep '^\*-' | grep -qF "*$option*" || { echo "$name: $option" >&2; false; }
        done
    done
}

@test "the exit statuses of rtf-wait are the same in its page, in --help and in rtf-verdict(5)" {
    page=$(section rtf-wait.1 'EXIT STATUS' | grep -oE '^\*[0-9]+\*(, \*[0-9]+\*)*' | grep -oE '[0-9]+' | sort -n | xargs)
    for status in 0 64 65 66 69 75 76 77; do
        [[ " $page " == *" $status "* ]]
        "$RTF_BIN/rtf-wait" --help | grep -q "\b$status\b"
    done
    verdict=$(section rtf-verdict.5 RESULTS | sed 's/\\//g' | paste -sd ' ' | grep -oE '\|  [A-Z_]+ :  [0-9, ]+' | sed -E 's/^\|  ([A-Z_]+) :  (.*[0-9]).*/\1 \2/')
    [ "$verdict" = "$(printf 'OK 0\nBAD_SPEC 65\nSCHEDULE_FAIL 75, 65\nATTACH_FAIL 75, 76\nACL_FAIL 75, 77')" ]
}

@test "paths on the pages are those of the installation and of the spool" {
    paths=$(sed 's/\\//g' "$MAN"/*.scd "$RTF_SOURCE/README.md" | grep -oE '/usr/(libexec/rtf|bin/rtf)[a-z/-]*' | sort -u)
    [ -n "$paths" ]
    for path in $paths; do
        [ -e "$RTF_STAGE$path" ] || { echo "$path" >&2; false; }
    done
    paths=$(sed 's/\\//g' "$MAN"/*.scd "$RTF_SOURCE/README.md" | grep -oE '/etc/rtf[a-z./]*' | sed 's/\.$//' | sort -u)
    [ -n "$paths" ]
    for path in $paths; do
        [ -e "$RTF_STAGE$path" ] || { echo "$path" >&2; false; }
    done
    mkdir "$CONFIG/programs.d"
    broker_start
    kill -USR1 "$BROKER"
    eventually test -e "$SPOOL/state/programs"
    "$RTF_BIN/rtf" --spool "$SPOOL" metrics >/dev/null
    eventually test -e "$SPOOL/state/current/books.json"
    touch "$SPOOL/draining" # does the same as rtf drain
    paths=$(sed 's/\\//g' "$MAN"/*.scd "$RTF_SOURCE/README.md" | grep -oE '/var/spool/rtf[a-zA-Z./:]*' | sed -E 's/[.:/]$//' | sort -u)
    [ -n "$paths" ]
    for path in $paths; do
        case $path in
        */specs/?*) [[ $path =~ /specs/USER(/(NAME|run-PID|cam|admin:NAME)\.(json|tid|verdict))?$|/specs/USER/run ]] || { echo "$path" >&2; false; } ;;
        *) [ -e "$SPOOL${path#/var/spool/rtf}" ] || { echo "$path" >&2; false; } ;;
        esac
    done
    for program in rtf-run rtf-wait rtf-brokerd; do
        "$(program "$program")" --help | tr -s ' \n' ' ' | grep -qE '\(default:? /var/spool/rtf\)'
    done
}

@test "every JSON example is JSON" {
    count=0
    for page in "$MAN"/*.scd; do
        blocks "$(basename "$page" .scd)" || continue
        for block in "$WORK"/block.*; do
            is_json "$block" || continue
            jq . "$block" >/dev/null || { echo "$page:" >&2; cat "$block" >&2; false; }
            count=$((count + 1))
        done
    done
    [ "$count" -ge 12 ]
}

# bats test_tags=turn:2
@test "every spec that the pages show is accepted as one by the broker" {
    broker_start
    sleeper $ALICE
    count=0
    for name in rtf-spec.5 acl.conf.5 rtf.7; do
        blocks "$name"
        for block in "$WORK"/block.*; do
            if is_json "$block"; then cp "$block" "$WORK/specs"; else sed -n "s/.*echo '\({.*}\)' *>.*/\1/p" "$block" >"$WORK/specs"; fi
            while read -r json; do
                # A verdict or an event is not a spec.
                if jq -e 'has("result") or has("schema") or has("by") or has("tid")' <<<"$json" >/dev/null; then continue; fi
                answer=$(spec $ALICE cam "$json")
                [ "$(field .result "$answer")" != BAD_SPEC ] || { echo "$name: $json: $answer" >&2; false; }
                rm -f "$SPECS/$ALICE/cam.json"
                eventually test ! -e "$SPECS/$ALICE/cam.verdict"
                count=$((count + 1))
            done < <(jq -c . "$WORK/specs")
        done
    done
    [ "$count" -ge 10 ]
    # EDF grants one of the specs, FP another one.
    [ "$(field '.grant.utilization' "$(spec $ALICE cam '{"runtime": "5ms", "period": "20ms", "deadline": "10ms"}')")" = 250000000 ]
}

@test "the three ways to write a time on rtf-spec(5) mean the same, and those it refuses are refused" {
    broker_start
    blocks rtf-spec.5 KEYS
    times=$(grep -h '5000 ' "$WORK"/block.*)
    [ -n "$times" ]
    for time in $times; do
        answer=$(spec $ALICE cam "{\"runtime\": $time, \"period\": \"20ms\"}")
        [ "$(field .grant.runtime "$answer")" = 5000 ]
    done
    for time in '"1.5ms"' 5.0 5e3; do
        [ "$(field .result "$(spec $ALICE bad "{\"runtime\": $time, \"period\": \"20ms\"}")")" = BAD_SPEC ]
    done
}

@test "rtf-spec(5) has the keys that the broker allows, and no others" {
    broker_start
    sleeper $ALICE
    keys=$(section rtf-spec.5 KEYS | sed 's/\\//g' | awk '/^##/ { exit } /^\|  / { print $2 }' | sort | xargs)
    [ "$keys" = 'attach blocking budget clamp comment cpu_latency cpus deadline desired_runtime disk dry_run expires ignore_admission importance lifetime lock_memory mode modes move network nice on_refusal overrun_signal period plugin priority reclaim runtime token units weight' ]
    blocks rtf-spec.5 SYNOPSIS
    [ "$(jq -rs 'map(keys) | add | unique | .[]' "$WORK"/block.* | xargs)" = "$keys" ]
    [[ $(field .reason "$(spec $ALICE cam '{"no_such_key": []}')") == *'is unknown: rtf-spec(5) lists the keys' ]]
    for key in $keys; do
        answer=$(spec $ALICE cam "{\"$key\": []}")
        [[ $(field .reason "$answer") != *'is unknown'* ]] || { echo "$answer" >&2; false; }
    done
    # The broker knows no other keys.
    [ "$({ sed -n 's/^    {"\([a-z_]*\)", \(spec_\)\{0,1\}take_.*/\1/p' "$RTF_SOURCE/lib/spec-parse.c"; printf '%s\n' disk network units; } | sort | xargs)" = "$keys" ]
}

@test "the keys on rtf-verdict(5) are those of a verdict, in this order" {
    broker_start
    names() { section rtf-verdict.5 "$1" | sed 's/\\//g' | awk -v part="$2" '/^## / { inside = $0 == "## " part; next } part == "" && !seen || inside { if (/^\|  /) print $2 } /^## / { seen = 1 }'; }
    answer=$(spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}')
    [ "$(section rtf-verdict.5 FIELDS | awk '/^## / { exit } /^\|  / { print $2 }')" = "$(command jq -r 'keys_unsorted[]' <<<"$answer")" ]
    [ "$(names FIELDS grant)" = "$(command jq -r '.grant | keys_unsorted[]' <<<"$answer")" ]
    [ "$(names FIELDS replies)" = "$(command jq -r '.replies[0] | keys_unsorted[]' <<<"$answer")" ]
    answer=$(spec $ALICE cam '{"runtime": "19ms", "period": "20ms"}')
    [ "$(names FIELDS refusal)" = "$(command jq -r '.refusal | keys_unsorted[]' <<<"$answer")" ]
    dry=$(spec $ALICE dry '{"runtime": "1ms", "period": "20ms", "dry_run": true}')
    [ "$(names FIELDS 'A dry run')" = "$(command jq -r --argjson answer "$answer" '(keys_unsorted - ($answer | keys))[], (.rules[0] | keys_unsorted[])' <<<"$dry")" ]
    modes=$(spec $ALICE modes '{"period": "20ms", "modes": {"a": {"runtime": "1ms"}}, "mode": "a"}')
    [ "$(names FIELDS 'A grant with modes')" = "$(command jq -r --argjson answer "$dry" '.grant | keys_unsorted - ($answer.would_grant | keys) | .[]' <<<"$modes")" ]
    # The examples on the page have these keys, too, and the stamp that rtf-wait compares.
    blocks rtf-verdict.5 EXAMPLES
    for block in "$WORK/block.01" "$WORK/block.02"; do
        [ "$(command jq -r 'keys_unsorted[]' "$block")" = "$(command jq -r 'keys_unsorted[]' <<<"$answer")" ]
        [ "$(command jq -r '.grant | keys_unsorted[]' "$block")" = "$(command jq -r '.grant | keys_unsorted[]' <<<"$answer")" ]
    done
}

@test "the keys on rtf-events(5) are those of an event" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    keys=$(jq -r 'keys[]' "$EVENTS" | sort -u)
    [ -n "$keys" ]
    for key in $keys; do
        section rtf-events.5 FIELDS | sed 's/\\//g' | grep -qx "|  $key" || { echo "$key" >&2; false; }
    done
    stages=$(section rtf-events.5 STAGES | awk '/^\|  / { print $2 }')
    count=0
    while read -r stage; do
        grep -qx "$stage" <<<"$stages"
        count=$((count + 1))
    done < <(jq -r .stage "$EVENTS" | sort -u)
    [ "$count" -ge 2 ]
}

@test "the scripts of rtf-verdict(5) do what the page says" {
    broker_start
    with_tools
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    spec $ALICE bad '{"runtime": 0}'
    blocks rtf-verdict.5 EXAMPLES
    said=
    for block in "$WORK"/block.*; do
        is_json "$block" && continue
        sed -i "1i cd $SPECS/$ALICE" "$block"
        session $ALICE "$block" || case $(cat "$block") in *'[ -n "$n" ] &&'*) ;; *) false ;; esac
        said+=$(<"$WORK/out")
    done
    [[ $said == *'EDF 1000/20000 us'* ]] || { echo "$said" >&2; false; }
    [[ $said == *bad.verdict*BAD_SPEC* ]] || { echo "$said" >&2; false; }
}

@test "the scripts of rtf-events(5) do what the page says" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    spec $ALICE big '{"runtime": "19ms", "period": "20ms"}'
    blocks rtf-events.5 EXAMPLES
    count=0
    for block in "$WORK"/block.*; do
        is_json "$block" && continue
        sed -e "s,/var/spool/rtf,$SPOOL,g" -e 's/tail -F/cat/' -e "s/\"lab\"/\"$ALICE\"/" "$block" >"$WORK/script"
        sh -eu "$WORK/script" >"$WORK/out" 2>"$WORK/err" || { cat "$block" "$WORK/err" >&2; false; }
        [ ! -s "$WORK/err" ]
        cat "$WORK/out" >>"$WORK/all"
        count=$((count + 1))
    done
    [ "$count" -ge 4 ]
    grep -q "$ALICE.cam.create.ok" "$WORK/all"
    grep -qE " 1 $ALICE$" "$WORK/all"
    grep -q '"median"' "$WORK/all"
}

@test "every example of acl.conf(5) is correct" {
    configure_plugins 'EDF edf - all' 'FP fp 11-20 all' 'P1 fp 1-10 all' 'SDA disk - - resource=disk device=sda throughput=1MB enforce=none'
    for heading in SYNOPSIS EXAMPLES SECURITY; do
        blocks acl.conf.5 "$heading"
        for block in "$WORK"/block.*; do
            sed 's/^\(@control *\)RM/\1P1/' "$block" >"$CONFIG/acl.conf"
            "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG" >"$WORK/out" 2>&1 || { cat "$block" "$WORK/out" >&2; false; }
        done
    done
    # The page shows the messages that the command prints.
    blocks acl.conf.5 ERRORS
    configure_rules '- - max_utilization 1' '' '- EDF1 max_utilization 1' '' '- - max_utilization 50%'
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 78 ]
    sed -n '1s/"EDF1".*/"EDF1"/p' "$WORK/block.01" | while read -r line; do [[ $output == *"$line"* ]]; done
}

@test "every example of plugins.conf(5) is correct" {
    for heading in SYNOPSIS EXAMPLES; do
        blocks plugins.conf.5 "$heading"
        for block in "$WORK"/block.*; do
            [[ $(head -c 2 "$block") != '$ ' ]] || continue
            cp "$block" "$CONFIG/plugins.conf"
            "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG" >"$WORK/out" 2>&1 || [ $? -eq 69 ] || { cat "$block" "$WORK/out" >&2; false; } # 69: no such disk here
        done
    done
    # The page shows the message that the command prints.
    configure_plugins 'EDF edf - all' 'FP fp 11-20 all' '' 'RR rr 0-5 all'
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 78 ]
    message=$(grep -h '^plugins\.conf:4: ' "$MAN/plugins.conf.5.scd")
    [[ -n $message && $output == *"$message"* ]] || { echo "the page: $message; the program: $output" >&2; false; }
}

@test "a shell can read every script on the pages" {
    for page in "$MAN"/*.scd; do
        blocks "$(basename "$page" .scd)" || continue
        for block in "$WORK"/block.*; do
            if grep -q '^[$#] ' "$block"; then
                sed -n 's/^[$#] //p' "$block" >"$WORK/script"
                case $page in *.conf.*) continue ;; esac
            elif grep -qE '^(rtf-(run|wait) [^a-z]|cd|mkdir|jq|tail|n=|dir=|answer=|if|for|pidof|\[)' "$block" && ! grep -qE '^(rtf-run: |int )' "$block"; then
                cp "$block" "$WORK/script"
            else
                continue
            fi
            sh -n "$WORK/script" || { echo "$page:" >&2; cat "$block" >&2; false; }
        done
    done
}

@test "the first session of rtf(7), typed by a user, works and prints what the page says" {
    broker_start
    with_tools
    section rtf.7 'A FIRST SESSION' >"$WORK/text"
    sed -n '/^## As user/,/^## The same/p' "$WORK/text" | sed -n 's/^\$ //p' >"$WORK/script"
    [ "$(wc -l <"$WORK/script")" -ge 10 ]
    session $ALICE "$WORK/script"
    grep -qE '^\{"tid":[0-9]+,"state":"attached"\}$' "$WORK/out"
    grep -q 'SCHED_DEADLINE|SCHED_RESET_ON_FORK$' "$WORK/out"
    grep -qx 20000 "$WORK/out"
    # The grant is as on the page, except for the CPUs.
    shown=$(sed -n '/^## As user/,/^## The same/p' "$WORK/text" | sed -n '/^{$/,/^}$/p' | jq -c .)
    got=$(sed -n '/^{$/,/^}$/p' "$WORK/out" | jq -c .)
    [ "$(jq -c 'del(.cpus)' <<<"$shown")" = "$(jq -c 'del(.cpus)' <<<"$got")" ] || { printf '%s\n' "$shown" "$got" >&2; false; }
    nothing_left() { [ -z "$(ls -A "$SPECS/$ALICE")" ]; }
    eventually nothing_left
    # Runs the single command at the end of the page, too.
    sed -n '/^## The same/,$p' "$WORK/text" | sed -n 's/^\$ //p' >"$WORK/script"
    printf '#!/bin/sh\nchrt -p $$; echo "$@"\n' >"$WORK/camera"
    chmod 755 "$WORK/camera"
    sed -i "1i cd $WORK" "$WORK/script"
    session $ALICE "$WORK/script"
    grep -q SCHED_DEADLINE "$WORK/out"
    grep -qx -- '--device /dev/video0' "$WORK/out"
}

@test "the synopsis of rtf(7) works" {
    broker_start
    with_tools
    sleeper $ALICE
    blocks rtf.7 SYNOPSIS
    sed -e 's/ once$//' -e "s/echo TID/echo $SLEEPER/" \
        -e 's,^cat,for i in 1 2 3 4 5 6 7 8 9 10; do [ -e $SPECS/cam.verdict ] || sleep 0.1; done; cat,' \
        -e "s,\\\$SPECS,$SPECS/$ALICE," "$WORK/block.01" >"$WORK/script"
    session $ALICE "$WORK/script"
    [ "$(jq -r .grant.runtime "$WORK/out")" = 10000 ]
}

@test "the script for cron on rtf(7) works without USER" {
    broker_start
    with_tools
    blocks rtf.7 'CRON AND SCRIPTS'
    script=$(grep -lE '^trap' "$WORK"/block.*)
    # Users of these tests have no account, and id -un does not know them, so their numbers are used.
    sed -i 's/id -un/id -u/' "$script"
    printf '#!/bin/sh\nwhile ! grep -q deadline= /dev/null && [ "$(ps -o cls= -p $$)" != DLN ]; do sleep 0.01; done; echo real-time\n' >"$WORK/poller"
    chmod 755 "$WORK/poller"
    sed -i "s,^dir=.*,&\ncd $WORK," "$script"
    session $ALICE "$script"
    grep -qx real-time "$WORK/out"
    [ ! -e "$SPECS/$ALICE/poll.json" ]
}

@test "the sign of life on rtf(7) tells whether a broker runs" {
    blocks rtf.7 'CRON AND SCRIPTS'
    sed -n 's/^\$ \(dd .*\)/\1/p' "$WORK"/block.* >"$WORK/script"
    [ -s "$WORK/script" ]
    broker_start
    session $ALICE "$WORK/script"
    broker_stop TERM
    status=0
    as $ALICE sh "$WORK/script" 2>/dev/null || status=$?
    [ "$status" -ne 0 ]
}

# The kernel's bandwidth must be free.
# bats test_tags=machine
@test "the examples of rtf-run(1) and rtf-wait(1) that need nothing else work" {
    broker_start
    with_tools
    cd "$WORK"
    blocks rtf-run.1 EXAMPLES
    grep -l -e '--dry-run' "$WORK"/block.* | xargs cat >"$WORK/script"
    session $ALICE "$WORK/script"
    [ "$(sed 's/^}$/}/' "$WORK/out" | jq -sc '[.[].runtime, .[].period]')" = '[10000,10000,50000,50000]' ]
    grep -h "chrt -p" "$WORK"/block.* >"$WORK/script"
    session $ALICE "$WORK/script"
    grep -q SCHED_DEADLINE "$WORK/out"
    blocks rtf-wait.1 EXAMPLES
    cp "$WORK/block.01" "$WORK/script"
    session $ALICE "$WORK/script"
    [ "$(jq -r .grant.runtime "$WORK/out")" = 5000 ]
    # Takes all the capacity that is there.
    become $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 16ms -P 20ms -- sleep 300 >/dev/null 2>&1 3>&- &
    eventually is_policy "$!" deadline
    echo '{"runtime": "19ms", "period": "20ms"}' | as $ALICE tee "$SPECS/$ALICE/cam.json" >/dev/null
    { echo "cd $SPECS/$ALICE"; grep -l 'fit=' "$WORK"/block.* | xargs cat; } >"$WORK/script"
    session $ALICE "$WORK/script"
    [ "$(jq -r .result "$WORK/out")" = OK ]
    kill $!
}

@test "the first session of README.md works in its order" {
    broker_start
    with_tools
    awk '/^## /{ inside = $0 == "## A first session" } inside && /As that user:$/ { user = 1 } inside && /^Or all of that/ { user = 0 } user && /^    /' \
        "$RTF_SOURCE/README.md" | sed 's/^ *//' >"$WORK/script"
    [ "$(wc -l <"$WORK/script")" -ge 7 ]
    # Prints what the text between the commands says: the answer to each command, and the thread.
    sed -i -E 's/^(.*> *cam\.(json|tid)|rm cam\.tid)( .*)?$/\1; rtf-wait cam; chrt -p $$/' "$WORK/script"
    session $ALICE "$WORK/script"
    [ "$(grep -c '"result":"OK"' "$WORK/out")" -ge 4 ]
    grep -q '"state":"attached"' "$WORK/out"
    grep -q SCHED_DEADLINE "$WORK/out"
    grep -q '"runtime": *20000' "$WORK/out"
    tail -n 2 "$WORK/out" | grep -q SCHED_OTHER
    nothing_left() { [ -z "$(ls -A "$SPECS/$ALICE")" ]; }
    eventually nothing_left
}

@test "the targets, scripts, directories and pages that README.md names exist" {
    cd "$RTF_SOURCE"
    targets=$(grep -oE '\bmake [a-z-]+' README.md | sed 's/make //' | sort -u)
    [ -n "$targets" ]
    for target in $targets; do
        make -n "$target" DESTDIR="$WORK" >/dev/null 2>&1 3>&- || { echo "make $target" >&2; false; }
    done
    paths=$(grep -oE '(^|[ `])(contrib|bin|libexec|plugins|lib|etc|spool|man|test)/[a-z_/-]*' README.md | tr -d ' `' | sort -u)
    [ -n "$paths" ]
    for path in $paths; do
        [ -e "$path" ] || { echo "$path" >&2; false; }
    done
    [ -x contrib/bootstrap ]
    # The section "The house" names all rooms.
    for directory in */; do
        [ "$directory" = build/ ] || grep -q "^    $directory" README.md || { echo "$directory is not in README.md" >&2; false; }
    done
}

@test "README's requirements are the packages that bootstrap installs to build" {
    wanted=$(sed -n "/^readonly build_packages='/,/'$/ { s/^readonly build_packages='//; s/'$//; p }" "$RTF_SOURCE/contrib/bootstrap" | xargs -n 1 | sort)
    told=$(tr '\n' ' ' <"$RTF_SOURCE/README.md" | grep -o 'To build, these packages of Debian 12: [^;]*;' | sed 's/.*: //; s/[,;]/ /g' | xargs -n 1 | sort)
    [ "$(wc -l <<<"$told")" -gt 10 ]
    [ "$told" = "$wanted" ]
}
