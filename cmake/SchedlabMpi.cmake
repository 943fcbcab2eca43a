# SPDX-License-Identifier: Apache-2.0
# How tests start ranks: also as root, also with fewer cores than ranks, without a remote shell.
set(SCHEDLAB_MPIRUN
    "${MPIEXEC_EXECUTABLE}"
    --allow-run-as-root
    --oversubscribe
    --bind-to
    none
    --mca
    plm
    isolated
    --mca
    mpi_yield_when_idle
    1)

# schedlab_add_mpi_test(<name> RANKS <n> COMMAND <command>...): a ctest entry that runs on ranks. 77 means skipped.
function(schedlab_add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS;TIMEOUT" "COMMAND")
  schedlab_is_wanted(wanted "mpi")
  if(NOT wanted)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${SCHEDLAB_MPIRUN} -n ${arg_RANKS} ${arg_COMMAND} WORKING_DIRECTORY
                                                                                   "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
