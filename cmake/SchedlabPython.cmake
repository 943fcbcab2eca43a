# SPDX-License-Identifier: Apache-2.0
# Finds what the Python package is built with: an interpreter that has NumPy, its headers, pybind11. Sets
# SCHEDLAB_PYTHON_usable, SCHEDLAB_PYTHON_found (versions) and Python_EXECUTABLE, which may be given.

set(SCHEDLAB_PYTHON_usable FALSE)
if(NOT Python_EXECUTABLE)
  # The first one on the path may be another than the system's, and have no NumPy.
  find_program(SCHEDLAB_PYTHON_ON_PATH NAMES python3)
  mark_as_advanced(SCHEDLAB_PYTHON_ON_PATH)
  foreach(candidate IN ITEMS "${SCHEDLAB_PYTHON_ON_PATH}" /usr/bin/python3)
    execute_process(COMMAND "${candidate}" -c "import numpy" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(Python_EXECUTABLE "${candidate}")
      break()
    endif()
  endforeach()
endif()

if(Python_EXECUTABLE)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  set(PYBIND11_FINDPYTHON ON)
  if(Python_FOUND)
    find_package(pybind11 2.10 QUIET CONFIG)
  endif()
  if(pybind11_FOUND)
    set(SCHEDLAB_PYTHON_usable TRUE)
    set(SCHEDLAB_PYTHON_found "Python ${Python_VERSION}, pybind11 ${pybind11_VERSION}")
  endif()
endif()
