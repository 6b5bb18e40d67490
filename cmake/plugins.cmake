# pesuite_plugin(NAME source...): a library of encodings or tasks in the build tree's plugin folder,
# installed beside the program's others. It links the SDK's headers and nothing of the core.
function(pesuite_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE pesuite_sdk pesuite_flags)
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/plugin.map)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX ".plugin.so"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pesuite/plugins)
endfunction()
