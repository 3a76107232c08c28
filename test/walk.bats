# bats file_tags=lane:compute
# The functions, files and commands that contrib/walk.md, kernels.md, where.md and papers.md name exist. The files that the READMEs of the tests name exist, too.

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

# rows_of_papers COMMAND: calls COMMAND for each row of contrib/papers.md, with the cells of the row, and ends at the first failure.
rows_of_papers() {
    local place says state here shown
    while IFS='|' read -r _ place says state here shown _; do
        [[ ${state// /} =~ ^(works|differs|half|absent)$ ]] || continue
        "$1" "$place" "$says" "${state// /}" "$here" "$shown" || { echo "contrib/papers.md: $place|$says" >&2; return 1; }
    done <contrib/papers.md
}

# Each cell but the last says something.
is_filled() {
    [[ ${1// /} && ${2// /} && ${4// /} ]] || { echo "a cell is empty" >&2; return 1; }
}

# code_in CELL: prints what stands between backquotes, a line each. It starts no process, because the page has many cells.
code_in() {
    local rest=$1
    while [[ $rest == *\`*\`* ]]; do
        rest=${rest#*\`}
        echo "${rest%%\`*}"
        rest=${rest#*\`}
    done
}

# The cell "here": a word with a slash is a file, a name is a function in the file before it, and any other word is in the manual.
is_here() {
    local word file=
    for word in $(code_in "$4"); do
        if [[ $word == */* || $word == *.md ]]; then
            [ -f "$word" ] || { echo "there is no $word" >&2; return 1; }
            file=$word
        elif [[ $word =~ ^[a-z0-9_]+$ ]]; then
            grep -qE "^([a-z].*\b)?$word\(" "$file" || { echo "$file has no $word" >&2; return 1; }
        else
            grep -qF -- "$word" "$BATS_TEST_TMPDIR/manual" || { echo "the manual has no $word" >&2; return 1; }
        fi
    done
}

# The cell "shown by": a test that exists, a target of make, a command of rtf with options of its page, or a program of the checkout with an argument that
# it knows. Only a row that is absent may have an empty cell.
is_shown() {
    local shown name page word
    shown=$(code_in "$5")
    case $shown in
    '') [ "$3" = absent ] ;;
    FILTER=*)
        name=${shown#*\'} name=${name%\'*}
        grep -qE "^@test \".*$name" "${shown##* }" ;;
    make\ *)
        word=${shown#make }
        grep -qE "^${word%% *}:" Makefile test/*/rules.mk ;;
    rtf*)
        page=${shown%% *}
        word=${shown#rtf } word=${word%% *}
        page=man/$page.[18].scd
        [[ $shown != rtf\ * ]] || page=man/rtf-$word.$(sed -n "s/^$word \([18]\) .*/\1/p" libexec/front/commands).scd
        page=$(echo $page)
        [ -f "$page" ] || { echo "there is no $page" >&2; return 1; }
        for word in ${shown%% -- *}; do
            [[ $word != -* ]] || grep -qF -- "*$word*" "$page" || { echo "$page has no $word" >&2; return 1; }
        done ;;
    contrib/muse/run\ *) [ -f "contrib/muse/${shown##* }.jq" ] ;;
    contrib/bootstrap\ *) grep -q "^${shown##* }) " contrib/bootstrap ;;
    contrib/plugin-check\ *)
        word=${shown##* }
        [ -x "$word" ] || { [[ $word == build/libexec/plugins/* ]] && [ -f "plugins/${word##*/}.c" ]; } ;;
    *) [ -x "${shown%% *}" ] ;;
    esac || { echo "this shows nothing: $shown" >&2; return 1; }
}

@test "each file, function, word and command on contrib/papers.md exists" {
    cd "$RTF_SOURCE"
    sed 's/[*\\]//g' man/*.scd >"$BATS_TEST_TMPDIR/manual"
    rows_of_papers is_filled
    rows_of_papers is_here
    rows_of_papers is_shown
}

@test "each page of the manual, and each of its sections, that contrib/papers.md names exists" {
    cd "$RTF_SOURCE"
    pages=$(grep -oE '\b[a-z][a-z.-]*\([1-8]\)' contrib/papers.md | sort -u)
    [ "$(wc -l <<<"$pages")" -ge 20 ]
    for page in $pages; do
        file=${page/(/.}
        [ -f "man/${file%)}.scd" ] || { echo "there is no $page" >&2; return 1; }
    done
    sections=0
    while IFS='*' read -r _ section page; do
        file=${page# in } file=${file/(/.}
        grep -qE -- "^(#+ $section$|\*$section[.*])" "man/${file%)}.scd" || { echo "$page has no section $section" >&2; return 1; }
        sections=$((sections + 1))
    done < <(grep -oE '\*[^*|]+\* in [a-z.-]+\([1-8]\)' contrib/papers.md)
    [ "$sections" -ge 15 ]
}

count_state() { counted[$3]=$((${counted[$3]:-0} + 1)); }

@test "the four numbers at the top of contrib/papers.md are those of its tables" {
    cd "$RTF_SOURCE"
    declare -A counted=()
    rows_of_papers count_state
    for state in works differs half absent; do
        told=$(sed -nE "s/^\| $state \| ([0-9]+) \|.*/\1/p" contrib/papers.md)
        [ "$told" = "${counted[$state]}" ] || { echo "$state: the table at the top says $told, the rows are ${counted[$state]}" >&2; return 1; }
    done
    # no row has another state: the rest are the heads of six tables, and the table at the top
    [ "$(grep -c '^| ' contrib/papers.md)" = "$((counted[works] + counted[differs] + counted[half] + counted[absent] + 6 + 5))" ]
}
