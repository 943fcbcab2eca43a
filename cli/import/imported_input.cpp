// SPDX-License-Identifier: Apache-2.0
#include "cli/import/imported_input.hpp"

#include "cli/trace_input.hpp"
#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "workloads/graph_file.hpp"
#include "workloads/import/kineto.hpp"
#include "workloads/import/own_trace.hpp"

#include <filesystem>
#include <string_view>

namespace schedlab {
namespace {

constexpr std::size_t looked_at = std::size_t{1} << 16U;

enum class Content { profile, own_trace, foreign_graph, graph_file };

std::string beginning_of(const std::string& file) {
  const auto source = open_file_or_gzip(file);
  std::string text(looked_at, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t got = source->read(text.data() + size, text.size() - size);
    if (got == 0) break;
    size += got;
  }
  text.resize(size);
  return text;
}

/// A profile may be larger than the memory, so that only its beginning is looked at; JSON that says
/// nothing there is taken for one.
Content content_of(const std::string& file) {
  if (std::filesystem::is_directory(file)) return Content::own_trace;
  const std::string text = beginning_of(file);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const std::size_t start = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (start == std::string::npos || (text[start] != '{' && text[start] != '[')) {
    return Content::graph_file;
  }
  if (has("\"schedlab\"")) return has("\"traceEvents\"") ? Content::own_trace : Content::graph_file;
  if (has("\"traceEvents\"") || text[start] == '[') return Content::profile;
  const bool graph =
      has("\"workload_graph\"") || has("\"workflow\"") || (has("\"nodes\"") && has("\"schema\""));
  return graph ? Content::foreign_graph : Content::profile;
}

void load_graph(const std::string& file, Content content, ImportedInput& input) {
  input.graph_file = file;
  if (content == Content::foreign_graph) {
    input.graph = read_foreign_graph(std::filesystem::path{file});
  } else {
    input.graph.graph = read_graph_file(file);
  }
}

}  // namespace

ImportedInput load_imported_input(const std::vector<std::string>& files) {
  ImportedInput input;
  std::vector<std::filesystem::path> profiles;
  for (const std::string& file : files) {
    const Content content = content_of(file);
    if (content == Content::profile) {
      profiles.emplace_back(file);
    } else if (files.size() > 1) {
      throw InputError(
          {.file = file,
           .pointer = {},
           .found = "no profile",
           .expected = "profiles of the ranks of one run where there are several files",
           .hint = "import it alone"});
    } else if (content == Content::own_trace) {
      input.ranks.push_back(imported_from(load_trace(file), file));
    } else {
      load_graph(file, content, input);
    }
  }
  if (profiles.size() == 1) input.ranks.push_back(read_kineto(profiles.front()));
  if (profiles.size() > 1) input.ranks = read_kineto_ranks(profiles);
  return input;
}

}  // namespace schedlab
