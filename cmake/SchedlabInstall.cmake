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
