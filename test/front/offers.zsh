# offers.zsh FUNCTIONS TEXT: prints zsh's offers for TEXT and a tab, in angle brackets. zsh runs on a terminal of its own, because completion is a part of
# zsh's line editor.
zmodload zsh/zpty
functions_in=$1 text=$2
setup='
    PS1= PROMPT_SP=
    fpath=('$functions_in' $fpath)
    autoload -Uz compinit
    compinit -u -d /dev/null
    bindkey "^I" complete-word
    compadd() {
        if [[ " $* " == *\ -[ODA]\ * ]]; then
            builtin compadd "$@"
            return
        fi
        local -a found
        builtin compadd -O found "$@"
        for one in "${found[@]}"; do print -r -- "<$one>"; done
        builtin compadd "$@"
    }
    print ready-$((1 + 1))'
print -r -- "$setup" >$HOME/setup.zsh
zpty it zsh -f -i
zpty -w it "stty cols 200 -echo; source $HOME/setup.zsh"
zpty -r it line '*ready-2*'
zpty -w -n it "$text"$'\t'
integer tries=0
said=
# The list has ended when no output comes for a second, because zsh writes no mark at the end.
while (( tries++ < 40 )); do
    if zpty -rt it line; then
        said+=$line tries=20
    else
        sleep 0.05
    fi
done
print -r -- "$said"
zpty -d it
