// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/tensor.hpp"

namespace schedlab {
namespace {

void fill_rows(std::size_t tensor_count,
               const std::vector<std::pair<TaskId, TensorId>>& uses,
               std::vector<std::uint32_t>& offset,
               std::vector<TaskId>& items) {
  offset.assign(tensor_count + 1, 0);
  for (const auto& use : uses) ++offset[use.second.value() + 1];
  for (std::size_t i = 1; i <= tensor_count; ++i) offset[i] += offset[i - 1];
  std::vector<std::uint32_t> position(offset.begin(), offset.end() - 1);
  items.resize(uses.size());
  for (const auto& [task, tensor] : uses) items[position[tensor.value()]++] = task;
}

}  // namespace

std::string TensorTable::name(TensorId tensor) const {
  if (name_end_.empty()) return {};
  const std::uint32_t begin = tensor.value() == 0 ? 0 : name_end_[tensor.value() - 1];
  return name_pool_.substr(begin, name_end_[tensor.value()] - begin);
}

void TensorTable::add(const TensorInfo& info) {
  bytes_.push_back(info.bytes);
  flags_.push_back(
      static_cast<std::uint8_t>((info.accumulate ? 1U : 0U) | (info.persistent ? 2U : 0U)));
  if (info.name.empty() && name_end_.empty()) return;
  name_end_.resize(bytes_.size() - 1, static_cast<std::uint32_t>(name_pool_.size()));
  name_pool_ += info.name;
  name_end_.push_back(static_cast<std::uint32_t>(name_pool_.size()));
}

void TensorTable::set_uses(const Uses& writes, const Uses& reads) {
  if (!name_end_.empty()) {
    name_end_.resize(bytes_.size(), static_cast<std::uint32_t>(name_pool_.size()));
  }
  fill_rows(size(), writes, writer_offset_, writers_);
  fill_rows(size(), reads, reader_offset_, readers_);
}

std::size_t TensorTable::memory_bytes() const {
  return bytes_.raw().capacity() * sizeof(Bytes) + flags_.raw().capacity() + name_pool_.capacity() +
         name_end_.capacity() * sizeof(std::uint32_t) +
         (writer_offset_.capacity() + reader_offset_.capacity()) * sizeof(std::uint32_t) +
         (writers_.capacity() + readers_.capacity()) * sizeof(TaskId);
}

}  // namespace schedlab
