# Requests leave no memory and no descriptors behind, however many there are. SOAK_REQUESTS: the number of requests; make soak sends a million.
load attack

resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
descriptors() { find "/proc/$1/fd" -mindepth 1 | wc -l; }

# bats test_tags=turn:0
@test "after very many requests the broker, the helper and the plugins have as much memory and as many descriptors as before" {
    broker_start --max-specs 600
    cat >"$WORK/soak.py" <<'END'
import ctypes, os, select, sys
directory, requests = sys.argv[1], int(sys.argv[2])
os.makedirs(directory, exist_ok=True)
os.chdir(directory)
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watch, b".", 0x80 | 0x200)
poll = select.poll()
poll.register(watch, select.POLLIN)
def wait_for(number):
    while sum(name.endswith(".verdict") for name in os.listdir(".")) != number:
        if not poll.poll(20000):
            sys.exit("no answer")
        try:
            os.read(watch, 1 << 20)
        except BlockingIOError:
            pass
specs = ['{"priority": 5, "plugin": "RR"}', '{"runtime": 10, "period": "100ms"}', '{"priority": 77}', '{bad', '{"period": "1ms", "plugin": "FP"}']
for done in range(0, requests, 1000):
    for number in range(500):
        with open(".new", "w") as file:
            file.write(specs[number % len(specs)])
        os.rename(".new", f"w{number}.json")
    wait_for(500)
    for number in range(500):
        os.unlink(f"w{number}.json")
    wait_for(0)
END
    chmod 644 "$WORK/soak.py"
    as $ALICE /usr/bin/python3 -S "$WORK/soak.py" "$SPECS/$ALICE" 20000 # as many at once as later: the broker's memory has room for the longest queue then
    before=$(for pid in "$BROKER" $(launcher) $(helpers); do echo "$(descriptors "$pid") $(resident "$pid")"; done)
    as $ALICE /usr/bin/python3 -S "$WORK/soak.py" "$SPECS/$ALICE" "${SOAK_REQUESTS:-20000}"
    after=$(for pid in "$BROKER" $(launcher) $(helpers); do echo "$(descriptors "$pid") $(resident "$pid")"; done)
    paste -d ' ' <(echo "$before") <(echo "$after") | while read -r fds kb fds_after kb_after; do
        echo "# ${SOAK_REQUESTS:-20000} requests: $fds descriptors and $kb KiB, then $fds_after and $kb_after"
        [ "$fds" -eq "$fds_after" ]
        [ "$kb_after" -le $((kb + 256 + ${RTF_MEMORY_SLACK:-0})) ]
    done >&3
}
