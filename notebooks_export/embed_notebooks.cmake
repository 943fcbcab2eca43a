# SPDX-License-Identifier: Apache-2.0
# Writes a source file that holds the cells of notebooks as text, so that an installed program has them.
#   cmake -DOUTPUT=<file.cpp> -DNOTEBOOKS=<a.py,b.py,...> -P embed_notebooks.cmake
cmake_minimum_required(VERSION 3.25)

set(text "// Generated from notebooks/ by embed_notebooks.cmake.\n")
string(APPEND text "#include \"notebooks_export/notebook_texts.hpp\"\n\nnamespace schedlab {\n\n")
string(APPEND text "const std::vector<NotebookText>& notebook_texts() {\n")
string(APPEND text "  static const std::vector<NotebookText> texts{\n")
string(REPLACE "," ";" notebooks "${NOTEBOOKS}")
foreach(notebook IN LISTS notebooks)
  get_filename_component(name "${notebook}" NAME_WE)
  file(READ "${notebook}" content)
  string(APPEND text "      {\"${name}\", R\"cells(${content})cells\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace schedlab\n")
file(WRITE "${OUTPUT}" "${text}")
