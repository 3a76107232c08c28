# The checks that rtf-attach makes by itself, each alone: a broker that was misled, or taken over, makes only threads of the spec's owner real-time.

load helper

ask() { # WHAT: a word of test/attach-helper/ask.py, which describes each
    /usr/bin/python3 -S "$RTF_SOURCE/test/attach-helper/ask.py" "$RTF_LIBEXEC/rtf-attach" $ALICE $BOB "$1"
}

answers() { # WHAT LINE...
    local said
    said=$(ask "$1")
    [ "$said" = "$(printf '%s\n' "${@:2}")" ] || { echo "$said" >&2; return 1; }
}

@test "a thread is made real-time if all its uids are the owner's" {
    answers none 'ok fifo reset'
}

@test "a thread with one uid of another user is refused: the real, the effective, the saved one, and the one for files" {
    answers ids 'no other' 'no other' 'no other' 'no other'
}

@test "a thread that was started after the request is not attached" {
    answers reused 'gone other'
}

@test "a pidfd of a thread that has ended means no other thread that gets the id" {
    answers passed 'gone other'
}

@test "a request that does not say reset-on-fork makes a thread real-time that sheds it on fork" {
    answers fork 'ok fifo reset' 'ok rr reset'
}

@test "a thread that becomes another user's between the check and the call is ordinary again" {
    answers between 'no other'
}
