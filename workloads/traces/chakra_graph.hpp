// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "workloads/traces/chakra_nodes.hpp"
#include "workloads/traces/graph_draft.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Makes tasks of the nodes of one or several ranks.
class ChakraGraphMaker {
 public:
  /// `files`: by rank, for messages. A single rank has no ranks in its graph, and its collectives
  /// are tasks that last as long as there.
  ChakraGraphMaker(GraphDraft& draft, std::vector<std::string> files);

  /// `nodes`: by rank. Throws InputError for collectives that differ.
  void make(const std::vector<std::vector<ChakraNode>>& nodes);
  /// By task: the stream that it is launched into.
  [[nodiscard]] const IdVector<TaskId, std::string>& streams() const { return streams_; }

 private:
  /// One part of a collective: position of the rank and of the node.
  using Part = std::pair<std::uint32_t, std::size_t>;
  struct Joined {
    CollectiveSpec spec;
    Duration duration{0};
    std::vector<TaskId> tasks;
  };

  [[nodiscard]] bool joins(const ChakraNode& node) const;
  void find_collectives(const std::vector<std::vector<ChakraNode>>& nodes,
                        const std::vector<std::vector<std::size_t>>& orders);
  void join(const std::vector<std::vector<ChakraNode>>& nodes, const std::vector<Part>& parts);
  void expect_same(const ChakraNode& first, const ChakraNode& other, const Part& part) const;
  void add(std::uint32_t rank, std::size_t position, const ChakraNode& node);
  [[nodiscard]] DraftTask work_of(const ChakraNode& node) const;
  [[nodiscard]] std::string key(std::uint32_t rank, std::uint64_t id) const;

  GraphDraft* draft_;
  std::vector<std::string> files_;
  std::vector<Joined> collectives_;
  std::map<Part, std::size_t> joined_by_;  // part -> collective
  IdVector<TaskId, std::string> streams_;
};

/// Positions of a rank's nodes in an order in which they can run: that of their ids, as far as
/// dependencies let it. Nodes of a cycle come last.
[[nodiscard]] std::vector<std::size_t> order_of_nodes(const std::vector<ChakraNode>& nodes);

}  // namespace schedlab::detail
