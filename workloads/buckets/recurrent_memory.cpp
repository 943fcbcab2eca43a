// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/recurrent_memory.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <array>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, kept_values_count> kept_words{
    "all", "for_backward", "data_drop"};
constexpr std::array<std::int64_t, kept_values_count> values_per_unit{19, 7, 2};
constexpr std::int64_t with_gradients = 2;

std::int64_t values_of(KeptValues kept) {
  return values_per_unit.at(static_cast<std::size_t>(kept));
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
std::int64_t kept_by_cell(const RecurrentNetwork& network, KeptValues kept) {
  if (network.projection == 0) return values_of(kept) * network.hidden;
  if (kept == KeptValues::data_drop) return network.hidden + network.projection;
  return values_of(kept) * network.hidden + network.projection;
}

}  // namespace

std::string_view to_string(KeptValues kept) {
  return kept_words.at(static_cast<std::size_t>(kept));
}

std::vector<std::string> kept_values_names() {
  return {kept_words.begin(), kept_words.end()};
}

Bytes lstm_cell_bytes(KeptValues kept, const UnrolledLstm& lstm) {
  return Bytes{with_gradients * values_of(kept) * lstm.batch * lstm.hidden *
               bytes_per_element(lstm.type)};
}

Bytes unrolled_lstm_bytes(KeptValues kept, const UnrolledLstm& lstm) {
  const std::int64_t parameters = 4 * lstm.hidden * lstm.hidden + lstm.hidden;
  return lstm_cell_bytes(kept, lstm) * (lstm.layers * lstm.steps) +
         Bytes{with_gradients * parameters * bytes_per_element(lstm.type)};
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
                                        KeptValues kept,
                                        std::int64_t batch,
                                        std::int64_t steps) {
  expect_sizes(network);
  SCHEDLAB_EXPECTS(batch >= 1 && steps >= 1, fmt::format("batch {}, {} steps", batch, steps));
  const std::int64_t element = bytes_per_element(network.type);
  const std::int64_t cell = kept_by_cell(network, kept);
  std::vector<MemoryPart> parts{
      {"input", Bytes{steps * batch * network.input * element}},
      {"cells", Bytes{with_gradients * cell * network.layers * steps * batch * element}}};
  if (kept == KeptValues::data_drop) {
    const std::int64_t rest = kept_by_cell(network, KeptValues::for_backward) - cell;
    parts.push_back({"scratch", Bytes{with_gradients * rest * batch * element}});
  }
  if (network.classes > 0) {
    parts.push_back(
        {"output", Bytes{network.output_copies * steps * batch * network.classes * element}});
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
  constexpr std::int64_t most = std::int64_t{1} << 24;  // assumed: more fits only if nothing grows
  const auto fits = [&](std::int64_t count) { return bytes(count * multiple) <= capacity; };
  if (!fits(1)) return 0;
  std::int64_t low = 1;
  while (low < most && fits(2 * low)) low *= 2;
  std::int64_t high = 2 * low;  // does not fit
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low * multiple;
}

}  // namespace schedlab
