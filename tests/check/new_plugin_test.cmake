# What an author of a plugin does: installs pesuite, has a project written, builds it against the
# installation, checks it, uses it. BUILD is the build tree, WORK an empty folder for all this.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# must_list(KIND NAME [flags]): by its manifest, with nothing to be noted.
function(must_list kind name)
  run(${pesuite} list ${kind} ${ARGN})
  if(NOT output MATCHES "${name} " OR output MATCHES "note:")
    message(FATAL_ERROR "'pesuite list ${kind} ${ARGN}' should show ${name}, and says:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(pesuite ${WORK}/prefix/bin/pesuite)
foreach(kind encoding task)
  set(folder ${WORK}/${kind})
  run(${pesuite} plugin new ${kind} my_${kind} --folder ${folder})
  file(STRINGS ${folder}/my_${kind}.cpp lines)
  list(LENGTH lines count)
  if(count GREATER 60)
    message(FATAL_ERROR "a start of ${count} lines is no start")
  endif()
  run(${CMAKE_COMMAND} -S ${folder} -B ${folder}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${folder}/build)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${folder}/build --output-on-failure --no-tests=error)
  run(${pesuite} plugin check ${folder}/build/plugins/my_${kind}.plugin.so)
  if(NOT output MATCHES ", 0 failed" OR NOT output MATCHES "passed +manifest")
    message(FATAL_ERROR "the new ${kind} does not pass its check:\n${output}")
  endif()
  must_list(${kind} my_${kind} --plugin-path ${folder}/build/plugins)
  run(${pesuite} validate ${folder}/suite.toml --plugin-path ${folder}/build/plugins)
  # Stripping a library makes it no other build: its manifest still stands.
  run(${CMAKE_COMMAND} --install ${folder}/build --prefix ${WORK}/prefix --strip)
  must_list(${kind} my_${kind})
  run(${pesuite} info ${kind} my_${kind})
endforeach()

# A second project in the same place, or of a name that is taken, is refused with a sentence.
foreach(words "encoding;other;--folder;${WORK}/encoding" "encoding;my_encoding" "encoding;No-Name"
        "plugin;thing")
  execute_process(COMMAND ${pesuite} plugin new ${words} WORKING_DIRECTORY ${WORK}
                  ERROR_VARIABLE error RESULT_VARIABLE code OUTPUT_QUIET)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "'plugin new ${words}' should be refused with 2, and ended with ${code}: ${error}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
