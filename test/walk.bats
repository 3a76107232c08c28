# The functions and files that contrib/walk.md names exist. The files that the READMEs of the tests name exist, too.

load helper

setup() { :; }
teardown() { :; }

@test "each function on contrib/walk.md is in the file that stands beside it" {
    cd "$RTF_SOURCE"
    steps=0
    while read -r names file; do
        [ -f "$file" ] || { echo "there is no $file"; return 1; }
        for name in ${names//,/ }; do
            grep -qE "^[a-z].*\b$name\(" "$file" || { echo "$file has no $name"; return 1; }
        done
        steps=$((steps + 1))
    done < <(sed -nE 's/^ +([a-z_]+(, [a-z_]+)*) +((lib|libexec)[a-z/-]*\.c).*/\1 \3/p' contrib/walk.md | sed -E 's/, /,/g')
    [ "$steps" -ge 25 ]
}

@test "the READMEs of test/attack and test/unit have each of their files, and no other" {
    cd "$RTF_SOURCE/test/attack"
    named=$(grep -oE '`(\.\./)?[a-z/-]+\.bats`' README.md | tr -d '`' | sort -u)
    for file in $named; do [ -f "$file" ] || { echo "there is no $file" >&2; return 1; }; done
    for file in *.bats; do [[ $'\n'$named$'\n' == *$'\n'$file$'\n'* ]] || { echo "README.md lacks $file" >&2; return 1; }; done
    cd "$RTF_SOURCE"
    diff <(sed -nE 's/^\| ([a-z-]+) +\| .*/\1/p' test/unit/README.md | grep -vx program | sort) \
        <(sed -nE 's/^([A-Z]+_)?UNITS = //p' test/unit/rules.mk | tr ' ' '\n' | grep -v '[$]' | sort)
}

@test "each function and each test on contrib/kernels.md is in the file that stands before it" {
    cd "$RTF_SOURCE"
    rows=0
    while IFS='|' read -r _ _ _ place met _; do
        [[ $place == *'`'* ]] || continue
        file=${place#*\`} function=${place##*\` }
        file=${file%%\`*} function=${function%% }
        grep -qE "^[a-z].*\b$function\(" "$file" || { echo "$file has no $function"; return 1; }
        rows=$((rows + 1))
        [[ $met == *.bats* ]] || continue
        file=${met#*\`} name=${met##*\` }
        file=${file%%\`*} name=${name%% }
        grep -qF "@test \"$name\"" "$file" || { echo "$file has no test \"$name\""; return 1; }
    done < <(grep '^| ' contrib/kernels.md | tail -n +2)
    [ "$rows" = 27 ]
}

@test "each function on contrib/where.md is in the file that stands beside it" {
    cd "$RTF_SOURCE"
    rows=0
    while IFS='|' read -r _ _ file function _; do
        [[ $file == *'`'* ]] || continue
        file=${file//[ \`]/} function=${function//[ \`]/}
        grep -qE "^[a-z].*\b$function\(" "$file" || { echo "$file has no $function"; return 1; }
        rows=$((rows + 1))
    done <contrib/where.md
    [ "$rows" -ge 40 ]
}
