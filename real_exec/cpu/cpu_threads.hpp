// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstdint>
#include <vector>

namespace schedlab::detail {

/// The cores that this process may use, by their numbers.
[[nodiscard]] std::vector<std::uint32_t> usable_cores();

/// Binds the calling thread to a core. Throws DeviceError if the system refuses.
void bind_to_core(std::uint32_t core);

/// Binds the calling thread to a core, and back to where it was.
class BoundToCore {
 public:
  /// `core` below 0: changes nothing.
  explicit BoundToCore(std::int64_t core);
  BoundToCore(const BoundToCore&) = delete;
  BoundToCore& operator=(const BoundToCore&) = delete;
  ~BoundToCore();

 private:
  std::vector<std::uint32_t> before_;
};

/// The calling thread sleeps as exactly as the system can (Linux rounds up by 50 us by default).
void sleep_exactly();

}  // namespace schedlab::detail
