# SPDX-License-Identifier: Apache-2.0
# Writes a source file that holds other files as text, so that an installed program has them.
#   cmake -DOUTPUT=<file.cpp> -DFILES=<a.py,b.js,...> -P embed_texts.cmake
cmake_minimum_required(VERSION 3.25)

set(text "// Generated from notebooks/ and scripts/ by embed_texts.cmake.\n")
string(APPEND text "#include \"notebooks_export/embedded_texts.hpp\"\n\nnamespace schedlab {\n\n")
string(APPEND text "const std::vector<EmbeddedText>& embedded_texts() {\n")
string(APPEND text "  static const std::vector<EmbeddedText> texts{\n")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" content)
  string(APPEND text "      {\"${name}\", R\"file(${content})file\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace schedlab\n")
file(WRITE "${OUTPUT}" "${text}")
