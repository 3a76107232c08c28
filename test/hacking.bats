# bats file_tags=lane:compute
# HACKING.md, and the parts that it describes: targets, the linter of tests, and patches of faults.
load helper

setup() { WORK=$(mktemp -d "${TMPDIR:-/tmp}/rtf-test.XXXXXX"); }
teardown() { rm -rf "$WORK"; }

@test "each command of HACKING.md is a target of make or a program of the checkout, and the files that it names exist" {
    cd "$RTF_SOURCE"
    count=0
    while read -r line; do
        count=$((count + 1))
        case $line in
        # make writes this target's file even under -n. The test below makes it in a copy.
        'make compile_commands.json'*) grep -q '^compile_commands.json:' Makefile ;;
        make*) eval "env -u MAKEFLAGS -u MAKELEVEL make -n ${line#make} DESTDIR='$WORK'" >/dev/null 2>"$WORK/said" 3>&- || { echo "$line" >&2; cat "$WORK/said" >&2; false; } ;;
        *test/run*) [ -f "${line##* }" ] ;;
        gdb*) [ -d etc ] ;;
        *) echo "$line is not known here" >&2; false ;;
        esac
    done < <(sed -n 's/^    \([^#]*[^# ]\).*/\1/p' HACKING.md)
    [ "$count" -ge 12 ]
    count=0
    while read -r path; do
        count=$((count + 1))
        [ -e "$path" ] || { echo "there is no $path" >&2; false; }
    done < <(grep -oP '(?<![\w/])(contrib|bin|libexec|plugins|lib|man|test)/[A-Za-z_./-]*' HACKING.md | grep -v 'NAME' | sed 's/\.$//' | sort -u)
    [ "$count" -ge 25 ]
}

@test "make help has each target that a user types, and no other" {
    cd "$RTF_SOURCE"
    diff <(sed -n 's/^\.PHONY: //p' Makefile | tr ' ' '\n' | grep -vx help | sort) \
        <(env -u MAKEFLAGS -u MAKELEVEL make -s help 3>&- | sed 's/  .*//; s/ (the default)//; s/^compile_commands.json .*/compile_commands.json/' | tr -d , | tr ' ' '\n' | sort)
}

@test "compile_commands.json has each source with its compiler options" {
    tar -C "$RTF_SOURCE" --exclude ./.git --exclude ./build -cf - . | tar -C "$WORK" -xf -
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$WORK" compile_commands.json 3>&-
    said 'length > 200' true "$(<"$WORK/compile_commands.json")"
    said 'map(select(.file == "libexec/broker/dispatch.c" and (.command | contains("-Ilibexec/broker/spool")))) | length' 1 "$(<"$WORK/compile_commands.json")"
}

@test "lint refuses lines of a test that can never fail, loops that may look at nothing, and waits that look once" {
    # shellcheck disable=SC2016 # the other file's
    printf '%s\n' '@''test "one" {' '    ! false # 2' '    [ 1 = 1 ] && [ 2 = 2 ] # 3' '    while read -r x; do' '        [ "$x" = 1 ]' '    done < <(true) # 6' \
        '    for x in $(true); do [ "$x" = 1 ]; done # 7' '    eventually test "$(true)" = "" # 8' '    true' '}' >"$WORK/hollow.bats"
    run "$RTF_SOURCE/test/hollow" "$WORK/hollow.bats"
    [ "$status" -eq 1 ]
    [ "$(grep -o ':[0-9]*:' <<<"$output" | tr -d ':' | xargs)" = '2 3 6 7 8' ] || { echo "$output"; false; }
    # shellcheck disable=SC2016
    printf '%s\n' '@''test "two" {' '    ! false || true' '    [[ 1 = 1 && 2 = 2 ]]' '    if ! false; then true; fi' '    is_it() { ! true; }' '    awk "' '    ! /a/ { }" /dev/null' \
        '    count=0' '    while read -r x; do' '        [ "$x" = 1 ]' '        count=$((count + 1))' '    done < <(echo 1)' '    [ "$count" = 1 ]' \
        '    for x in $(seq 2); do [ "$x" -gt 0 ]; done' '    cat <<END' '    ! false' 'END' '    ! false' '}' >"$WORK/sound.bats"
    "$RTF_SOURCE/test/hollow" "$WORK/sound.bats"
}
