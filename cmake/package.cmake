# cpack: Debian packages. The program, what authors of plugins need, tests, and the parts that link
# MPI and CUDA, apart. 'cpack' in the build folder; docs/install.md.
set(PESUITE_MAINTAINER "The pesuite authors <pesuite@example.org>" CACHE STRING
    "Who answers for packages; whoever hands them out puts a name and address of theirs")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pesuite)
set(CPACK_PACKAGE_VENDOR "The pesuite authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${PESUITE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_RELEASE 0local1) # before any that Debian may make
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SOURCE pesuite)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian.cmake)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY OFF) # CPack would put it before each package's own
set(same "pesuite (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# package(COMPONENT NAME SECTION DEPENDS SUMMARY TEXT): lines of TEXT in CPack's way.
macro(package component name section depends summary text)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${text}")
endmacro()

set(what "pesuite trains small language models that differ only in their positional
encoding, evaluates them at growing lengths, and writes records, tables and
figures.")
package(program pesuite science "" "benchmark of positional encodings of transformers" "${what}
.
This package has the program, its encodings and tasks, and suites.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "gnuplot-nox | gnuplot")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "pesuite-dev, pesuite-doc, pesuite-mpi, pesuite-tests")
package(development pesuite-dev libdevel "${same}, g++" "headers for encodings and tasks of one's own" "${what}
.
This package has the headers, the CMake package and the templates with which
further encodings and tasks are written.")
package(documentation pesuite-doc doc "" "documentation and results of pesuite" "${what}
.
This package has pages on suites, records, statistics, encodings and tasks, and
the records and figures of published findings that were run again.")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
package(tests pesuite-tests science "${same}" "tests of an installation of pesuite" "${what}
.
This package has vectors of public reference code, and lets 'pesuite test' hold
the installed program against them.")
set(CPACK_DEBIAN_TESTS_PACKAGE_ARCHITECTURE all)
if(PESUITE_HAS_MPI)
  package(mpi pesuite-mpi science "${same}, openmpi-bin" "pesuite over several processes" "${what}
.
This package has the part with which processes train one model together.")
endif()
if(PESUITE_HAS_CUDA)
  # The toolkit and cuDNN are not of Debian: dpkg-shlibdeps does not know who has their libraries.
  package(cuda pesuite-cuda science "${same}, libc6" "pesuite on NVIDIA devices" "${what}
.
This package has the part that computes on NVIDIA devices. It needs CUDA 13
and cuDNN 9, which Debian does not have.")
  set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS OFF)
endif()
include(CPack)
