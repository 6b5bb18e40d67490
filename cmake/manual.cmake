# Writes into FOLDER the man page of PROGRAM and of each of its verbs, as the program prints them.
function(words_of out) # the words that may stand behind ARGN
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help=complete "" OUTPUT_VARIABLE lines
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\t[^\n]*\n" ";" words "${lines}")
  set(${out} ${words} PARENT_SCOPE)
endfunction()

function(page) # of these words
  string(JOIN "-" name pesuite ${ARGN})
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help=man OUTPUT_FILE ${FOLDER}/${name}.1
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
page()
words_of(verbs)
foreach(verb ${verbs})
  page(${verb})
endforeach()
foreach(group baseline data history plugin)
  words_of(subcommands ${group})
  foreach(subcommand ${subcommands})
    page(${group} ${subcommand})
  endforeach()
endforeach()
