# The completions of bash, zsh and fish: commands, options, and the current names.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    # Puts `rtf` into a user's PATH, with the spool of this test.
    mkdir "$WORK/bin"
    printf '#!/bin/sh\n[ "${1:-}" != --complete ] || { shift; exec %s --complete --spool %s "$@"; }\nexec %s --spool %s "$@"\n' \
        "$RTF_BIN/rtf" "$SPOOL" "$RTF_BIN/rtf" "$SPOOL" >"$WORK/bin/rtf"
    chmod 755 "$WORK/bin/rtf"
    SHARE=$RTF_STAGE/usr/share
}

complete() { as $ALICE env USER=$ALICE "$WORK/bin/rtf" --complete "$@" | cut -f 1 | xargs; }

# Each function prints the completions that a user would be offered, in one line.
bash_offers() {
    as $ALICE env USER=$ALICE PATH="$WORK/bin:/usr/bin:/bin" bash --norc -c '. "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _rtf; printf "%s\n" "${COMPREPLY[@]}"' bash \
        "$SHARE/bash-completion/completions/rtf" "$1" | sort | xargs
}
fish_offers() {
    as $ALICE env USER=$ALICE HOME="$WORK" XDG_CONFIG_HOME="$WORK/none" XDG_DATA_HOME="$WORK/none" PATH="$WORK/bin:/usr/bin:/bin" fish --no-config \
        -c 'source $argv[1]; complete -C $argv[2]' "$SHARE/fish/vendor_completions.d/rtf.fish" "$1" 2>"$WORK/err" | cut -f 1 | sort | xargs
}
zsh_offers() {
    mkdir -p "$WORK/home" && chown $ALICE "$WORK/home" && cp "$BATS_TEST_DIRNAME/offers.zsh" "$WORK" # Alice may not be able to read the checkout
    as $ALICE env USER=$ALICE HOME="$WORK/home" TERM=dumb PATH="$WORK/bin:/usr/bin:/bin" zsh -f "$WORK/offers.zsh" "$SHARE/zsh/vendor-completions" "$1" |
        tr -d '\r' | grep -oE '<[^<>]+>' | tr -d '<>' | sort -u | xargs
}

@test "rtf --complete: commands, options, values, names" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf declare cam:left -T 2ms -P 20ms
    sleeper $ALICE
    [ "$(complete ch)" = change ]
    [ "$(complete help pl)" = plugins ]
    [ "$(complete declare --plugin '')" = 'EDF FP RR' ]
    [ "$(complete declare --plugin=E)" = --plugin=EDF ]
    [ "$(complete declare -T 5ms --prio)" = --priority= ]
    [ "$(complete show '')" = 'cam cam:left' ]
    [ "$(complete show cam '')" = '' ]
    [ "$(complete release cam 'cam:')" = cam:left ]
    [ "$(complete change cam run)" = runtime= ]
    [ "$(complete wait --for=r)" = --for=room ]
    [ "$(complete wait --timeout 5s --for r)" = room ]
    [[ " $(complete attach cam '') " == *" $SLEEPER "* ]]
    [ "$(complete ls -o sta)" = '' ]
    [ "$(complete ls -o STA)" = STATE ]
    [ "$(complete ls --sort -SH)" = -SHARE ]
    [ "$(complete ls --sort=-SH)" = --sort=-SHARE ]
    # Completion offers all columns of rtf ls, and all words of rtf-events(5).
    [ "$(complete ls -o '' | tr ' ' '\n' | sort)" = "$(rtf ls -o nosuch 2>&1 | sed 's/.*: columns are //; s/,//g; s/ and / /' | tr ' ' '\n' | sort)" ]
    for field in stage decision; do
        [ "$(complete log --$field '' | tr ' ' '\n' | sort)" = "$(words_of $field)" ]
    done
    [ "$(complete declare -f '')" = :files ]
    [ "$(complete run -T 5ms -P 20ms '')" = :command ]
    [ "$(complete run -T 5ms -P 20ms ls --col)" = :command ]
    [ "$(complete --sp)" = --spool= ]
    [ "$(complete --spool '')" = :directories ]
    [ "$(complete nonsense '')" = '' ]
    words=$(complete '')
    [ -n "$words" ]
    for word in $words; do [ -x "$RTF_LIBEXEC/front/rtf-$word" ] || [ -x "$RTF_BIN/rtf-$word" ] || { echo "$word" >&2; false; }; done
}

# words_of stage|decision: prints the words of rtf-events(5).
words_of() {
    sed -n '/^# STAGES/,/^# /p' "$RTF_SOURCE/man/rtf-events.5.scd" |
        awk -v field="$1" '/^[|]  / { if (field == "decision") getline; gsub(/[|:, ]+/, "\n"); print }' | grep . | sort -u
}

@test "every option of every command is offered" {
    while read -r name _; do
        program=$RTF_LIBEXEC/front/rtf-$name
        [ -x "$program" ] || program=$RTF_BIN/rtf-$name
        expected=$("$program" --help | grep -E '^ {1,8}-' | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u | xargs)
        offered=$("$RTF_BIN/rtf" --complete "$name" - | cut -f 1 | tr -d = | sort -u | xargs)
        [ "$offered" = "$expected" ] || { printf '%s\n' "$name" "$expected" "$offered" >&2; false; }
    done <"$RTF_LIBEXEC/front/commands"
}

@test "the description of an option is all of its sentence" {
    [ "$("$RTF_BIN/rtf" --complete declare --deadl)" = $'--deadline=\tTime after an activation by which all of the runtime is given (default: the period)' ]
    [ "$("$RTF_BIN/rtf" --complete declare --disk)" = $'--disk=\tData to read and write: an amount in each period, sda:32KiB/50ms, or in each second; or sda:background' ]
    [ "$("$RTF_BIN/rtf" --complete wait --fo)" = $'--for=\tanswer (the default), granted, ended, or room: until there is room for it' ]
    [ "$("$RTF_BIN/rtf" --complete wait --versi)" = $'--version\tPrint the version' ]
}

@test "bash offers the completions" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf declare cam:left -T 2ms -P 20ms
    [ "$(bash_offers 'rtf pl')" = plugins ]
    [ "$(bash_offers 'rtf show ')" = 'cam cam:left' ]
    [ "$(bash_offers 'rtf show cam:')" = left ]
    [ "$(bash_offers 'rtf declare x --plugin=E')" = EDF ]
    [ "$(bash_offers 'rtf change cam peri')" = period= ]
    [ "$(bash_offers 'rtf-wait --for=')" = 'answer ended granted room' ]
    [ "$(bash_offers "rtf declare -f $CONFIG/pl")" = "$CONFIG/plugins.conf" ]
    [[ " $(bash_offers 'rtf run -T 1ms chr') " == *' chrt '* ]]
    [ "$(bash_offers 'rtf nonsense ')" = '' ]
    for name in rtf-run rtf-wait; do [ "$(readlink "$SHARE/bash-completion/completions/$name")" = rtf ]; done
}

@test "fish offers the completions" {
    command -v fish >/dev/null || skip 'fish is not here'
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    [ "$(fish_offers 'rtf pl')" = plugins ]
    [ "$(fish_offers 'rtf show ')" = cam ]
    [ "$(fish_offers 'rtf declare x --plugin=E')" = --plugin=EDF ]
    [ "$(fish_offers 'rtf-wait --for=e')" = --for=ended ]
    [ "$(fish_offers "rtf declare -f $CONFIG/pl")" = "$CONFIG/plugins.conf" ]
    [ ! -s "$WORK/err" ]
}

# bats test_tags=turn:0
@test "zsh offers the completions" {
    command -v zsh >/dev/null || skip 'zsh is not here'
    zsh -fc 'print -l $fpath' | grep -qx /usr/share/zsh/vendor-completions
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    [ "$(zsh_offers 'rtf pl')" = plugins ]
    [ "$(zsh_offers 'rtf show ')" = cam ]
    [ "$(zsh_offers 'rtf declare x --plugin=E')" = --plugin=EDF ]
    [ "$(zsh_offers 'rtf-wait --for=')" = '--for=answer --for=ended --for=granted --for=room' ]
}
