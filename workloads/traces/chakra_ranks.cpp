// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/chakra_ranks.hpp"

#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "workloads/traces/chakra_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

std::string without_ending(std::string name) {
  for (const std::string_view ending : {".gz", ".et"}) {
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  }
  return name;
}

/// Of "NAME.3.et".
std::optional<std::uint32_t> rank_in_name(const fs::path& file) {
  const std::string name = without_ending(file.filename().string());
  const std::size_t dot = name.rfind('.');
  std::uint32_t rank = 0;
  const char* const end = name.data() + name.size();
  if (dot == std::string::npos || dot + 1 == name.size()) return std::nullopt;
  const auto [rest, error] = std::from_chars(name.data() + dot + 1, end, rank);
  return error == std::errc{} && rest == end ? std::optional{rank} : std::nullopt;
}

/// The calls of all hosts: tasks in the order of their numbers, an event behind each task that
/// another stream of the rank needs.
class RankPlanMaker {
 public:
  RankPlanMaker(const TaskGraph& graph, const IdVector<TaskId, std::string>& streams)
      : graph_(graph), streams_(streams), stream_of_(graph.task_count()) {
    plan_.policy = "in the order of ids";
    plan_.hosts.resize(graph.rank_count());
    for (const HostId host : plan_.hosts.ids()) {
      plan_.hosts[host].name = fmt::format("rank {}", host.value());
    }
  }

  Plan run() && {
    for (const TaskId task : graph_.tasks()) stream_of_[task] = stream(task);
    recorded_.assign(graph_.task_count(), false);
    for (const TaskId task : graph_.tasks()) {
      for (const TaskId need : graph_.predecessors(task)) {
        if (stream_of_[need] != stream_of_[task]) recorded_[need.value()] = true;
      }
    }
    IdVector<TaskId, EventId> events(graph_.task_count());
    for (const TaskId task : graph_.topological_order()) {
      auto& calls = plan_.hosts[HostId{graph_.rank(task)}].calls;
      for (const TaskId need : graph_.predecessors(task)) {
        if (events[need].valid() && stream_of_[need] != stream_of_[task]) {
          calls.push_back(HostCall::wait(stream_of_[task], events[need]));
        }
      }
      calls.push_back(HostCall::launch(stream_of_[task], task));
      if (!recorded_[task.value()]) continue;
      events[task] = EventId{plan_.event_count++};
      calls.push_back(HostCall::record(stream_of_[task], events[task]));
    }
    return std::move(plan_);
  }

 private:
  StreamId stream(TaskId task) {
    const std::uint32_t rank = graph_.rank(task);
    const auto [place, added] = known_.try_emplace({rank, streams_[task]});
    if (added) {
      place->second = StreamId{static_cast<std::uint32_t>(plan_.streams.size())};
      plan_.streams.push_back({.device = DeviceId{rank},
                               .priority = 0,
                               .name = streams_[task],
                               .sync = StreamSync::non_blocking});
    }
    return place->second;
  }

  const TaskGraph& graph_;
  const IdVector<TaskId, std::string>& streams_;
  IdVector<TaskId, StreamId> stream_of_;
  std::vector<bool> recorded_;
  std::map<std::pair<std::uint32_t, std::string>, StreamId> known_;
  Plan plan_;
};

}  // namespace

bool is_rank_pattern(const fs::path& path) {
  return path.filename().string().find('*') != std::string::npos;
}

std::vector<fs::path> files_of_ranks(const fs::path& pattern) {
  const std::string name = pattern.filename().string();
  const std::size_t star = name.find('*');
  const std::string before = name.substr(0, star);
  const std::string behind = star == std::string::npos ? std::string{} : name.substr(star + 1);
  const fs::path folder = pattern.has_parent_path() ? pattern.parent_path() : fs::path{"."};
  std::vector<fs::path> files;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string found = entry.path().filename().string();
    if (found.size() <= before.size() + behind.size() || !found.starts_with(before) ||
        !found.ends_with(behind)) {
      continue;
    }
    const std::string rank =
        found.substr(before.size(), found.size() - before.size() - behind.size());
    if (rank.find_first_not_of("0123456789") == std::string::npos) files.push_back(entry.path());
  }
  if (files.empty()) {
    throw InputError({.file = pattern.string(),
                      .pointer = {},
                      .found = "no such files",
                      .expected = "one file per rank, with its number where the star is",
                      .hint = {}});
  }
  return in_order_of_ranks(std::move(files));
}

std::vector<fs::path> in_order_of_ranks(std::vector<fs::path> files) {
  std::map<std::uint32_t, fs::path> by_rank;
  for (const fs::path& file : files) {
    const auto rank = rank_in_name(file);
    if (!rank) return files;
    const auto [place, added] = by_rank.try_emplace(*rank, file);
    if (added) continue;
    throw InputError({.file = file.string(),
                      .pointer = {},
                      .found = fmt::format("rank {}, as {} is", *rank, place->second.string()),
                      .expected = "each rank once",
                      .hint = {}});
  }
  if (by_rank.rbegin()->first + 1 != by_rank.size()) {
    std::uint32_t missing = 0;
    while (by_rank.contains(missing)) ++missing;
    throw InputError({.file = files.front().string(),
                      .pointer = {},
                      .found = fmt::format("no file of rank {}", missing),
                      .expected = fmt::format("all ranks from 0 to {}", by_rank.rbegin()->first),
                      .hint = {}});
  }
  files.clear();
  for (auto& [rank, file] : by_rank) files.push_back(std::move(file));
  return files;
}

ChakraRanks read_chakra_ranks(const std::vector<fs::path>& files) {
  ChakraRanks result;
  std::vector<std::string> texts;  // nodes point into them
  std::size_t bytes = 0;
  for (const fs::path& file : files) {
    result.files.push_back(file.string());
    texts.push_back(read_file_or_gzip(file));
    bytes += texts.back().size();
  }
  ForeignGraph& joined = result.joined;
  joined.format = ForeignFormat::chakra_binary;
  std::vector<std::vector<detail::ChakraNode>> nodes;
  for (std::size_t rank = 0; rank < files.size(); ++rank) {
    if (!detail::is_chakra_binary(texts[rank])) {
      throw InputError({.file = result.files[rank],
                        .pointer = {},
                        .found = "something else",
                        .expected = "a binary Chakra trace",
                        .hint = {}});
    }
    nodes.push_back(detail::read_chakra_nodes(texts[rank], result.files[rank], joined.problems));
  }
  detail::GraphDraft draft{result.files.front(), bytes, joined.problems};
  detail::ChakraGraphMaker maker{draft, result.files};
  maker.make(nodes);
  joined.graph = std::move(draft).finish();
  result.plan = RankPlanMaker{joined.graph, maker.streams()}.run();
  return result;
}

}  // namespace schedlab
