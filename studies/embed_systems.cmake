# SPDX-License-Identifier: Apache-2.0
# Writes a source file that holds the system files as text, so that an installed program has them.
#   cmake -DOUTPUT=<file.cpp> -DSYSTEMS=<a.json,b.json,...> -P embed_systems.cmake
cmake_minimum_required(VERSION 3.25)

set(text "// Generated from the system files by embed_systems.cmake.\n")
string(APPEND text "#include \"studies/reproduction/published_system.hpp\"\n\nnamespace schedlab {\n\n")
string(APPEND text "const std::vector<SystemText>& system_texts() {\n")
string(APPEND text "  static const std::vector<SystemText> texts{\n")
string(REPLACE "," ";" systems "${SYSTEMS}")
foreach(system IN LISTS systems)
  get_filename_component(name "${system}" NAME_WE)
  file(READ "${system}" content)
  string(APPEND text "      {\"${name}\", R\"system(${content})system\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace schedlab\n")
file(WRITE "${OUTPUT}" "${text}")
