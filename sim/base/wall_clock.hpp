// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace schedlab {

/// Date and time for what is written about a measurement: UTC, as 2026-11-21T22:10:00Z.
[[nodiscard]] std::string now_utc();

}  // namespace schedlab
