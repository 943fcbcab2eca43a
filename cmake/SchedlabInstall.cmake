# SPDX-License-Identifier: Apache-2.0
# Install rules and the package that find_package(schedlab) finds.

include(CMakePackageConfigHelpers)
set(SCHEDLAB_PACKAGE_DIR lib/cmake/schedlab)

if(TARGET schedlab_sim)
  install(
    EXPORT schedlabTargets
    NAMESPACE schedlab::
    DESTINATION ${SCHEDLAB_PACKAGE_DIR})
  configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/schedlabConfig.cmake.in"
                                "${PROJECT_BINARY_DIR}/schedlabConfig.cmake" INSTALL_DESTINATION ${SCHEDLAB_PACKAGE_DIR})
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/schedlabConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  if(SCHEDLAB_WITH_ONEDNN)
    install(FILES "${CMAKE_CURRENT_LIST_DIR}/FindoneDNN.cmake" DESTINATION ${SCHEDLAB_PACKAGE_DIR})
  endif()
  install(FILES "${PROJECT_BINARY_DIR}/schedlabConfig.cmake" "${PROJECT_BINARY_DIR}/schedlabConfigVersion.cmake"
          DESTINATION ${SCHEDLAB_PACKAGE_DIR})
endif()

# The pages and the specs that they name, for users without a checkout.
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/experiments"
  DESTINATION share/doc/schedlab
  COMPONENT program)
install(
  FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION share/doc/schedlab
  COMPONENT program)
install(
  FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION share/doc/schedlab
  RENAME copyright
  COMPONENT program)

# `cpack -G DEB` and `cpack -G TGZ` in a build folder: the program, without libraries and headers.
set(CPACK_PACKAGE_NAME schedlab)
set(CPACK_PACKAGE_VENDOR SchedLab)
set(CPACK_PACKAGE_CONTACT "SchedLab developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "scheduling simulator and cost models for operator graphs on accelerators")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox, librsvg2-bin")
set(CPACK_VERBATIM_VARIABLES ON)
if(PROJECT_IS_TOP_LEVEL)
  include(CPack)
endif()
