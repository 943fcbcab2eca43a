// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/input_content.hpp"

#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "workloads/formats/graph_dot.hpp"
#include "workloads/formats/graph_text.hpp"
#include "workloads/traces/foreign_graph.hpp"

#include <filesystem>

namespace schedlab {
namespace {

/// Enough of it to see what a file of ours says in its first line.
std::string beginning_of(const std::string& file) {
  const auto source = open_file_or_gzip(file);
  std::string text(4096, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t got = source->read(text.data() + size, text.size() - size);
    if (got == 0) break;
    size += got;
  }
  text.resize(size);
  return text;
}

/// No JSON: our compact text, DOT, or a Standard Task Graph Set file, which starts with a number.
bool is_graph(const std::string& text, const std::string& file, char first) {
  const std::string extension = std::filesystem::path{file}.extension().string();
  return extension == ".stg" || extension == ".dot" || extension == ".gv" ||
         (first >= '0' && first <= '9') || is_graph_text(text) || is_dot(text);
}

void expect_no_spec(const std::string& text, const std::string& file) {
  if (!is_spec_text(text)) return;
  throw InputError({.file = file,
                    .pointer = {},
                    .found = "a spec",
                    .expected = "what was recorded or simulated, or a graph",
                    .hint = "schedlab simulate it, and give the folder that this writes"});
}

}  // namespace

bool is_spec_text(std::string_view text) {
  const auto has = [&](const char* key) { return text.find(key) != std::string_view::npos; };
  return has("\"workload\"") && has("\"machine\"") && !has("\"traceEvents\"");
}

InputContent input_content(const std::string& file) {
  if (std::filesystem::is_directory(file)) return InputContent::own_trace;
  const auto source = open_file_or_gzip(file);
  switch (foreign_format(*source, file)) {
    case ForeignFormat::own_trace:
      return InputContent::own_trace;
    case ForeignFormat::profile:
      return InputContent::profile;
    case ForeignFormat::chakra_binary:
      return InputContent::chakra_binary;
    case ForeignFormat::none:
      break;
    default:
      return InputContent::foreign_graph;
  }
  const std::string text = beginning_of(file);
  const std::size_t start = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (start == std::string::npos) return InputContent::unknown;
  if (text[start] == '[') return InputContent::profile;  // a list of events
  if (text[start] == '{') {
    expect_no_spec(text, file);
    const bool ours = text.find("\"schedlab\"") != std::string::npos;
    return ours ? InputContent::graph_file : InputContent::profile;
  }
  return is_graph(text, file, text[start]) ? InputContent::graph_file : InputContent::unknown;
}

}  // namespace schedlab
