// SPDX-License-Identifier: Apache-2.0
#include "real_exec/step_tensors.hpp"

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

// In the order of the enumerators.
constexpr std::array<std::string_view, 7> tensor_words{"zx", "zh", "gates", "c", "h", "dG", "dx"};

struct Place {
  StepTensor kind = StepTensor::gates;
  std::size_t chain = 0;
  std::int64_t step = 0;
};

/// "gates(2,14)"; nothing for names of another form or kind.
std::optional<Place> place_of(std::string_view name) {
  const std::size_t open = name.find('(');
  const std::size_t comma = name.find(',');
  if (open == std::string_view::npos || comma == std::string_view::npos) return std::nullopt;
  const auto word = std::find(tensor_words.begin(), tensor_words.end(), name.substr(0, open));
  if (word == tensor_words.end()) return std::nullopt;
  Place place{.kind = static_cast<StepTensor>(word - tensor_words.begin())};
  const auto chain = std::from_chars(name.data() + open + 1, name.data() + comma, place.chain);
  const auto step = std::from_chars(name.data() + comma + 1, name.data() + name.size(), place.step);
  if (chain.ec != std::errc{} || step.ec != std::errc{}) return std::nullopt;
  return place;
}

}  // namespace

std::uint64_t StepTensors::key_of(StepTensor kind, std::size_t chain, std::int64_t step) {
  // Steps from -1 on; fewer than 2^32 of them, fewer than 2^16 chains.
  return (static_cast<std::uint64_t>(kind) << 48U) | (static_cast<std::uint64_t>(chain) << 32U) |
         static_cast<std::uint64_t>(step + 1);
}

StepTensors::StepTensors(const TaskGraph& graph,
                         const std::vector<Chain>& chains,
                         IdVector<TaskId, std::uint32_t> blocks) {
  const TensorTable& tensors = graph.tensors();
  IdVector<TensorId, std::size_t> sizes(tensors.size(), 0);
  IdVector<TensorId, TensorId> lies_in;
  std::vector<std::pair<TensorId, Place>> places;
  std::map<std::pair<std::size_t, std::int64_t>, TensorId> outputs;  // by chain and step
  for (const TensorId id : tensors.ids()) {
    lies_in.push_back(id);
    if (tensors.persistent(id)) continue;
    const auto place = place_of(tensors.name(id));
    if (!place || place->chain >= chains.size()) continue;
    const Chain& chain = chains[place->chain];
    const std::size_t elements = chain.elements[static_cast<std::size_t>(place->kind)];
    if (elements == 0) continue;
    places.emplace_back(id, *place);
    const bool beside = place->kind == StepTensor::h && chain.outputs_in != place->chain;
    if (!beside) sizes[id] = elements;
    if (place->kind == StepTensor::h) outputs[{place->chain, place->step}] = id;
  }
  std::vector<std::pair<TaskId, Use>> all;
  for (const auto& [id, place] : places) {
    const Chain& chain = chains[place.chain];
    Use use{.key = key_of(place.kind, place.chain, place.step), .tensor = id, .at = 0};
    if (place.kind == StepTensor::h && chain.outputs_in != place.chain) {
      lies_in[id] = outputs.at({chain.outputs_in, place.step});
      use.tensor = lies_in[id];
      use.at = chain.outputs_at;
    }
    for (const TaskId task : tensors.writers(id)) all.emplace_back(task, use);
    for (const TaskId task : tensors.readers(id)) all.emplace_back(task, use);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple{a.first, a.second.key} < std::tuple{b.first, b.second.key};
  });
  offset_.assign(graph.task_count() + 1, 0U);
  for (const auto& [task, use] : all) {
    ++offset_[task.value() + 1];
    uses_.push_back(use);
  }
  for (std::size_t i = 1; i < offset_.size(); ++i) offset_[i] += offset_[i - 1];
  memory_ = std::make_unique<TensorMemory>(graph, std::move(sizes), lies_in, std::move(blocks));
}

float* StepTensors::find(TaskId task, StepTensor kind, std::size_t chain, std::int64_t step) const {
  const auto begin = uses_.begin() + offset_[task.value()];
  const auto end = uses_.begin() + offset_[task.value() + 1];
  const std::uint64_t key = key_of(kind, chain, step);
  const auto found = std::lower_bound(
      begin, end, key, [](const Use& use, std::uint64_t k) { return use.key < k; });
  return found == end || found->key != key ? nullptr : memory_->at(found->tensor) + found->at;
}

}  // namespace schedlab::detail
