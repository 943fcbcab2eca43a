// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_file.hpp"

#include "sim/base/gzip.hpp"
#include "workloads/formats/graph_dot.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/formats/graph_text.hpp"
#include "workloads/formats/stg.hpp"
#include "workloads/traces/chakra_ranks.hpp"
#include "workloads/traces/foreign_graph.hpp"
#include "workloads/transforms/renumber.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

TaskGraph read(const std::string& bytes, const std::filesystem::path& path) {
  const std::string name = path.string();
  const std::string extension = path.extension().string();
  if (foreign_format(bytes, name) != ForeignFormat::none) {
    return read_foreign_graph(bytes, name).graph;
  }
  if (extension == ".json") return read_graph_json(bytes, name);
  if (extension == ".stg") return read_stg(bytes, name);
  if (extension == ".dot" || extension == ".gv") return read_dot(bytes, name);
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && bytes[start] == '{') {
    return read_graph_json(bytes, name);
  }
  if (is_graph_text(bytes)) return read_graph_text(bytes, name);
  if (is_dot(bytes)) return read_dot(bytes, name);
  return read_stg(bytes, name);
}

}  // namespace

TaskGraph read_graph_file(const std::filesystem::path& path) {
  if (is_rank_pattern(path) && !std::filesystem::exists(path)) {
    return read_chakra_ranks(files_of_ranks(path)).joined.graph;
  }
  TaskGraph graph = read(read_file_or_gzip(path), path);
  return graph.topologically_numbered() ? std::move(graph) : TopologicalRenumber{}.apply(graph);
}

}  // namespace schedlab
