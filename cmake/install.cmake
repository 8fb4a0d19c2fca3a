# Files that `cmake --install` and the packages install.
install(TARGETS muster muster-bench RUNTIME)
if(TARGET muster_mpi)
  # Next to the program's folder, where it looks for the module, not in a system library folder.
  install(TARGETS muster_mpi LIBRARY DESTINATION lib/muster COMPONENT mpi)
  install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc\")
file(CREATE_LINK muster \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/muster-mpi\" SYMBOLIC)"
    COMPONENT mpi)
endif()
install(FILES deploy/kubernetes/chart/files/muster.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/muster/node-problem-detector)
install(FILES deploy/observability/muster-board.json deploy/observability/muster-rules.yaml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/muster/observability)
foreach(program muster muster-bench)
  install(FILES ${CMAKE_BINARY_DIR}/docs/${program}.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()
set(MUSTER_CONTACT "The muster authors <muster@example.org>" CACHE STRING "Maintainer named in packages")
set(MUSTER_HOMEPAGE "https://example.org/muster" CACHE STRING "Address named in packages")
# Man pages; Slurm's hooks, jobs and systemd's units; the site's settings; the LBNL NHC plug-in and its configuration,
# which a site links or copies to /etc/nhc. Profiles are built into the programs.
install(CODE "set(muster_source \"${CMAKE_SOURCE_DIR}\")
set(muster_build \"${CMAKE_BINARY_DIR}\")
set(muster_man \"${CMAKE_INSTALL_MANDIR}\")
set(muster_bin \"${CMAKE_INSTALL_BINDIR}\")
set(muster_libexec \"${CMAKE_INSTALL_LIBEXECDIR}\")
set(muster_data \"${CMAKE_INSTALL_DATADIR}\")
set(muster_version \"${PROJECT_VERSION}\")
set(muster_contact \"${MUSTER_CONTACT}\")")
install(SCRIPT cmake/install_scripts.cmake)
install(FILES slurm/systemd/muster-sweep.timer DESTINATION lib/systemd/system)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES CHANGELOG.md deploy/packages/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR "The muster authors")
set(CPACK_PACKAGE_CONTACT "${MUSTER_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Inspects GPU cluster nodes and says what is unfit")
set(CPACK_PACKAGE_DESCRIPTION "muster observes a node of a GPU cluster without loading it, judges what it
saw by the profile of its hardware, and reports what is wrong and what to do.
muster-bench runs collectives over several nodes and judges their bandwidth.")
set(CPACK_COMPONENT_UNSPECIFIED_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
string(TOLOWER "${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
if(NOT CPACK_GENERATOR)
  set(CPACK_GENERATOR DEB)
endif()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${MUSTER_HOMEPAGE}")
# The MPI back end is a separate package, because a node that runs NCCL does not need Open MPI.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME muster)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "muster-mpi, libibverbs1")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/deploy/packages/prerm ${CMAKE_SOURCE_DIR}/deploy/packages/postrm
  ${CMAKE_SOURCE_DIR}/deploy/packages/conffiles)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME muster-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "muster (= ${PROJECT_VERSION}), libc6 (>= 2.34)")
if(MUSTER_SELF_CONTAINED)  # for any release's Open MPI, and HPC-X's, which has no package
  set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "libopenmpi3 | libopenmpi3t64 | libopenmpi40")
endif()
set(CPACK_COMPONENT_MPI_DESCRIPTION
  "A module that muster-bench loads to run collectives in host memory over\nOpen MPI.")

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT Unspecified)
set(CPACK_RPM_MPI_PACKAGE_NAME muster-mpi)
set(CPACK_RPM_MPI_PACKAGE_REQUIRES "muster = ${PROJECT_VERSION}")
set(CPACK_RPM_MPI_PACKAGE_AUTOREQ OFF)  # RHEL's Open MPI and HPC-X are in folders that no package names
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_RPM_SPEC_MORE_DEFINE "Packager: ${MUSTER_CONTACT}")
set(CPACK_RPM_PACKAGE_URL "${MUSTER_HOMEPAGE}")
set(CPACK_RPM_UNSPECIFIED_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/deploy/packages/prerm)
set(CPACK_RPM_UNSPECIFIED_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/deploy/packages/postrm)
set(CPACK_RPM_UNSPECIFIED_USER_FILELIST "%config(noreplace) /etc/muster/muster.yaml")
set(CPACK_RPM_PACKAGE_GROUP "Applications/System")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /etc /usr/lib/systemd /usr/lib/systemd/system /usr/share/man /usr/share/man/man1 /usr/share/bash-completion /usr/share/bash-completion/completions)

include(CPack)
