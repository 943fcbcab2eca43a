# SPDX-License-Identifier: Apache-2.0
# Writes a source file with a function that returns the files as text, so that an installed program has them.
#   cmake -DOUTPUT=<file.cpp> -DFUNCTION=<name> -DSPECS=<a.json,b.json,...> -P embed_machines.cmake
cmake_minimum_required(VERSION 3.25)

set(text "// Generated from the machine files by embed_machines.cmake.\n")
string(APPEND text "#include \"hw_models/machine_texts.hpp\"\n\nnamespace schedlab {\n\n")
string(APPEND text "const std::vector<MachineText>& ${FUNCTION}() {\n")
string(APPEND text "  static const std::vector<MachineText> texts{\n")
string(REPLACE "," ";" specs "${SPECS}")
foreach(spec IN LISTS specs)
  get_filename_component(name "${spec}" NAME_WE)
  file(READ "${spec}" content)
  string(APPEND text "      {\"${name}\", R\"machine(${content})machine\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace schedlab\n")
file(WRITE "${OUTPUT}" "${text}")
