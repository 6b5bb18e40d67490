# pesuite in fish: the program itself says what may stand next; where it says nothing, files do.
function __pesuite_complete
    set -l words (commandline -opc)
    set -l found ($words[1] --help=complete $words[2..] (commandline -ct) 2>/dev/null)
    if set -q found[1]
        string join \n -- $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c pesuite -f -a '(__pesuite_complete)'
