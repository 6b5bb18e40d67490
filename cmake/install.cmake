# What an installation holds besides the program and its plugins: licence, documentation, suites,
# plots and schemas, and for authors of plugins the package that find_package(pesuite) finds.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pesuite)

install(DIRECTORY suites plots templates DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite OPTIONAL)
install(FILES docs/measured.json DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite)
install(FILES LICENSE README.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY core/schemas/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pesuite/schemas
        FILES_MATCHING PATTERN "*.schema.json")
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
