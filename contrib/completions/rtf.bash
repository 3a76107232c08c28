# Completion of rtf(1), rtf-run(1) and rtf-wait(1) for bash. The words come from rtf itself.
# shellcheck shell=bash

# Words that bash completes: files, users, commands.
_rtf_compgen() { # WORD -o OPTION WHAT...
    compopt -o "$3" 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "${@:4}" -- "$1")
}

_rtf() {
    local line=${COMP_LINE:0:COMP_POINT} word last replies
    local -a words=()
    # Not from COMP_WORDS: bash ends a word at `=` and at a colon, and names may have a colon.
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] && ${#words[@]} -gt 1 ]] || words+=('')
    last=${words[-1]}
    case ${words[0]##*/} in
    rtf-*) words=(rtf "${words[0]##*rtf-}" "${words[@]:1}") ;;
    esac
    COMPREPLY=()
    replies=$(rtf --complete "${words[@]:1}" 2>/dev/null) || return
    while IFS=$'\t' read -r word _; do
        case $word in
        '') ;;
        :files) _rtf_compgen "${last##*=}" -o filenames -f ;;
        :directories) _rtf_compgen "${last##*=}" -o filenames -d ;;
        :command) _rtf_compgen "$last" -o filenames -c -f ;;
        *)
            [[ $word != *= ]] || compopt -o nospace 2>/dev/null
            # The line already has the part of the word up to the last = or :.
            [[ $last != *[=:]* ]] || word=${word#"${last%"${last##*[=:]}"}"}
            COMPREPLY+=("$word")
            ;;
        esac
    done <<<"$replies"
}
complete -F _rtf rtf rtf-run rtf-wait
