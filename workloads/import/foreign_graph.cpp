// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/foreign_graph.hpp"

#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "workloads/import/foreign_readers.hpp"
#include "workloads/import/json_pieces.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace schedlab {

std::string_view to_string(ForeignFormat format) {
  switch (format) {
    case ForeignFormat::execution_trace:
      return "execution_trace";
    case ForeignFormat::chakra_graph:
      return "chakra_graph";
    case ForeignFormat::wfformat:
      return "wfformat";
    case ForeignFormat::profile:
      return "profile";
    default:
      return "none";
  }
}

ForeignFormat foreign_format(std::string_view text, const std::string& file) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return ForeignFormat::none;
  std::set<std::string, std::less<>> keys;
  TextSource source{text};
  detail::JsonPieces members{source,
                             file,
                             "traceEvents",
                             detail::JsonPieces::default_batch,
                             std::max(text.size(), detail::JsonPieces::default_batch)};
  try {
    detail::JsonPiece member;
    while (members.next(member)) {
      if (members.found_list()) return ForeignFormat::profile;
      if (member.key == "schedlab") return ForeignFormat::none;
      keys.emplace(member.key);
    }
  } catch (const InputError&) {
    if (keys.contains("schema") || keys.contains("schemaVersion")) throw;
    return ForeignFormat::none;
  }
  // Many a JSON has "nodes"; an execution trace says its schema as well.
  if (keys.contains("nodes") && keys.contains("schema")) return ForeignFormat::execution_trace;
  if (keys.contains("workload_graph")) return ForeignFormat::chakra_graph;
  if (keys.contains("workflow")) return ForeignFormat::wfformat;
  return members.found_list() ? ForeignFormat::profile : ForeignFormat::none;
}

ForeignGraph read_foreign_graph(std::string_view text, const std::string& file) {
  ForeignGraph foreign{.format = foreign_format(text, file), .graph = {}, .problems = {}};
  detail::GraphDraft draft{file, text.size(), foreign.problems};
  switch (foreign.format) {
    case ForeignFormat::execution_trace:
      detail::read_execution_trace(text, draft);
      break;
    case ForeignFormat::chakra_graph:
      detail::read_chakra_graph(text, draft);
      break;
    case ForeignFormat::wfformat:
      detail::read_wfformat(text, draft);
      break;
    default:
      throw InputError({.file = file,
                        .pointer = {},
                        .found = foreign.format == ForeignFormat::profile
                                     ? "a profile, which has times but says no dependencies"
                                     : "something else",
                        .expected = "an execution trace, a Chakra graph or a WfFormat file",
                        .hint = foreign.format == ForeignFormat::profile
                                    ? "schedlab import reads profiles"
                                    : ""});
  }
  foreign.graph = std::move(draft).finish();
  return foreign;
}

ForeignGraph read_foreign_graph(const std::filesystem::path& path) {
  return read_foreign_graph(read_file_or_gzip(path), path.string());
}

}  // namespace schedlab
