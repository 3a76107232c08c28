# The first walk of contrib/walk.md against a broker that records each function it enters.
load helper

# The functions that a broker enters from here on, in order, each with its file: "FUNCTION FILE". The launcher and the broker write into one record.
entered() { # FROM
    local program=$BATS_FILE_TMPDIR/traced/libexec/rtf-brokerd
    od -An -v -w8 -t u8 -j $((8 + 8 * $1)) "$WORK/trace" | awk '$1 == 0 { exit } { printf "%#x\n", $1 }' >"$WORK/offsets"
    addr2line -f -s -e "$program" <"$WORK/offsets" | sed 'N; s/\n/ /; s/:[0-9?]*\( (.*\)\{0,1\}$//' | sed 's/ .*\// /'
}
entries() { od -An -t u8 -N 8 "$WORK/trace" | tr -d ' '; }

# bats test_tags=turn:1
@test "a broker enters the functions of the first walk in the order in which contrib/walk.md names them" {
    make -s -C "$RTF_SOURCE" B="$BATS_FILE_TMPDIR/traced" CFLAGS='-O0 -g1 -finstrument-functions' \
        LDFLAGS="$BATS_FILE_TMPDIR/traced/obj/test/trace.o" "$BATS_FILE_TMPDIR/traced/obj/test/trace.o" 3>&-
    make -s -j2 -C "$RTF_SOURCE" B="$BATS_FILE_TMPDIR/traced" CFLAGS='-O0 -g1 -finstrument-functions' \
        LDFLAGS="$BATS_FILE_TMPDIR/traced/obj/test/trace.o" "$BATS_FILE_TMPDIR/traced/libexec/rtf-brokerd" 3>&-
    private_tree
    cp "$BATS_FILE_TMPDIR/traced/libexec/rtf-brokerd" "$RTF_LIBEXEC/rtf-brokerd"
    configure_plugins 'RR rr 1-10 all' 'FP fp 11-20 all'
    configure_rules "$ALICE - max_utilization 1000" "$ALICE - max_priority 20"
    export RTF_TRACE=$WORK/trace
    broker_start
    unset RTF_TRACE
    sleeper $ALICE
    local from functions last=0 line step steps=0
    from=$(entries)
    local answer
    answer=$(spec $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"plugin\": \"FP\", \"priority\": 12, \"attach\": $SLEEPER}")
    [ "$(field .thread.state "$answer")" = attached ] || { echo "$answer" >&2; false; }
    entered "$from" >"$WORK/entered"
    sed -n '/^## From a spec/,/^## A claim/p' "$RTF_SOURCE/contrib/walk.md" | sed -nE 's/^ +([a-z_]+(, [a-z_]+)*) +libexec\/broker\/([a-z\/-]*\/)?([a-z-]+\.c).*/\1 \4/p' >"$WORK/walk"
    [ "$(wc -l <"$WORK/walk")" -ge 15 ]
    while IFS= read -r line; do
        functions=${line% *}
        for step in ${functions//,/ }; do
            # The first time that the broker enters this function after the function of the previous step.
            line=$(awk -v last="$last" -v step="$step" 'NR > last && $1 == step { print NR; exit }' "$WORK/entered")
            [ -n "$line" ] || { echo "after line $last, nothing enters $step; the walk is wrong"; return 1; }
            last=$line steps=$((steps + 1))
        done
    done <"$WORK/walk"
    [ "$steps" -ge 16 ]
    # A reader of this walk opens at most so many files, counting those of the reader and of the attach helper.
    [ "$(sed -n '/^## From a spec/,/^## A claim/p' "$RTF_SOURCE/contrib/walk.md" | grep -oE '(lib|libexec)/[a-z/-]+\.c' | sort -u | wc -l)" -le 20 ]
}
