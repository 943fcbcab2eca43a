// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// Streams a policy opens when neither the user nor the graph's layers say how many; the most that
/// CUDA_DEVICE_MAX_CONNECTIONS allows (CUDA C++ programming guide, environment variables).
inline constexpr std::uint32_t max_default_streams = 32;

// Knobs that several policies share, so that one word means one thing.
[[nodiscard]] inline OptionSpec max_streams_option(std::int64_t default_value, std::string doc) {
  return {.name = "max_streams",
          .default_value = default_value,
          .doc = std::move(doc),
          .minimum = 0,
          .maximum = 65535};
}
[[nodiscard]] inline OptionSpec streams_per_iteration_option(bool default_value) {
  return {.name = "streams_per_iteration",
          .default_value = default_value,
          .doc = "Create the streams in the iteration and destroy them at its end."};
}
[[nodiscard]] inline OptionSpec priority_option() {
  return {
      .name = "priority",
      .default_value = std::int64_t{0},
      .doc = "Priority of the streams as CUDA counts: 0 is the lowest, negative is more urgent.",
      .minimum = -5,
      .maximum = 0};
}

[[nodiscard]] inline std::uint32_t count_of(const Options& options, std::string_view name) {
  return static_cast<std::uint32_t>(options.integer(name));
}

}  // namespace schedlab
