# Debian packages by CPack: `oncekey` (program, service, configuration, documents) and, for those who
# link the library, `liboncekey-dev`. `./dev package` makes them.
set(documents README.md CHANGELOG.md oncekey.example.toml)
file(GLOB pages CONFIGURE_DEPENDS docs/*.md)
install(FILES ${documents} ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES packaging/deb/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES packaging/deb/copyright DESTINATION share/doc/liboncekey-dev COMPONENT library)
install(FILES packaging/oncekey.service DESTINATION lib/systemd/system COMPONENT program)
install(FILES packaging/oncekey.toml DESTINATION /etc/oncekey COMPONENT program)

# Manual pages and completions: with every whole build, and for certain before they are installed.
set(write_manual ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:oncekey> -DFOLDER=${CMAKE_BINARY_DIR}
  -P ${CMAKE_SOURCE_DIR}/cmake/manual.cmake)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/oncekey.1 COMMAND ${write_manual}
  DEPENDS oncekey cmake/manual.cmake VERBATIM)
add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/man/oncekey.1)
list(JOIN write_manual " " install_manual)
install(CODE "execute_process(COMMAND ${install_manual} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/packed/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
set(completions ${CMAKE_BINARY_DIR}/completions)
install(FILES ${completions}/oncekey.bash RENAME oncekey
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${completions}/_oncekey
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${completions}/oncekey.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME oncekey)
set(CPACK_PACKAGE_VENDOR Oncekey)
set(CPACK_PACKAGE_CONTACT "The Oncekey maintainers <maintainers@oncekey.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program library)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME oncekey)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
  "${CMAKE_SOURCE_DIR}/packaging/deb/postinst;${CMAKE_SOURCE_DIR}/packaging/deb/prerm"
  "${CMAKE_SOURCE_DIR}/packaging/deb/postrm;${CMAKE_SOURCE_DIR}/packaging/deb/conffiles")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"gateway that makes state-changing HTTP APIs safe to retry
A client whose POST timed out cannot know whether it ran. With Oncekey in front
of the service it sends the request again under the same Idempotency-Key: the
work runs at most once, and every retry gets the first answer.

The store is embedded (RocksDB, SQLite) or shared (PostgreSQL, Redis). Beside
the gateway there are a worker that delivers a transactional outbox, and checks
of whether an API is safe to retry.")

# By whom the https of upstreams, probes and sinks is believed.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ca-certificates)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME liboncekey-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
  "libpq-dev, libsqlite3-dev, libsimdjson-dev, libssl-dev, libzstd-dev")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"library that makes a service's own operations safe to retry
Static archive, headers, and packages for CMake and pkg-config: the key, its
fingerprint and its answer inside a service's own SQLite or PostgreSQL
transaction, workflows with recovery points, outbox, inbox, and a client.")
include(CPack)
