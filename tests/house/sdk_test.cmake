# Installs BUILD, builds the plugins of SOURCE against the installation, checks and installs them, and
# asks the installed program for one. WORK is an empty folder for all this.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_INSTALL_PREFIX=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(name log_distance learned_log first_copy)
  run(${WORK}/prefix/bin/pesuite plugin check ${WORK}/build/plugins/${name}.plugin.so --only-failed)
endforeach()
# The one line of docs/plugins.md that builds without CMake hides as much.
run(g++ -std=c++20 -O2 -shared -fPIC -I ${SOURCE}/../../../core/include
    -Wl,--version-script=${SOURCE}/../../../cmake/plugin.map ${SOURCE}/learned_log.cpp
    -o ${WORK}/one_line.plugin.so)
run(${WORK}/prefix/bin/pesuite plugin check ${WORK}/one_line.plugin.so --check exports)
run(${CMAKE_COMMAND} --install ${WORK}/build)
run(${WORK}/prefix/bin/pesuite info encoding log_distance)
if(NOT output MATCHES "logarithm of the distance")
  message(FATAL_ERROR "'pesuite info' does not show the installed plugin:\n${output}")
endif()
run(${WORK}/prefix/bin/pesuite guide --json)
file(GLOB measured ${WORK}/prefix/share/pesuite/measured.json)
if(NOT measured OR NOT output MATCHES "fails from")
  message(FATAL_ERROR "an installed 'pesuite guide' does not know what was measured:\n${output}")
endif()
file(REMOVE_RECURSE ${WORK})
