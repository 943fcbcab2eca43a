// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/fitted_parameters.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <span>

namespace schedlab {

/// Attention of sequences of new tokens (prompts, training), all heads in one kernel.
enum class ContextParameter : std::uint8_t {
  query_tile,
  key_tile,
  packed,
  floor_us,
  block_us,
  efficiency,
  memory_share,
  chain_share,
  short_tile_share,
  head_64,
  head_192,
  head_256,
  head_512,
};
/// Attention of one new token of each sequence to its cache of keys and values (decoding).
enum class GenerationParameter : std::uint8_t {
  query_tile,
  key_tile,
  splits_ungrouped,
  floor_us,
  block_us,
  key_tile_us,
  memory_share,
  split_key_tiles,
  combine_us,
  combine_step_us,
  overlap,
  wave_quantization,
  sequence_us,
  query_us_per_mb,
  regroup_us,
  regroup_us_per_mb,
  head_64,
  head_192,
  head_256,
  head_512,
};
/// Ranges and meanings, in the order of the enumerators.
[[nodiscard]] std::span<const ParameterInfo> context_parameters();
[[nodiscard]] std::span<const ParameterInfo> generation_parameters();

/// A device as these models see it; times are in us.
struct AttentionDevice {
  double units = 1;
  double flop = 0;  ///< per us, peak of the matrix units
  double byte = 0;  ///< per us, nominal, of the memory
};
[[nodiscard]] AttentionDevice attention_device(const Device& device, DataType type);

/// What attention took, and what of it.
struct AttentionTime {
  double us = 0;
  double compute_us = 0;
  double memory_us = 0;
  double blocks = 1;
};

/// Time of one kernel over all heads that keeps scores on chip (Dao et al., FlashAttention, arXiv
/// 2205.14135), causal, s sequences of L new tokens, h heads on k heads of keys and values of d:
///
///   rows    = L, with `packed` L h/k: the heads of one group side by side
///   tiles   = ceil(rows / query_tile) of each sequence and head (packed: head of keys and values)
///   pairs   = over all tiles, the key tiles of which a row of it sees a key
///   pair    = 4 query_tile key_tile d FLOP at efficiency x head of a unit's peak, of sequences
///             shorter than a key tile the part short_tile_share, and the rest by their length
///   compute = max(max(tiles / units, 1) block_us + pairs x pair / units,
///                 block_us + chain_share x ceil(L / key_tile) x pair)
///   memory  = queries, keys, values and result once, at memory_share of the nominal bandwidth
///   kernel  = floor_us + compute + memory
///
/// head: head_64 ... head_512 by d, 1 for d = 128, between them by log2 d. Sequences of one token
/// are those of generation_time(). Valid for: d 64 to 512, L 16 to 16384, 2-byte operands.
/// Cost: O(L / key_tile).
[[nodiscard]] AttentionTime context_time(const FittedParameters& fitted,
                                         const AttentionShape& shape,
                                         double element_bytes,
                                         const AttentionDevice& device);

/// Time of decoding, s sequences with n keys each, h heads on k heads of keys and values of d:
///
///   tiles   = s k ceil(h / k / query_tile)
///   split   = parts of the keys that fill the units: units / tiles, at least 1, at most one for
///             each split_key_tiles key tiles; 1 where h = k and not splits_ungrouped
///   waves   = q ceil(tiles split / units) + (1 - q) max(tiles split / units, 1)
///             q: wave_quantization
///   compute = waves x head x (block_us + max(ceil(n / key_tile) / split, 1) key_tile_us d / 128)
///   memory  = keys, values, queries and result at memory_share of the nominal bandwidth
///   kernel  = floor_us + s sequence_us + (compute^p + memory^p)^(1/p)             p: overlap
///           + combine_us + combine_step_us log2(split)                            if split
///           + MB of queries x query_us_per_mb
///           + regroup_us + MB of queries x regroup_us_per_mb                      if h > k > 1
///
/// The last is a library that lays the heads of a group beside each other in kernels of its own.
/// Valid for: d 64 to 512, n up to 131072, 2-byte operands. Cost: some 100 ns.
[[nodiscard]] AttentionTime generation_time(const FittedParameters& fitted,
                                            const AttentionShape& shape,
                                            double element_bytes,
                                            const AttentionDevice& device);

/// True where the kernel is attention and the device has the parameters for it.
[[nodiscard]] bool attention_is_fitted(const Kernel& kernel, const Device& device);
/// Of such a kernel on such a device: a unit for each block, up to all of them.
[[nodiscard]] Estimate attention_cost(const Kernel& kernel, const Device& device);

}  // namespace schedlab
