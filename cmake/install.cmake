# What an installation holds besides the program and its plugins: licence, documentation, suites,
# plots and schemas, and for authors of plugins the package that find_package(pesuite) finds.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pesuite)

install(DIRECTORY suites plots DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite OPTIONAL)
install(FILES bindings/pesuite.py bindings/example.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite/python)
install(FILES docs/measured.json DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite)
install(FILES LICENSE README.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(DIRECTORY core/schemas/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite/schemas
        FILES_MATCHING PATTERN "*.schema.json")

# Man pages, by the program itself, and what lets shells ask it for the next word.
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:pesuite>
  -DFOLDER=${CMAKE_BINARY_DIR}/manual -P ${CMAKE_SOURCE_DIR}/cmake/manual.cmake
  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(completions core/cli/completions)
install(FILES ${completions}/pesuite.bash RENAME pesuite
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/_pesuite DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/pesuite.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Reference vectors and what runs them: installed where they are asked for, as component tests.
install(DIRECTORY tests/golden DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite/tests
        COMPONENT tests EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.json" PATTERN "*.toml")
install(PROGRAMS tests/installed.sh RENAME run COMPONENT tests EXCLUDE_FROM_ALL
        DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite/tests)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY templates DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite)
configure_file(cmake/pesuite.pc.in pesuite.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/pesuite.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(DIRECTORY core/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set_target_properties(pesuite_sdk PROPERTIES EXPORT_NAME sdk)
install(TARGETS pesuite_sdk EXPORT pesuiteTargets)
install(EXPORT pesuiteTargets NAMESPACE pesuite:: DESTINATION ${package})
configure_package_config_file(cmake/pesuiteConfig.cmake.in pesuiteConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(pesuiteConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES cmake/plugins.cmake cmake/plugin.map ${CMAKE_BINARY_DIR}/pesuiteConfig.cmake
              ${CMAKE_BINARY_DIR}/pesuiteConfigVersion.cmake DESTINATION ${package})

# The same package for the build tree: -DCMAKE_PREFIX_PATH=build needs no installation.
export(EXPORT pesuiteTargets NAMESPACE pesuite:: FILE ${CMAKE_BINARY_DIR}/pesuiteTargets.cmake)
configure_file(cmake/plugins.cmake ${CMAKE_BINARY_DIR}/plugins.cmake COPYONLY)
configure_file(cmake/plugin.map ${CMAKE_BINARY_DIR}/plugin.map COPYONLY)
