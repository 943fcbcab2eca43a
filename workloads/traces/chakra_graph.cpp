// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/chakra_graph.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/text_buffer.hpp"
#include "workloads/traces/foreign_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace schedlab::detail {
namespace {

ChakraNodeType type_of(const ChakraNode& node) {
  return node.type <= static_cast<std::uint64_t>(ChakraNodeType::collective)
             ? static_cast<ChakraNodeType>(node.type)
             : ChakraNodeType::invalid;
}

bool on_host(const ChakraNode& node) {
  const ChakraNodeType type = type_of(node);
  return node.on_host || type == ChakraNodeType::metadata || type == ChakraNodeType::invalid;
}

/// Names of a binary file may hold any bytes.
std::string readable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? std::string_view{"?"} : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

Duration duration_of(const ChakraNode& node, GraphDraft& draft) {
  return draft.duration_us(static_cast<double>(node.duration_us));
}

/// CollectiveCommType of the schema.
struct CollectiveName {
  const char* name;
  CollectiveOp op;
  bool exact;  ///< `op` is what it says; else what moves as many bytes over each link
};
CollectiveName collective_name(std::int64_t type) {
  switch (type) {
    case 0:
      return {"all_reduce", CollectiveOp::all_reduce, true};
    case 1:
      return {"reduce", CollectiveOp::broadcast, false};
    case 2:
      return {"all_gather", CollectiveOp::all_gather, true};
    case 3:
      return {"gather", CollectiveOp::all_gather, false};
    case 4:
      return {"scatter", CollectiveOp::reduce_scatter, false};
    case 5:
      return {"broadcast", CollectiveOp::broadcast, true};
    case 6:
      return {"all_to_all", CollectiveOp::all_to_all, true};
    case 7:
    case 8:
      return {"reduce_scatter", CollectiveOp::reduce_scatter, true};
    case 9:
      return {"barrier", CollectiveOp::all_reduce, true};
    default:
      return {"unknown", CollectiveOp::all_reduce, false};
  }
}

std::string described(const ChakraNode& node) {
  return fmt::format("{} of {} bytes (node {}, {})",
                     collective_name(node.collective_type.value_or(-1)).name,
                     node.message_bytes,
                     node.id,
                     readable(node.name));
}

Kernel kernel_of(const ChakraNode& node, GraphDraft& draft) {
  Kernel kernel;
  const std::int64_t bytes = draft.size(node.bytes.value_or(0));
  switch (type_of(node)) {
    case ChakraNodeType::memory_load:
      kernel.kind = TaskKind::pointwise;
      kernel.bytes_read = Bytes{bytes};
      break;
    case ChakraNodeType::memory_store:
      kernel.kind = TaskKind::pointwise;
      kernel.bytes_written = Bytes{bytes};
      break;
    default:
      kernel.kind = TaskKind::gemm;  // assumed: what simulators are fed are matrix products
      kernel.type = DataType::fp16;  // assumed: the schema has no type
      kernel.flops = Flops{static_cast<double>(draft.size(node.flops.value_or(0)))};
      kernel.bytes_read = Bytes{bytes};
  }
  return kernel;
}

}  // namespace

std::vector<std::size_t> order_of_nodes(const std::vector<ChakraNode>& nodes) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place.try_emplace(nodes[i].id, i);
  std::vector<std::vector<std::size_t>> followers(nodes.size());
  std::vector<std::size_t> missing(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint64_t id : nodes[i].needs) {
      const auto need = place.find(id);
      if (need == place.end() || need->second == i) continue;
      followers[need->second].push_back(i);
      ++missing[i];
    }
  }
  using Ready = std::pair<std::uint64_t, std::size_t>;  // id, position
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.emplace(nodes[i].id, i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (const std::size_t follower : followers[node]) {
      if (--missing[follower] == 0) ready.emplace(nodes[follower].id, follower);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] != 0) order.push_back(i);
  }
  return order;
}

ChakraGraphMaker::ChakraGraphMaker(GraphDraft& draft, std::vector<std::string> files)
    : draft_(&draft), files_(std::move(files)) {}

bool ChakraGraphMaker::joins(const ChakraNode& node) const {
  return files_.size() > 1 && type_of(node) == ChakraNodeType::collective && !node.on_host;
}

std::string ChakraGraphMaker::key(std::uint32_t rank, std::uint64_t id) const {
  return files_.size() > 1 ? fmt::format("{}:{}", rank, id) : fmt::format("{}", id);
}

void ChakraGraphMaker::make(const std::vector<std::vector<ChakraNode>>& nodes) {
  std::vector<std::vector<std::size_t>> orders;
  orders.reserve(nodes.size());
  for (const auto& of_rank : nodes) orders.push_back(order_of_nodes(of_rank));
  find_collectives(nodes, orders);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    for (const std::size_t node : orders[rank]) add(rank, node, nodes[rank][node]);
  }
  for (const Joined& collective : collectives_) {
    draft_->join(collective.tasks, collective.spec);
  }
}

/// The k-th one of each group on each rank that has the group.
void ChakraGraphMaker::find_collectives(const std::vector<std::vector<ChakraNode>>& nodes,
                                        const std::vector<std::vector<std::size_t>>& orders) {
  std::map<std::string, std::map<std::uint32_t, std::vector<std::size_t>>> groups;
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    for (const std::size_t node : orders[rank]) {
      if (joins(nodes[rank][node])) groups[nodes[rank][node].group][rank].push_back(node);
    }
  }
  for (const auto& [group, by_rank] : groups) {
    const auto& [first_rank, first] = *by_rank.begin();
    for (const auto& [rank, own] : by_rank) {
      if (own.size() == first.size()) continue;
      throw InputError({.file = files_[rank],
                        .pointer = group.empty() ? "" : fmt::format("process group {}", group),
                        .found = fmt::format("{} collectives", own.size()),
                        .expected = fmt::format("{}, as in {}", first.size(), files_[first_rank]),
                        .hint = "the files must be of the same steps of one job"});
    }
    for (std::size_t k = 0; k < first.size(); ++k) {
      std::vector<Part> parts;
      for (const auto& [rank, own] : by_rank) parts.emplace_back(rank, own[k]);
      join(nodes, parts);
    }
  }
}

void ChakraGraphMaker::expect_same(const ChakraNode& first,
                                   const ChakraNode& other,
                                   const Part& part) const {
  if (first.collective_type == other.collective_type &&
      first.message_bytes == other.message_bytes) {
    return;
  }
  throw InputError({.file = files_[part.first],
                    .pointer = fmt::format("node {}", other.id),
                    .found = described(other),
                    .expected = described(first) + ", as on the group's first rank",
                    .hint = "the files must be of the same steps of one job"});
}

void ChakraGraphMaker::join(const std::vector<std::vector<ChakraNode>>& nodes,
                            const std::vector<Part>& parts) {
  const ChakraNode& first = nodes[parts.front().first][parts.front().second];
  Joined joined;
  std::uint64_t shortest = first.duration_us;
  for (const Part& part : parts) {
    const ChakraNode& node = nodes[part.first][part.second];
    expect_same(first, node, part);
    shortest = std::min(shortest, node.duration_us);
    joined_by_[part] = collectives_.size();
  }
  const CollectiveName word = collective_name(first.collective_type.value_or(-1));
  joined.spec = {.op = word.op,
                 .bytes = Bytes{draft_->size(first.message_bytes)},
                 .algorithm = CollectiveAlgorithm::automatic};
  if (shortest > 0) {
    joined.duration = draft_->duration_us(static_cast<double>(shortest));
  } else if (!word.exact) {
    draft_->problem(Severity::notice,
                    "collective_as_another",
                    fmt::format("{} as {}", described(first), to_string(word.op)));
  }
  collectives_.push_back(std::move(joined));
}

DraftTask ChakraGraphMaker::work_of(const ChakraNode& node) const {
  DraftTask task{.key = {},
                 .name = {},
                 .operation = readable(node.name),
                 .kind = on_host(node) ? TaskKind::host : TaskKind::fixed,
                 .kernels = {},
                 .duration = duration_of(node, *draft_)};
  if (node.duration_us > 0 || task.kind == TaskKind::host) return task;
  const ChakraNodeType type = type_of(node);
  if (type == ChakraNodeType::send || type == ChakraNodeType::receive) {
    draft_->problem(Severity::notice, "message_without_duration", task.operation);
  } else if (type == ChakraNodeType::collective) {
    draft_->problem(Severity::notice, "collective_without_duration", task.operation);
  } else if (node.flops || node.bytes) {
    task.kernels.push_back(kernel_of(node, *draft_));
    task.kind = task.kernels.front().kind;
  } else {
    draft_->problem(Severity::notice, "task_without_duration", task.operation);
  }
  return task;
}

void ChakraGraphMaker::add(std::uint32_t rank, std::size_t position, const ChakraNode& node) {
  const auto joined = joined_by_.find({rank, position});
  const bool collective = type_of(node) == ChakraNodeType::collective && !node.on_host;
  DraftTask task;
  if (joined != joined_by_.end()) {
    task.operation = readable(node.name);
    task.kind = TaskKind::collective;
    task.duration = collectives_[joined->second].duration;
  } else {
    task = work_of(node);
    if (collective) draft_->problem(Severity::info, "collective_of_one_rank", task.operation);
  }
  task.key = key(rank, node.id);
  task.name = fmt::format("{}#{}", task.operation, node.id);
  if (files_.size() > 1) task.name = fmt::format("rank{}/{}", rank, task.name);
  const bool host = task.kind == TaskKind::host;
  const TaskId added = draft_->add(std::move(task));
  if (!added.valid()) {
    // A second node of one id is no part of a collective either.
    if (joined != joined_by_.end()) {
      throw InputError({.file = files_[rank],
                        .pointer = fmt::format("node {}", node.id),
                        .found = "two nodes of one id, one of them a collective",
                        .expected = "each id once",
                        .hint = {}});
    }
    return;
  }
  if (files_.size() > 1) draft_->set_rank(added, rank);
  if (joined != joined_by_.end()) collectives_[joined->second].tasks.push_back(added);
  streams_.push_back(host          ? "host"
                     : node.stream ? fmt::format("stream {}", *node.stream)
                     : collective  ? "collectives"
                                   : "work");
  for (const std::uint64_t need : node.needs) draft_->needs(added, key(rank, need));
}

void read_chakra_binary(std::string_view text,
                        const std::string& file,
                        GraphDraft& draft,
                        Diagnostics& problems) {
  ChakraGraphMaker{draft, {file}}.make({read_chakra_nodes(text, file, problems)});
}

}  // namespace schedlab::detail
