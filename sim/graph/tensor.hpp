// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// One buffer of a task graph.
struct TensorInfo {
  std::string name{};  ///< may be empty
  Bytes bytes{};
  bool accumulate = false;  ///< several tasks add into it; they must be ordered by every plan
  bool persistent = false;  ///< lives before and after the run (weights, inputs, results)
};

/// The tensors of a graph with their writers and readers.
///
/// Life time in a run: a persistent tensor holds its bytes all the time; any other from the start
/// of its first writer to the end of its last reader (or of its last writer). Peak
/// memory therefore depends on the schedule.
class TensorTable {
 public:
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] IdRange<TensorId> ids() const { return IdRange<TensorId>{bytes_.size()}; }
  [[nodiscard]] Bytes bytes(TensorId tensor) const { return bytes_[tensor]; }
  [[nodiscard]] bool accumulate(TensorId tensor) const { return (flags_[tensor] & 1U) != 0; }
  [[nodiscard]] bool persistent(TensorId tensor) const { return (flags_[tensor] & 2U) != 0; }
  /// Empty when the tensor has no name of its own.
  [[nodiscard]] std::string name(TensorId tensor) const;
  [[nodiscard]] std::span<const TaskId> writers(TensorId tensor) const {
    return row(writers_, writer_offset_, tensor);
  }
  [[nodiscard]] std::span<const TaskId> readers(TensorId tensor) const {
    return row(readers_, reader_offset_, tensor);
  }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  friend class TaskGraphBuilder;
  using Uses = std::vector<std::pair<TaskId, TensorId>>;

  [[nodiscard]] static std::span<const TaskId> row(const std::vector<TaskId>& items,
                                                   const std::vector<std::uint32_t>& offset,
                                                   TensorId tensor) {
    return {items.data() + offset[tensor.value()], items.data() + offset[tensor.value() + 1]};
  }
  void add(const TensorInfo& info);
  void set_uses(const Uses& writes, const Uses& reads);

  IdVector<TensorId, Bytes> bytes_;
  IdVector<TensorId, std::uint8_t> flags_;
  std::string name_pool_;
  std::vector<std::uint32_t> name_end_;  // empty: no tensor has a name
  std::vector<std::uint32_t> writer_offset_{0};
  std::vector<TaskId> writers_;
  std::vector<std::uint32_t> reader_offset_{0};
  std::vector<TaskId> readers_;
};

}  // namespace schedlab
