# Run by cpack between installation and packing: what Debian's policy wants of each package beyond
# what an installation has, in CPACK_TEMPORARY_DIRECTORY/COMPONENT.
find_program(gzip gzip REQUIRED)
list(GET CPACK_BUILD_SOURCE_DIRS 0 source)
function(compress)
  if(ARGN)
    execute_process(COMMAND ${gzip} -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

# Of the commit that is packed: the same commit gives the same package.
execute_process(COMMAND git -C ${source} log -1 --format=%cD OUTPUT_VARIABLE date
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  execute_process(COMMAND date -R OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

file(READ ${source}/LICENSE license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" ignored "${license}")
set(holder ${CMAKE_MATCH_1})
string(REGEX REPLACE "^.*Copyright \\(c\\) [^\n]*\n\n" "" license "${license}")
string(STRIP "${license}" license)
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(doc ${usr}/share/doc/${name})
  file(GLOB pages ${usr}/share/man/man1/*.1)
  compress(${pages})
  file(GLOB parts ${usr}/lib/pesuite/backends/*.so)
  foreach(part ${parts}) # what they need lies where ldconfig finds it
    file(RPATH_REMOVE FILE ${part})
  endforeach()
  file(REMOVE ${usr}/share/doc/pesuite/LICENSE) # Debian has it in copyright
  if(IS_DIRECTORY ${usr}/share/zsh/site-functions) # which Debian leaves to the administrator
    file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
  endif()
  file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pesuite

Files: *
Copyright: ${holder}
License: Expat

License: Expat
 ${license}
")
  file(WRITE ${doc}/changelog.Debian
"pesuite (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packed from its sources.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
  compress(${doc}/changelog.Debian)
endforeach()
