// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/kineto.hpp"

#include "sim/base/error.hpp"
#include "workloads/traces/json_pieces.hpp"
#include "workloads/traces/kineto_event.hpp"
#include "workloads/traces/kineto_rows.hpp"
#include "workloads/traces/memory_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr const char* what_is_expected =
    "a trace of the PyTorch profiler: {\"traceEvents\": [...]}, or a list of events";

[[noreturn]] void refuse(const std::string& file, std::string found, std::string expected) {
  throw InputError({.file = file,
                    .pointer = {},
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = {}});
}

void read_events(ByteSource& source, const KinetoReading& reading, ImportedTrace& trace) {
  detail::JsonPieces pieces{source, trace.file, "traceEvents", reading.batch_bytes};
  detail::KinetoEventParser parser;
  detail::KinetoRows rows{trace};
  detail::JsonPiece piece;
  std::uint64_t read = 0;
  std::uint64_t unreadable = 0;
  while (pieces.next(piece)) {
    if (!piece.is_element) {
      detail::read_kineto_metadata(piece.key, piece.text, trace);
      continue;
    }
    const detail::KinetoEvent* const event = parser.parse(piece.text);
    if (event != nullptr) {
      rows.add(*event);
      ++read;
      continue;
    }
    trace.problems.add(Severity::data_loss,
                       "unreadable_event",
                       unreadable++ == 0
                           ? fmt::format("at byte {}: {}", piece.offset, parser.why_not())
                           : std::string{});
  }
  rows.finish();
  if (!pieces.found_list()) refuse(trace.file, "no list of events", what_is_expected);
  if (read == 0 && unreadable > 0) {
    refuse(trace.file,
           fmt::format("none of {} events can be read; the first {}",
                       unreadable,
                       trace.problems.entries().at("unreadable_event").example),
           what_is_expected);
  }
}

}  // namespace

ImportedTrace read_kineto(ByteSource& source,
                          const std::string& file,
                          const KinetoReading& reading) {
  ImportedTrace trace;
  trace.file = file;
  read_events(source, reading, trace);
  put_in_order(trace);
  add_memory_waits(trace);
  find_problems(trace);
  return trace;
}

ImportedTrace read_kineto(const std::filesystem::path& path, const KinetoReading& reading) {
  const auto source = open_file_or_gzip(path);
  return read_kineto(*source, path.string(), reading);
}

std::vector<ImportedTrace> read_kineto_ranks(const std::vector<std::filesystem::path>& paths,
                                             const KinetoReading& reading) {
  std::vector<ImportedTrace> ranks;
  for (const std::filesystem::path& path : paths) {
    ranks.push_back(read_kineto(path, reading));
    ImportedTrace& rank = ranks.back();
    if (rank.rank < 0) {
      rank.rank = static_cast<std::int64_t>(ranks.size()) - 1;
      rank.problems.add(Severity::notice, "unknown_rank", fmt::format("taken for {}", rank.rank));
    }
    if (rank.world_size != ranks.front().world_size) {
      refuse(rank.file,
             fmt::format("{} ranks", rank.world_size),
             fmt::format("{} as in {}", ranks.front().world_size, ranks.front().file));
    }
    for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
      if (ranks[i].rank != rank.rank) continue;
      refuse(rank.file,
             fmt::format("rank {}, which {} has as well", rank.rank, ranks[i].file),
             "each rank once");
    }
  }
  std::sort(
      ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return ranks;
}

}  // namespace schedlab
