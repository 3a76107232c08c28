# Completion of rtf(1), rtf-run(1) and rtf-wait(1) for fish. The words come from rtf itself.

function __rtf_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l command (string replace -r '.*/' '' -- $words[1])
    set -e words[1]
    test $command = rtf; or set -p words (string replace rtf- '' -- $command)
    for reply in (rtf --complete $words "$last" 2>/dev/null | string collect | string split \n)
        switch $reply
            case ''
            case :files :command
                __fish_complete_path (string replace -r '^--[a-z-]+=' '' -- $last)
            case :directories
                __fish_complete_directories (string replace -r '^--[a-z-]+=' '' -- $last) ''
            case '*'
                echo $reply
        end
    end
end

for command in rtf rtf-run rtf-wait
    complete -c $command -f -a '(__rtf_complete)'
end
