// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/foreign_graph.hpp"

#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "workloads/traces/chakra_nodes.hpp"
#include "workloads/traces/foreign_readers.hpp"
#include "workloads/traces/json_pieces.hpp"

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
    case ForeignFormat::chakra_binary:
      return "chakra_binary";
    case ForeignFormat::wfformat:
      return "wfformat";
    case ForeignFormat::profile:
      return "profile";
    case ForeignFormat::own_trace:
      return "own_trace";
    default:
      return "none";
  }
}

namespace {

constexpr std::size_t looked_at = std::size_t{1} << 16U;  // of what may be binary, or very long
constexpr std::size_t longest_passed_over = std::size_t{4} << 20U;  // assumed: lists are longer

/// Bytes that were read already, and then the rest.
class PushedBack final : public ByteSource {
 public:
  PushedBack(std::string_view first, ByteSource& rest) : first_(first), rest_(&rest) {}
  [[nodiscard]] std::size_t read(char* to, std::size_t capacity) override {
    if (first_.empty()) return rest_->read(to, capacity);
    const std::size_t size = first_.copy(to, capacity);
    first_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view first_;
  ByteSource* rest_;
};

/// Of a JSON object, by its outermost keys.
ForeignFormat format_by_keys(ByteSource& source, const std::string& file, std::size_t longest) {
  std::set<std::string, std::less<>> keys;
  bool own = false;
  detail::JsonPieces members{
      source, file, "traceEvents", detail::JsonPieces::default_batch, longest};
  try {
    detail::JsonPiece member;
    while (members.next(member)) {
      if (members.found_list()) break;
      own = own || (member.key == "otherData" &&
                    member.text.find("\"schedlab\"") != std::string_view::npos);
      if (member.key == "schedlab") return ForeignFormat::none;
      keys.emplace(member.key);
    }
  } catch (const InputError&) {
    if (keys.contains("schema") || keys.contains("schemaVersion")) throw;
    return ForeignFormat::none;
  }
  if (members.found_list()) return own ? ForeignFormat::own_trace : ForeignFormat::profile;
  // Many a JSON has "nodes"; an execution trace says its schema as well.
  if (keys.contains("nodes") && keys.contains("schema")) return ForeignFormat::execution_trace;
  if (keys.contains("workload_graph")) return ForeignFormat::chakra_graph;
  if (keys.contains("workflow")) return ForeignFormat::wfformat;
  return ForeignFormat::none;
}

/// By the words at the beginning: of a file with a value too long to be passed over.
ForeignFormat format_by_words(std::string_view beginning) {
  const auto has = [&](std::string_view word) {
    return beginning.find(word) != std::string_view::npos;
  };
  if (has("\"schedlab\"")) return ForeignFormat::none;
  if (has("\"workload_graph\"")) return ForeignFormat::chakra_graph;
  if (has("\"nodes\"") && has("\"schema\"")) return ForeignFormat::execution_trace;
  return has("\"workflow\"") ? ForeignFormat::wfformat : ForeignFormat::none;
}

}  // namespace

ForeignFormat foreign_format(std::string_view text, const std::string& file) {
  if (detail::is_chakra_binary(text.substr(0, looked_at))) return ForeignFormat::chakra_binary;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return ForeignFormat::none;
  TextSource source{text};
  return format_by_keys(source, file, std::max(text.size(), detail::JsonPieces::default_batch));
}

ForeignFormat foreign_format(ByteSource& source, const std::string& file) {
  std::string first(looked_at, '\0');
  std::size_t size = 0;
  while (size < first.size()) {
    const std::size_t got = source.read(first.data() + size, first.size() - size);
    if (got == 0) break;
    size += got;
  }
  first.resize(size);
  if (detail::is_chakra_binary(first)) return ForeignFormat::chakra_binary;
  const std::size_t start = first.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (start == std::string::npos || first[start] != '{') return ForeignFormat::none;
  PushedBack whole{first, source};
  const ForeignFormat words =
      first.size() == looked_at ? format_by_words(first) : ForeignFormat::none;
  try {
    const ForeignFormat keys = format_by_keys(whole, file, longest_passed_over);
    return keys == ForeignFormat::none ? words : keys;
  } catch (const InputError&) {
    if (words == ForeignFormat::none) throw;
    return words;
  }
}

namespace {

[[noreturn]] void refuse(ForeignFormat format, const std::string& file) {
  const bool trace = format == ForeignFormat::profile || format == ForeignFormat::own_trace;
  throw InputError(
      {.file = file,
       .pointer = {},
       .found = trace ? "a trace, which has times but says no dependencies" : "something else",
       .expected = "an execution trace, a Chakra graph or a WfFormat file",
       .hint = trace ? "schedlab import makes a graph of a trace" : ""});
}

}  // namespace

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
    case ForeignFormat::chakra_binary:
      detail::read_chakra_binary(text, file, draft, foreign.problems);
      break;
    case ForeignFormat::wfformat:
      detail::read_wfformat(text, draft);
      break;
    default:
      refuse(foreign.format, file);
  }
  foreign.graph = std::move(draft).finish();
  return foreign;
}

ForeignGraph read_foreign_graph(const std::filesystem::path& path) {
  return read_foreign_graph(read_file_or_gzip(path), path.string());
}

}  // namespace schedlab
