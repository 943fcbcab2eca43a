// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/machine/cost_model.hpp"
#include "studies/base/shared_cache.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace schedlab {

/// What does not depend on workload, policy and launch mode and takes long to make. Specs that
/// differ in nothing else may share it. Thread-safe.
struct SharedParts {
  static constexpr std::size_t max_entries = 1U << 16U;

  /// By name or path, as read; with the sources of its numbers or without.
  SharedCache<std::pair<std::string, bool>, MachineSpec> machines{max_entries};
  /// By alternative of the spec; for a machine with a profile or without, which decides the
  /// default. With what it fitted to profiles.
  SharedCache<std::array<std::uint64_t, 2>, std::unique_ptr<CostModel>> cost_models{max_entries};
};

}  // namespace schedlab
