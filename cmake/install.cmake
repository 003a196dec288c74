# The library as others use it: one archive, its headers, a package for find_package(oncekey) and one
# for pkg-config. `cmake --install BUILD --component library` puts them into place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(oncekey_library STATIC
  $<TARGET_OBJECTS:oncekey_boundary> $<TARGET_OBJECTS:oncekey_transaction>
  $<TARGET_OBJECTS:oncekey_workflow> $<TARGET_OBJECTS:oncekey_http> $<TARGET_OBJECTS:oncekey_client>)
set_target_properties(oncekey_library PROPERTIES
  OUTPUT_NAME oncekey EXPORT_NAME oncekey LINKER_LANGUAGE CXX)
target_compile_features(oncekey_library INTERFACE cxx_std_20)
target_link_libraries(oncekey_library INTERFACE
  OpenSSL::SSL simdjson::simdjson Threads::Threads pq sqlite3 zstd)

install(TARGETS oncekey_library EXPORT oncekeyTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/oncekey DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/oncekey)
install(EXPORT oncekeyTargets NAMESPACE oncekey:: DESTINATION ${package_directory} COMPONENT library)
configure_package_config_file(cmake/oncekeyConfig.cmake.in ${CMAKE_BINARY_DIR}/oncekeyConfig.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/oncekeyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/oncekeyConfig.cmake ${CMAKE_BINARY_DIR}/oncekeyConfigVersion.cmake
  DESTINATION ${package_directory} COMPONENT library)

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/oncekey.pc.in ${CMAKE_BINARY_DIR}/oncekey.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/oncekey.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

install(TARGETS oncekey RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
