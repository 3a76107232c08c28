# bats file_tags=lane:alone
# contrib/resources-demo in its short form: it reserves a wire, a disk and CPUs together, while other programs load
# all of them.

load helper

@test "cameras are recorded beside a flood, loops and readers; a fourth one is refused; nothing is left behind" {
    run "$RTF_SOURCE/contrib/resources-demo" --quick --root "$RTF_STAGE"
    echo "$output"
    [ "$status" -eq 0 ]
    read -r _ _ _ mean slowest gap < <(grep '^all of these' <<<"$output")
    echo "# $mean frames a second, $slowest of the slowest camera, $gap ms between two" >&3
    [ "${slowest%.*}" -ge 25 ] # 1 to 3 frames a second without the reservations
    grep -q '^  ok      it is refused by the network, and holds no CPU time either' <<<"$output"
    grep -q '^  ok      no process, file, mount, cgroup or kernel setting was left behind or changed$' <<<"$output"
}
