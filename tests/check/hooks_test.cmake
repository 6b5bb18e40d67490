# Compiles SAMPLE, one mistake after the other: the compiler must refuse each with the sentence that
# the headers have for it, and take the one without a mistake. COMPILER, INCLUDE.
set(sentences "" "attend\\(\\) is no hook: it must be public" "attend\\(\\) is no hook: it must be public, const"
    "embed\\(\\) is no hook" "rewrite\\(\\) is no hook" "untrained\\(\\) is no hook" "begin\\(\\) is no hook"
    "oracle\\(\\) is no function of the task" "chance\\(\\) is no function of the task"
    "distinct\\(\\) is no function of the task" "tasks must end with a nullptr")
set(mistake 0)
foreach(sentence IN LISTS sentences)
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Wno-unused -I${INCLUDE} -DMISTAKE=${mistake} ${SAMPLE}
                  ERROR_VARIABLE error RESULT_VARIABLE code)
  if(sentence STREQUAL "")
    if(NOT code EQUAL 0)
      message(FATAL_ERROR "a sound sample does not compile:\n${error}")
    endif()
  elseif(code EQUAL 0 OR NOT error MATCHES "${sentence}")
    message(FATAL_ERROR "mistake ${mistake} should be refused with '${sentence}':\n${error}")
  endif()
  math(EXPR mistake "${mistake} + 1")
endforeach()
