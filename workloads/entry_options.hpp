// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"
#include "sim/base/options.hpp"
#include "workloads/models/recurrent/recurrent.hpp"
#include "workloads/transforms/graph_transforms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

inline constexpr double max_size = 1 << 24;

/// The enumerator whose word this is; words in the order of the enumerators.
template <class Enum, std::size_t n>
Enum name_to(const std::array<std::string_view, n>& words, std::string_view word, Enum automatic) {
  if (word == "auto") return automatic;
  const auto found = std::find(words.begin(), words.end(), word);
  SCHEDLAB_EXPECTS(found != words.end(), std::string{word});
  return static_cast<Enum>(found - words.begin());
}

template <std::size_t n>
std::vector<std::string> allowed(const std::array<std::string_view, n>& words,
                                 bool automatic = false) {
  std::vector<std::string> all(words.begin(), words.end());
  if (automatic) all.insert(all.begin(), "auto");
  return all;
}

/// A whole number.
[[nodiscard]] OptionSpec size_option(std::string name,
                                     std::int64_t value,
                                     std::string doc,
                                     double minimum = 1,
                                     double maximum = max_size);
[[nodiscard]] OptionSpec number_option(
    std::string name, double value, std::string doc, double minimum, double maximum);

/// The number of slices that a batch is cut into.
[[nodiscard]] OptionSpec split_option(std::int64_t value);
/// granularity, accumulation, accumulation_steps, partial_buffers, buffer_order.
void add_cut_options(std::vector<OptionSpec>& options);
[[nodiscard]] RecurrentCut cut_from(const Options& options);
/// optimizer, include_transfers, include_tensors.
void add_training_options(std::vector<OptionSpec>& options,
                          Optimizer optimizer,
                          std::string_view applies = {});
[[nodiscard]] Optimizer optimizer_from(const Options& options);
/// remove_dead, mixed_precision, fuse_pointwise.
void add_transform_options(std::vector<OptionSpec>& options);
/// `type`: of the graph's elements. Throws InputError if mixed_precision is no narrower.
[[nodiscard]] GraphTransforms transforms_from(const Options& options, DataType type);

}  // namespace schedlab::detail
