// SPDX-License-Identifier: Apache-2.0
#include "hw_models/attention.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array<ParameterInfo, 13> context_infos{{
    {"query_tile", 16, 1024, 128, "rows of queries of one block", true},
    {"key_tile", 16, 1024, 128, "keys that a block takes at a time", true},
    {"packed", 0, 1, 0, "1: heads that share keys and values are rows of one tile", true},
    {"floor_us", 0.1, 100, 9, "what every call takes"},
    {"block_us", 0.001, 50, 1, "start and end of a block"},
    {"efficiency", 0.01, 1, 0.6, "share of the matrix peak, 128 elements a head"},
    {"memory_share", 0.05, 1, 0.5, "of the nominal bandwidth, not hidden by arithmetic"},
    {"chain_share", 0, 1.5, 0.5, "of the longest row of key tiles that nothing shortens"},
    {"short_tile_share", 0, 1, 0.5, "of a key tile's time whatever part of it is filled"},
    {"head_64", 0.05, 5, 0.7, "efficiency with 64 elements a head, relative to 128"},
    {"head_192", 0.05, 5, 1.1, "the same with 192"},
    {"head_256", 0.05, 5, 1.1, "the same with 256"},
    {"head_512", 0.05, 5, 0.7, "the same with 512"},
}};

constexpr std::array<ParameterInfo, 20> generation_infos{{
    {"query_tile", 16, 1024, 64, "heads of a group of one block", true},
    {"key_tile", 16, 1024, 128, "keys that a block takes at a time", true},
    {"splits_ungrouped", 0, 1, 1, "1: keys are split where each head has its own, too", true},
    {"floor_us", 0.1, 100, 8, "what every call takes"},
    {"block_us", 0.001, 50, 2, "start and end of a block"},
    {"key_tile_us", 0.001, 50, 1, "a block alone with one key tile of 128 elements a head"},
    {"memory_share", 0.05, 1, 0.85, "of the nominal bandwidth"},
    {"split_key_tiles", 0.5, 64, 2, "fewest key tiles of a part"},
    {"combine_us", 0, 30, 0.5, "adding up the parts"},
    {"combine_step_us", 0, 5, 0.5, "the same, by doubling of the parts"},
    {"overlap", 1, 8, 2, "of blocks' own time with memory; 1: none, large: all"},
    {"wave_quantization", 0, 1, 0.7, "0: the last wave is divided, 1: it takes as long as others"},
    {"sequence_us", 0, 1, 0.004, "for each sequence, finding its place"},
    {"query_us_per_mb", 0, 50, 0.5, "queries and result beyond their share of the bandwidth"},
    {"regroup_us", 0, 50, 0.1, "kernels that lay the heads of a group side by side"},
    {"regroup_us_per_mb", 0, 50, 0.1, "the same, by size of the queries"},
    {"head_64", 0.05, 5, 0.8, "blocks' time with 64 elements a head, relative to 128"},
    {"head_192", 0.05, 5, 1.0, "the same with 192, beyond being longer"},
    {"head_256", 0.05, 5, 1.0, "the same with 256"},
    {"head_512", 0.05, 5, 1.3, "the same with 512"},
}};

constexpr double most_counted = 4096;  // key tiles, one by one

/// The factor of a head's width from those at 64, 128 (1), 192, 256 and 512.
double head_factor(double width, const std::array<double, 4>& given) {
  const std::array<std::pair<double, double>, 5> points{
      {{64, given[0]}, {128, 1.0}, {192, given[1]}, {256, given[2]}, {512, given[3]}}};
  if (width <= points.front().first) return points.front().second;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto& [left, low] = points[i - 1];
    const auto& [right, high] = points[i];
    if (width > right) continue;
    const double part = std::log2(width / left) / std::log2(right / left);
    return low + (high - low) * part;
  }
  return points.back().second;
}

/// Key tiles that the rows of all tiles of one sequence see, and how many tiles that are.
std::pair<double, double> visible_tiles(double rows, double group, double m, double n) {
  const double tiles = std::ceil(rows / m);
  const double stride = m / group;  // new tokens of one tile
  const double key_tiles = std::ceil(rows / group / n);
  if (key_tiles > most_counted) {  // no row of whole tiles matters any more
    return {tiles, key_tiles * tiles - n / stride * key_tiles * (key_tiles - 1) / 2};
  }
  double pairs = 0;
  for (double tile = 0; tile < key_tiles; ++tile) {
    pairs += std::max(0.0, tiles - std::floor(tile * n / stride));
  }
  return {tiles, pairs};
}

double all_bytes(const AttentionShape& shape, double element_bytes) {
  const auto head = static_cast<double>(shape.head);
  const double queries = static_cast<double>(shape.queries) * static_cast<double>(shape.heads);
  const double keys = static_cast<double>(shape.keys) * static_cast<double>(shape.kv_heads);
  return 2 * static_cast<double>(shape.sequences) * head * element_bytes * (queries + keys);
}

}  // namespace

std::span<const ParameterInfo> context_parameters() {
  return context_infos;
}
std::span<const ParameterInfo> generation_parameters() {
  return generation_infos;
}

AttentionDevice attention_device(const Device& device, DataType type) {
  const Kernel matrix{.kind = TaskKind::gemm, .type = type};
  return {.units = std::max(1.0, static_cast<double>(device.rates.matrix_units)),
          .flop = peak_rate(matrix, device).count() / 1e6,
          .byte = device.rates.memory.count() / 1e6};
}

AttentionTime context_time(const FittedParameters& fitted,
                           const AttentionShape& shape,
                           double element_bytes,
                           const AttentionDevice& device) {
  using enum ContextParameter;
  const double m = fitted[query_tile];
  const double n = fitted[key_tile];
  const auto length = static_cast<double>(shape.queries);
  const auto head = static_cast<double>(shape.head);
  const bool pack = fitted[packed] > 0.5;
  const double group =
      pack ? static_cast<double>(shape.heads) / static_cast<double>(shape.kv_heads) : 1.0;
  const double sets = static_cast<double>(shape.sequences) *
                      static_cast<double>(pack ? shape.kv_heads : shape.heads);
  const auto [tiles, pairs] = visible_tiles(length * group, group, m, n);
  const double earlier = std::ceil(static_cast<double>(shape.keys - shape.queries) / n);
  const double factor =
      head_factor(head, {fitted[head_64], fitted[head_192], fitted[head_256], fitted[head_512]});
  const auto keys = static_cast<double>(shape.keys);
  const double filled = keys < n ? std::ceil(keys / 16) * 16 / n : 1.0;
  const double shortened = fitted[short_tile_share] + (1 - fitted[short_tile_share]) * filled;
  const double pair =
      4 * m * n * head * shortened * device.units / (fitted[efficiency] * factor * device.flop);
  AttentionTime time;
  time.blocks = sets * tiles;
  const double all_pairs = sets * (pairs + tiles * earlier);
  const double spread = std::max(time.blocks / device.units, 1.0) * fitted[block_us] +
                        all_pairs * pair / device.units;
  const double chain = fitted[block_us] + fitted[chain_share] * std::ceil(keys / n) * pair;
  time.compute_us = std::max(spread, chain);
  time.memory_us = all_bytes(shape, element_bytes) / (fitted[memory_share] * device.byte);
  time.us = fitted[floor_us] + time.compute_us + time.memory_us;
  return time;
}

AttentionTime generation_time(const FittedParameters& fitted,
                              const AttentionShape& shape,
                              double element_bytes,
                              const AttentionDevice& device) {
  using enum GenerationParameter;
  const auto sequences = static_cast<double>(shape.sequences);
  const auto heads = static_cast<double>(shape.heads);
  const auto kv_heads = static_cast<double>(shape.kv_heads);
  const auto head = static_cast<double>(shape.head);
  const double group = heads / kv_heads;
  const double tiles = sequences * kv_heads * std::ceil(group / fitted[query_tile]);
  const double key_tiles = std::ceil(static_cast<double>(shape.keys) / fitted[key_tile]);
  const bool may_split = shape.heads > shape.kv_heads || fitted[splits_ungrouped] > 0.5;
  const double most = may_split ? std::max(key_tiles / fitted[split_key_tiles], 1.0) : 1.0;
  const double split = std::clamp(device.units / tiles, 1.0, most);
  const double filled = tiles * split / device.units;
  const double quantized = fitted[wave_quantization];
  const double waves =
      quantized * std::ceil(filled - 1e-9) + (1 - quantized) * std::max(filled, 1.0);
  const double factor =
      head_factor(head, {fitted[head_64], fitted[head_192], fitted[head_256], fitted[head_512]});
  AttentionTime time;
  time.blocks = tiles * split;
  time.compute_us =
      waves * factor *
      (fitted[block_us] + std::max(key_tiles / split, 1.0) * fitted[key_tile_us] * head / 128);
  time.memory_us = all_bytes(shape, element_bytes) / (fitted[memory_share] * device.byte);
  const double p = fitted[overlap];
  time.us = fitted[floor_us] + sequences * fitted[sequence_us] +
            std::pow(std::pow(time.compute_us, p) + std::pow(time.memory_us, p), 1 / p);
  if (split > 1) time.us += fitted[combine_us] + fitted[combine_step_us] * std::log2(split);
  const double megabytes = sequences * heads * head * element_bytes / 1e6;
  time.us += megabytes * fitted[query_us_per_mb];
  if (shape.heads > shape.kv_heads && shape.kv_heads > 1) {
    time.us += fitted[regroup_us] + megabytes * fitted[regroup_us_per_mb];
  }
  return time;
}

bool attention_is_fitted(const Kernel& kernel, const Device& device) {
  return kernel.attention.heads > 0 && device.profile != nullptr &&
         (kernel.attention.queries == 1 ? device.profile->generation.known()
                                        : device.profile->context.known());
}

Estimate attention_cost(const Kernel& kernel, const Device& device) {
  const AttentionDevice rates = attention_device(device, kernel.type);
  const auto bytes = static_cast<double>(bytes_per_element(kernel.type));
  const AttentionTime time =
      kernel.attention.queries == 1
          ? generation_time(device.profile->generation, kernel.attention, bytes, rates)
          : context_time(device.profile->context, kernel.attention, bytes, rates);
  Estimate estimate{.duration = std::max(bounded_seconds(time.us / 1e6), device.kernel_floor)};
  estimate.share = std::min(1.0, std::ceil(time.blocks) / rates.units);
  estimate.bandwidth =
      Bandwidth{all_bytes(kernel.attention, bytes) / to_seconds(estimate.duration)};
  estimate.compute_share = static_cast<float>(std::min(1.0, time.compute_us / time.us));
  const double rest = time.us - std::max(time.compute_us, time.memory_us);
  estimate.bound = rest > std::max(time.compute_us, time.memory_us) ? Bound::latency
                   : time.memory_us > time.compute_us               ? Bound::memory
                                                                    : Bound::compute;
  return estimate;
}

}  // namespace schedlab
