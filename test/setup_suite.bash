# Runs once for a file: installs the build into a scratch tree that every uid can reach, wherever the checkout is. test/run installs the build once, and
# each file has a copy: a test knows its own processes by their path, and some tests replace a program there. With RTF_STAGE set, the tree exists.
setup_suite() {
    RTF_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    export RTF_SOURCE
    if [ -z "${RTF_STAGE:-}" ]; then
        RTF_STAGE=$(mktemp -d "${TMPDIR:-/tmp}/rtf-stage.XXXXXX")
        RTF_STAGE_IS_OURS=yes
        chmod 755 "$RTF_STAGE"
        if [ -n "${RTF_INSTALLED:-}" ]; then
            cp -a "$RTF_INSTALLED/." "$RTF_STAGE"
        else
            make -s -C "$RTF_SOURCE" install install-tools DESTDIR="$RTF_STAGE" PREFIX=/usr >&2
        fi
    fi
    [ -p "$RTF_STAGE/nothing" ] || mkfifo "$RTF_STAGE/nothing" # helper.bash reads this to wait a while
    mkdir -p "$RTF_STAGE/gojq"
    ln -sf "$(command -v gojq)" "$RTF_STAGE/gojq/jq" # for `invariants` in helper.bash
    export RTF_STAGE RTF_STAGE_IS_OURS
    export RTF_BIN=$RTF_STAGE/usr/bin RTF_LIBEXEC=$RTF_STAGE/usr/libexec/rtf
}

teardown_suite() {
    if [ "${RTF_STAGE_IS_OURS:-}" = yes ]; then
        rm -rf "$RTF_STAGE"
    fi
}
