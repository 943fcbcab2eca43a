// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/recurrent_memory.hpp"

#include "sim/base/error.hpp"
#include "workloads/entry_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::int64_t with_gradients = 2;

/// Per unit of a cell whose values are kept.
std::int64_t values_of(Recompute kept) {
  switch (kept) {
    case Recompute::keep_all:
      return 19;
    case Recompute::data_drop:
      return 2;
    default:
      return 7;
  }
}

std::int64_t output_width(const RecurrentNetwork& network) {
  return network.projection > 0 ? network.projection : network.hidden;
}

void expect_sizes(const RecurrentNetwork& network) {
  const bool whole = network.layers >= 1 && network.hidden >= 1 && network.projection >= 0 &&
                     network.input >= 1 && network.classes >= 0 && network.output_copies >= 1 &&
                     network.weight_copies >= 1 && network.reserved_bytes >= 0;
  SCHEDLAB_EXPECTS(
      whole, fmt::format("a network of {} layers of {} units", network.layers, network.hidden));
}

/// Elements per sequence that one cell keeps, without gradients.
std::int64_t kept_by_cell(const RecurrentNetwork& network, Recompute kept) {
  if (network.projection == 0) return values_of(kept) * network.hidden;
  if (kept == Recompute::data_drop) {
    return (network.hidden_kept ? 2 : 1) * network.hidden + network.projection;
  }
  return values_of(kept) * network.hidden + network.projection;
}

/// What is held of the cells, in elements of one sequence: kept to the end, and for the moment.
struct CellElements {
  std::int64_t kept = 0;
  std::int64_t scratch = 0;
};

/// Of a segment of truncated back-propagation; all, where nothing is truncated.
std::int64_t steps_at_once(const RecomputeChoice& choice, std::int64_t steps) {
  return choice.truncate_steps > 0 ? std::min(choice.truncate_steps, steps) : steps;
}

CellElements cell_elements(const RecurrentNetwork& network,
                           const RecomputeChoice& choice,
                           std::int64_t steps) {
  const std::int64_t state = kept_by_cell(network, Recompute::data_drop);
  const std::int64_t whole = kept_by_cell(network, Recompute::keep_backward);
  const std::int64_t segment = steps_at_once(choice, steps);
  const std::int64_t cells = network.layers * segment;
  const std::int64_t before = segment < steps ? state * network.layers : 0;
  constexpr RecurrentCell lstm = RecurrentCell::lstm;
  switch (choice.kind) {
    case Recompute::data_drop:
      return {.kept = with_gradients * state * cells + before,
              .scratch = with_gradients * (whole - state)};
    case Recompute::sqrt: {
      const std::int64_t kept_segment = std::min(checkpoint_segment(lstm, steps), steps);
      return {.kept = state * network.layers * default_checkpoints(lstm, steps),
              .scratch = with_gradients * whole * network.layers * kept_segment};
    }
    case Recompute::optimal: {
      const std::int64_t asked =
          choice.checkpoints > 0 ? choice.checkpoints : default_checkpoints(lstm, steps);
      return {.kept = state * network.layers * std::min(asked, steps - 1),
              .scratch = with_gradients * whole * network.layers};
    }
    default:
      return {.kept = with_gradients * kept_by_cell(network, choice.kind) * cells + before,
              .scratch = 0};
  }
}

}  // namespace

std::string to_string(const RecomputeChoice& choice) {
  std::string text{to_string(choice.kind)};
  if (choice.checkpoints > 0) text += fmt::format(" {}", choice.checkpoints);
  if (choice.truncate_steps > 0) text += fmt::format(" truncated {}", choice.truncate_steps);
  return text;
}

std::int64_t parameter_count(const RecurrentNetwork& network) {
  expect_sizes(network);
  const std::int64_t gates = 4 * network.hidden;
  const std::int64_t out = output_width(network);
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < network.layers; ++layer) {
    const std::int64_t in = layer == 0 ? network.input : out;
    count += gates * (in + out + 1) + network.hidden * network.projection;
  }
  return count + network.classes * (out + 1);
}

std::vector<MemoryPart> training_memory(const RecurrentNetwork& network,
                                        const RecomputeChoice& choice,
                                        std::int64_t batch,
                                        std::int64_t steps) {
  expect_sizes(network);
  SCHEDLAB_EXPECTS(batch >= 1 && steps >= 1, fmt::format("batch {}, {} steps", batch, steps));
  const std::int64_t element = bytes_per_element(network.type);
  const CellElements cells = cell_elements(network, choice, steps);
  std::vector<MemoryPart> parts{{"input", Bytes{steps * batch * network.input * element}},
                                {"cells", Bytes{cells.kept * batch * element}}};
  if (cells.scratch > 0) parts.push_back({"scratch", Bytes{cells.scratch * batch * element}});
  if (network.classes > 0) {
    parts.push_back({"output",
                     Bytes{network.output_copies * steps_at_once(choice, steps) * batch *
                           network.classes * element}});
  }
  parts.push_back({"weights", Bytes{network.weight_copies * parameter_count(network) * element}});
  if (network.reserved_bytes > 0) parts.push_back({"reserved", Bytes{network.reserved_bytes}});
  return parts;
}

Bytes total(const std::vector<MemoryPart>& parts) {
  Bytes sum{};
  for (const MemoryPart& part : parts) sum += part.bytes;
  return sum;
}

std::int64_t largest_batch(Bytes capacity,
                           std::int64_t multiple,
                           const std::function<Bytes(std::int64_t)>& bytes) {
  SCHEDLAB_EXPECTS(multiple >= 1, fmt::format("multiples of {}", multiple));
  const std::int64_t max_count = static_cast<std::int64_t>(detail::max_size) / multiple;
  const auto fits = [&](std::int64_t count) {
    return count <= max_count && bytes(count * multiple) <= capacity;
  };
  if (!fits(1)) return 0;
  std::int64_t low = 1;
  while (fits(2 * low)) low *= 2;
  std::int64_t high = 2 * low;  // does not fit
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low * multiple;
}

}  // namespace schedlab
