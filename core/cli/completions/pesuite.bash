# pesuite in bash: the program itself says what may stand next; where it says nothing, files do.
_pesuite() {
  local words cur before
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
  cur=${words[-1]}
  mapfile -t COMPREPLY < <("${words[0]}" --help=complete "${words[@]:1}" 2>/dev/null | cut -f 1)
  # bash takes '=' and ':' for ends of words, and completes what is behind them.
  before=${cur%"${cur##*[=:]}"}
  COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o default -F _pesuite pesuite
