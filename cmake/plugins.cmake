include(GNUInstallDirs)
option(PESUITE_MANIFESTS "Have pesuite load each plugin library that is built and write its manifest" ON)

# pesuite_plugin(NAME source...): a library of encodings or tasks in the build tree's plugin folder,
# installed where the program looks for plugins, with its manifest beside it. It links the SDK's
# headers and nothing of the core.
# Inside pesuite and, after find_package(pesuite), outside it.
function(pesuite_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE pesuite::sdk $<TARGET_NAME_IF_EXISTS:pesuite_flags>)
  # Contraction would make tables and generators depend on the machine.
  target_compile_options(${name} PRIVATE -ffp-contract=off)
  if(TARGET pesuite_plugin_headers) # inside pesuite
    target_precompile_headers(${name} REUSE_FROM pesuite_plugin_headers)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  # The build id tells builds apart, also stripped ones: a manifest says which one it is of.
  target_link_options(${name} PRIVATE -Wl,--build-id=sha1
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
  if(PESUITE_MANIFESTS)
    pesuite_manifest(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY PESUITE_PLUGINS ${name})
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pesuite/plugins)
endfunction()

# What the library offers, from its own descriptors; written again when what writes it is new.
function(pesuite_manifest name)
  set(writer pesuite::program)
  set(write pesuite::program plugin manifest)
  if(TARGET write_manifest) # inside pesuite
    set(writer write_manifest)
    set(write write_manifest)
  endif()
  set(manifest ${CMAKE_BINARY_DIR}/plugins/${name}.plugin.toml)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${writer}>)
  add_custom_command(TARGET ${name} POST_BUILD COMMAND ${write} $<TARGET_FILE:${name}>
                     BYPRODUCTS ${manifest} VERBATIM)
  install(FILES ${manifest} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pesuite/plugins)
endfunction()
