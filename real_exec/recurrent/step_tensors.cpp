// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/step_tensors.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace schedlab::detail {
namespace {

// Of those with a chain and a step, in the order of the enumerators.
constexpr std::array<std::string_view, 10> tensor_names{
    "zx", "zh", "gates", "c", "h", "dG", "dx", "m", "dm", "dp"};

struct ArrayOfStep {
  StepTensor kind = StepTensor::gates;
  std::size_t chain = 0;
  std::int64_t step = 0;
};

/// The first chain with an array of this kind.
std::size_t chain_with(StepTensor kind, const std::vector<StepTensorMap::Chain>& chains) {
  const auto found = std::find_if(chains.begin(), chains.end(), [&](const auto& chain) {
    return chain.elements[static_cast<std::size_t>(kind)] > 0;
  });
  return static_cast<std::size_t>(found - chains.begin());
}

/// "gates(2,14)", "dy", or of a segment "dy(10)"; nothing for names of another form or kind.
std::optional<ArrayOfStep> array_of(std::string_view name,
                                    const std::vector<StepTensorMap::Chain>& chains) {
  const std::size_t open = name.find('(');
  if (name.substr(0, open) == "dy") {
    ArrayOfStep array{.kind = StepTensor::output_gradients,
                      .chain = chain_with(StepTensor::output_gradients, chains)};
    if (open != std::string_view::npos) {
      std::from_chars(name.data() + open + 1, name.data() + name.size(), array.step);
    }
    return array;
  }
  const std::size_t comma = name.find(',');
  if (open == std::string_view::npos || comma == std::string_view::npos) return std::nullopt;
  const auto word = std::find(tensor_names.begin(), tensor_names.end(), name.substr(0, open));
  if (word == tensor_names.end()) return std::nullopt;
  ArrayOfStep array{.kind = static_cast<StepTensor>(word - tensor_names.begin())};
  const auto chain = std::from_chars(name.data() + open + 1, name.data() + comma, array.chain);
  const auto step = std::from_chars(name.data() + comma + 1, name.data() + name.size(), array.step);
  if (chain.ec != std::errc{} || step.ec != std::errc{}) return std::nullopt;
  return array;
}

}  // namespace

std::uint64_t StepTensorMap::key_of(StepTensor kind, std::size_t chain, std::int64_t step) {
  // Steps from -1 on; fewer than 2^32 of them, fewer than 2^16 chains.
  return (static_cast<std::uint64_t>(kind) << 48U) | (static_cast<std::uint64_t>(chain) << 32U) |
         static_cast<std::uint64_t>(step + 1);
}

StepTensorMap::StepTensorMap(const TaskGraph& graph, const std::vector<Chain>& chains)
    : elements_(graph.tensors().size(), 0) {
  const TensorTable& tensors = graph.tensors();
  std::vector<std::pair<TensorId, ArrayOfStep>> arrays;
  std::map<std::pair<std::size_t, std::int64_t>, TensorId> outputs;  // by chain and step
  for (const TensorId id : tensors.ids()) {
    lies_in_.push_back(id);
    if (tensors.persistent(id)) continue;
    const auto array = array_of(tensors.name(id), chains);
    if (!array || array->chain >= chains.size()) continue;
    const Chain& chain = chains[array->chain];
    const std::size_t elements = chain.elements[static_cast<std::size_t>(array->kind)];
    if (elements == 0) continue;
    arrays.emplace_back(id, *array);
    const bool beside = array->kind == StepTensor::h && chain.outputs_in != array->chain;
    if (!beside) elements_[id] = elements;
    if (array->kind == StepTensor::h) outputs[{array->chain, array->step}] = id;
  }
  std::vector<std::pair<TaskId, Use>> all;
  for (const auto& [id, array] : arrays) {
    const Chain& chain = chains[array.chain];
    Use use{.key = key_of(array.kind, array.chain, array.step), .place = {.tensor = id, .at = 0}};
    if (array.kind == StepTensor::h && chain.outputs_in != array.chain) {
      lies_in_[id] = outputs.at({chain.outputs_in, array.step});
      use.place = {.tensor = lies_in_[id], .at = chain.outputs_at};
    }
    for (const TaskId task : tensors.writers(id)) all.emplace_back(task, use);
    for (const TaskId task : tensors.readers(id)) all.emplace_back(task, use);
  }
  add_uses(graph, std::move(all));
}

void StepTensorMap::add_uses(const TaskGraph& graph, std::vector<std::pair<TaskId, Use>> all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple{a.first, a.second.key} < std::tuple{b.first, b.second.key};
  });
  offset_.assign(graph.task_count() + 1, 0U);
  for (const auto& [task, use] : all) {
    ++offset_[task.value() + 1];
    uses_.push_back(use);
  }
  for (std::size_t i = 1; i < offset_.size(); ++i) offset_[i] += offset_[i - 1];
}

std::optional<StepTensorMap::Place> StepTensorMap::find(TaskId task,
                                                        StepTensor kind,
                                                        std::size_t chain,
                                                        std::int64_t step) const {
  const auto begin = uses_.begin() + offset_[task.value()];
  const auto end = uses_.begin() + offset_[task.value() + 1];
  const std::uint64_t key = key_of(kind, chain, step);
  const auto found = std::lower_bound(
      begin, end, key, [](const Use& use, std::uint64_t k) { return use.key < k; });
  if (found == end || found->key != key) return std::nullopt;
  return found->place;
}

}  // namespace schedlab::detail
