include(GNUInstallDirs)

# pesuite_plugin(NAME source...): a library of encodings or tasks in the build tree's plugin folder,
# installed where the program looks for plugins. It links the SDK's headers and nothing of the core.
# Inside pesuite and, after find_package(pesuite), outside it.
function(pesuite_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE pesuite::sdk $<TARGET_NAME_IF_EXISTS:pesuite_flags>)
  # Contraction would make tables and generators depend on the machine.
  target_compile_options(${name} PRIVATE -ffp-contract=off)
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".plugin.so"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  # Beside the library: how golden vectors are spelled for its encodings, what can be searched.
  list(GET ARGN 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  foreach(data golden search)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${data}.toml)
    if(found)
      configure_file(${found} ${CMAKE_BINARY_DIR}/plugins/${name}.${data}.toml COPYONLY)
      install(FILES ${found} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pesuite/plugins
              RENAME ${name}.${data}.toml)
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY PESUITE_PLUGINS ${name})
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pesuite/plugins)
endfunction()
