# librtf (rtf(3)): each row of Tables 2 and 3 of the ReTiF paper, its Listing 1, many threads, a broker that dies, and the symbols that the library exports.
load helper

prepare() {
    # EDF has 0.9 of a CPU in all, however many CPUs the machine has, so that the same specs fit.
    configure_plugins "EDF edf - all partition=global threshold=$(nproc --all | awk '{ printf "%.9f", 0.9 / $1 }')" 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 4"
    export PKG_CONFIG_PATH=$RTF_STAGE/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$RTF_STAGE
}

# compile FILE PROGRAM [FLAG...]: compiles as a user of the installed library does.
compile() {
    # shellcheck disable=SC2046 # flags
    cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g "$1" -o "$WORK/$2" $(pkg-config --cflags librtf) "${@:3}" $(pkg-config --libs librtf) -pthread
}
as_alice() { as $ALICE env USER=$ALICE RTF_SPOOL="$SPOOL" LD_LIBRARY_PATH="$RTF_STAGE/usr/lib" "$@"; }

# row NAME: runs this row of rows.c.
row() {
    compile "$RTF_SOURCE/test/library/rows.c" rows
    broker_start
    as_alice timeout 60 "$WORK/rows" "$1"
    nothing_is_left
}
nothing_is_left() { eventually finds_nothing "$SPECS/$ALICE" -name '*.json' ! -name cam.json; }

@test "Table 2: rtf_connect" { row rtf_connect; }
@test "Table 2: rtf_spec_create" { row rtf_spec_create; }
@test "Table 2: rtf_spec_change" { row rtf_spec_change; }
@test "Table 2: rtf_spec_release" { row rtf_spec_release; }
@test "Table 2: rtf_spec_attach" { row rtf_spec_attach; }
@test "a second taker of a reservation gets EBUSY, and the first keeps the reservation" { row busy; }
@test "of eight threads that take a reservation at once, one has it and seven are told so" { row takers; }
@test "Table 2: rtf_spec_detach" { row rtf_spec_detach; }
@test "section 3.2: rtf_spec_get_accepted_runtime" { row rtf_spec_get_accepted_runtime; }
@test "section 3.2: rtf_task_start" { row rtf_task_start; }
@test "section 3.2: rtf_task_wait_period" { row rtf_task_wait_period; }
@test "Table 3: rtf_params_set_period" { row rtf_params_set_period; }
@test "Table 3: rtf_params_set_runtime" { row rtf_params_set_runtime; }
@test "Table 3: rtf_params_set_des_runtime" { row rtf_params_set_des_runtime; }
@test "Table 3: rtf_params_set_deadline" { row rtf_params_set_deadline; }
@test "Table 3: rtf_params_set_priority" { row rtf_params_set_priority; }
@test "Table 3: rtf_params_set_scheduler" { row rtf_params_set_scheduler; }
@test "Table 3: rtf_params_ignore_admission" { row rtf_params_ignore_admission; }
@test "a thread in the same step" { row rtf_spec_create_attached; }
@test "parameters beyond the paper" { row 'more parameters'; }
@test "a call that waits for room gives up with the timeout, and leaves nothing" { row rtf_params_set_wait; }
@test "with rtf_fd and rtf_process nothing blocks" { row rtf_fd; }
@test "queries of tasks, plugins and CPUs" { row queries; }
@test "sched_yield under SCHED_DEADLINE waits for the kernel's next period" { row sched_yield; }
@test "a loop takes no memory: the answer is read before it" { row loop; }
@test "a directory that is removed or moved while nothing is asked is made again" { row directory; }

@test "Listing 1 of the paper compiles and runs, but for its documented differences" {
    compile "$RTF_SOURCE/test/library/listing-1.c" listing
    broker_start
    [ "$(as_alice "$WORK/listing")" = '10 jobs, 10 with the optional part' ]
    nothing_is_left
}

@test "a program finds a broker that was killed and started again, and its grants go on" {
    compile "$RTF_SOURCE/test/library/rows.c" rows
    broker_start
    coproc ROWS { as_alice timeout 60 "$WORK/rows" restart 2>"$WORK/err"; }
    local pid=$ROWS_PID in=${ROWS[1]} out=${ROWS[0]} line
    read -r line <&"$out"
    broker_stop KILL
    eventually none_of_ours
    echo >&"$in"
    read -r line <&"$out" || { cat "$WORK/err" >&2; false; }
    broker_begins # the next request waits until the broker has started
    echo >&"$in"
    waits_for_start() { ls -l "/proc/$(pgrep -n -f "^$WORK/rows restart")/fd" 2>/dev/null | grep -q " -> $SPOOL/starting$"; }
    eventually waits_for_start || { cat "$WORK/err" >&2; false; }
    touch "$WORK/greet"
    wait "$pid" || { cat "$WORK/err" >&2; false; }
    nothing_is_left
}

# with_rows ROW: starts the row; `acts` waits until the row asks for an act, and each line to $ROWS_IN lets the row go on.
with_rows() {
    compile "$RTF_SOURCE/test/library/rows.c" rows
    broker_start "${@:2}"
    coproc ROWS { as_alice timeout 60 "$WORK/rows" "$1" 2>"$WORK/err"; }
    ROWS_ID=$ROWS_PID ROWS_IN=${ROWS[1]} ROWS_OUT=${ROWS[0]}
}
asked() { local line; read -r line <&"$ROWS_OUT" || { cat "$WORK/err" >&2; false; }; }
go_on() { echo >&"$ROWS_IN"; }
ends_well() { wait "$ROWS_ID" || { cat "$WORK/err" >&2; false; }; }
rtf_of_alice() { as $ALICE env USER=$ALICE "$RTF_BIN/rtf" "$1" --spool "$SPOOL" "${@:2}"; }

@test "rtf_task_wait and rtf_spec_is_attached tell of a removal by another program" {
    with_rows gone
    asked
    rm "$SPECS/$ALICE/cam.json"
    go_on
    ends_well
    nothing_is_left
}

@test "rtf_task_wait and rtf_spec_is_attached tell that root revokes" {
    with_rows gone
    asked
    "$RTF_BIN/rtf" --spool "$SPOOL" revoke "$ALICE/cam" >/dev/null
    go_on
    ends_well
}

@test "rtf_task_wait and rtf_spec_is_attached tell that the rules grant nothing any more" {
    with_rows unruly
    asked
    configure_rules "$BOB - max_utilization 4"
    kill -HUP "$BROKER"
    go_on
    ends_well
}

@test "rtf_task_wait and rtf_spec_is_attached tell that the spec has expired" {
    with_rows expired
    asked
    go_on
    ends_well
    nothing_is_left
}

@test "rtf_task_wait and rtf_spec_is_attached tell that another program detaches" {
    with_rows detached
    asked
    rm "$SPECS/$ALICE/cam.tid"
    go_on
    ends_well
    nothing_is_left
}

@test "rtf_task_wait and rtf_spec_is_attached tell of a broker that stops, and of the next one" {
    with_rows stopped
    asked
    broker_stop TERM
    go_on
    asked
    broker_start
    go_on
    ends_well
    nothing_is_left
}

@test "rtf_fd tells of a change by another program, of a stop and a start of the broker, and of a removal" {
    with_rows told
    asked
    rtf_of_alice change cam runtime=3ms
    go_on
    asked
    broker_stop TERM
    go_on
    asked
    broker_start
    go_on
    asked
    rm "$SPECS/$ALICE/cam.json"
    go_on
    ends_well
    nothing_is_left
}

@test "a spec that another program has changed is changed and released by its handle" {
    with_rows changed
    asked
    rtf_of_alice change cam runtime=3ms
    go_on
    asked
    rtf_of_alice change cam runtime=5ms
    go_on
    ends_well
    nothing_is_left
}

@test "a release without waiting is RTF_PENDING until the thread is what it was" {
    with_rows release
    asked
    kill -STOP "$BROKER"
    go_on
    asked
    kill -CONT "$BROKER"
    go_on
    ends_well
    nothing_is_left
}

@test "a detachment after a refused change detaches" { row refused; }

with_units() {
    configure_rules "$ALICE EDF max_utilization 4" "$ALICE CAM max_amount 100"
    configure_plugins "EDF edf - all partition=global threshold=$(nproc --all | awk '{ printf "%.9f", 0.9 / $1 }')" "CAM $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=4"
}

@test "rtf_params_from_spec reads what is in force, so that a change of one parameter keeps the others" {
    with_units
    with_rows 'from spec'
    asked
    [ "$(jq -r '[.weight, .units.count] | @tsv' "$SPECS/$ALICE/cam.json")" = $'7\t2' ]
    as $ALICE sh -c 'jq ". + {runtime: \"4ms\", period: \"15ms\", comment: \"of the test\"}" "$1" >"$2" && mv "$2" "$1"' sh "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/.new"
    verdict_of_alice() { [ "$(jq .grant.runtime "$SPECS/$ALICE/cam.verdict")" = 4000 ]; }
    eventually verdict_of_alice
    go_on
    asked
    [ "$(jq -r '[.runtime, .period, .comment, .weight, .units.count] | @tsv' "$SPECS/$ALICE/cam.json")" = $'5000\t15000\tof the test\t7\t2' ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    go_on
    ends_well
}

@test "modes and claims are set as JSON, and read as numbers" { with_units; row texts; }
@test "a program file for the threads of this process, by their names" { row threads; }
@test "further keys are set as JSON" { row keys; }
@test "importance and weight" { row importance; }
@test "a dry run reserves nothing, and says what would be granted" { row 'dry run'; }

@test "a program that ends takes its reservations along; rtf_disconnect gives back a reservation that is not attached" {
    broker_start
    row rtf_spec_attach
    eventually finds_nothing "$SPECS/$ALICE" -mindepth 1
}

# bats test_tags=turn:0
@test "64 threads create, attach, change, detach and release under ThreadSanitizer, also over a broker that is killed" {
    local sources
    mapfile -t sources < <(cd "$RTF_SOURCE" && ls lib/librtf/*.c lib/units.c lib/parse-time.c)
    (cd "$RTF_SOURCE" && cc -std=c17 -D_GNU_SOURCE -O1 -g -fsanitize=thread -Ilib -Ilib/librtf -o "$WORK/storm" test/library/storm.c "${sources[@]}" -ljansson -pthread)
    broker_start --max-specs 200
    TSAN_OPTIONS=halt_on_error=1 as_alice timeout 120 setarch -R "$WORK/storm" "${STORM_SECONDS:-2}" >"$WORK/out"
    [[ $(<"$WORK/out") =~ ^[1-9][0-9]*\ rounds$ ]]
    nothing_is_left
    TSAN_OPTIONS=halt_on_error=1 as_alice timeout 120 setarch -R "$WORK/storm" "$WORK/again" >"$WORK/out" 2>"$WORK/err" 3>&- &
    local storm=$!
    rounds_are_done() { [ "$(grep -c '"decision":"ok"' "$EVENTS")" -gt "$((already + 100))" ]; }
    already=$(grep -c '"decision":"ok"' "$EVENTS")
    eventually rounds_are_done
    broker_stop KILL
    eventually none_of_ours
    broker_start --max-specs 200
    touch "$WORK/again"
    wait "$storm" || { cat "$WORK/out" "$WORK/err" >&2; false; }
    nothing_is_left
}

@test "the library shows rtf_* and nothing else, the same in its header, its map, both forms and on rtf(3)" {
    local listed declared
    listed=$(sed -n 's/^ *\(rtf_[a-z_]*\);$/\1/p' "$RTF_SOURCE/lib/librtf/librtf.map")
    declared=$(sed 's,/\*.*\*/,,' "$RTF_STAGE/usr/include/rtf.h" | grep -v '^ \*' | grep -oE '\brtf_[a-z_]+\(' | tr -d '(' | sort -u)
    [ "$(sort <<<"$listed")" = "$declared" ] || { diff <(sort <<<"$listed") <(echo "$declared") >&2; false; }
    [ "$(nm -D --defined-only "$RTF_STAGE/usr/lib/librtf.so.0" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort)" = "$declared" ]
    [ "$(nm -g --defined-only "$RTF_STAGE/usr/lib/librtf.a" | awk 'NF == 3 { print $3 }' | sort)" = "$declared" ]
    [ "$(nm -D --defined-only "$RTF_STAGE/usr/lib/librtf.so.0" | awk '$2 != "T" && $2 != "A"')" = '' ]
    for name in $declared; do sed 's/\\//g' "$RTF_SOURCE/man/rtf.3.scd" | grep -q "\b$name\b" || { echo "$name is not on rtf(3)" >&2; false; }; done
    # A published symbol stays. If a symbol is removed, the number in the name of the library (librtf.so.0) is raised.
    [ "$(readelf -d "$RTF_STAGE/usr/lib/librtf.so.0" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = librtf.so.0 ]
}

# If a symbol is removed, or changes its version, the library and the package need another number in their names. A new symbol needs a line in
# contrib/debian/librtf0.symbols.
@test "the binary interface is the stored one: names, versions, numbers, sizes and types" {
    local symbols=$RTF_SOURCE/contrib/debian/librtf0.symbols library=$RTF_STAGE/usr/lib/librtf.so.0
    [ "$(head -n 1 "$symbols")" = "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p') librtf0 #MINVER#" ]
    diff <(sed -n 's/^ \(rtf_[^ ]*\) [0-9.]*$/\1/p' "$symbols" | sort) <(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 == "T" { sub(/@@/, "@", $3); print $3 }' | sort) >&2
    compile "$RTF_SOURCE/test/library/abi.c" abi
    if command -v dpkg-gensymbols >/dev/null; then dpkg-gensymbols -plibrtf0 -v1.0 -e"$library" -I"$symbols" -c4 -O"$WORK/symbols" >&2; fi
}

@test "a program is linked with the library that is not shared, and with none other of its names" {
    printf '#include <rtf.h>\n#include <stdio.h>\nint client_open = 1;\nint main(void) { struct rtf_connection c; rtf_connect(&c, "/nonexistent"); puts(rtf_reason(&c)); rtf_disconnect(&c); return client_open - 1; }\n' >"$WORK/own.c"
    # shellcheck disable=SC2046 # flags
    cc -Wall -Wextra -Werror -o "$WORK/own" "$WORK/own.c" $(pkg-config --cflags librtf) "$RTF_STAGE/usr/lib/librtf.a" $(pkg-config --static --libs-only-other librtf) -ljansson -pthread
    [ "$("$WORK/own")" = "no broker has made a spool at /nonexistent ('rtf-brokerd --spool /nonexistent', as root, makes it)" ]
    printf '#include <rtf.h>\nint main() { rtf_connection c; return rtf_connect(&c, "/nonexistent") != RTF_CONNECTION_ERR; }\n' >"$WORK/own.cc"
    command -v c++ >/dev/null || return 0
    # shellcheck disable=SC2046 # flags
    c++ -Wall -Werror -o "$WORK/own++" "$WORK/own.cc" $(pkg-config --cflags --libs librtf)
    as_alice "$WORK/own++"
}

# Otherwise a user could have a spool of the user's own answer the program, with files that the program makes where the user likes.
@test "a program that runs with another user's rights does not take the spool from the environment of its caller" {
    printf '#include <rtf.h>\n#include <stdio.h>\nint main(void) { struct rtf_connection c; rtf_connect(&c, NULL); puts(rtf_reason(&c)); rtf_disconnect(&c); return 0; }\n' >"$WORK/own.c"
    compile "$WORK/own.c" own "-Wl,-rpath,$RTF_STAGE/usr/lib"
    as $ALICE env RTF_SPOOL="$WORK/forged" "$WORK/own" >"$WORK/said"
    grep -q "$WORK/forged" "$WORK/said"
    install -o $BOB -m 4755 "$WORK/own" "$WORK/of-bob"
    as $ALICE env RTF_SPOOL="$WORK/forged" "$WORK/of-bob" >"$WORK/said"
    [ -s "$WORK/said" ]
    no grep "$WORK/forged" "$WORK/said"
}

@test "the programs on rtf(3) are compiled, run, and print what the page says" {
    broker_start
    awk '/^```/ { literal = !literal; count += literal; next } literal { gsub(/\\\\/, "\\"); print >(base "." count) }' base="$WORK/page" "$RTF_SOURCE/man/rtf.3.scd"
    local count=0 block
    for block in "$WORK"/page.*; do
        grep -q '^#include <rtf.h>' "$block" || continue
        mv "$block" "$block.c"
        compile "$block.c" example
        eventually all_is_free
        (cd / && as_alice timeout 20 "$WORK/example" >"$WORK/out") || { cat "$block.c" "$WORK/out" >&2; false; }
        count=$((count + 1))
        grep -q "$(sed -n 's,^/\* prints: \(.*\) \*/$,\1,p' "$block.c")" "$WORK/out" || { cat "$block.c" "$WORK/out" >&2; false; }
    done
    [ "$count" -eq 2 ]
}
