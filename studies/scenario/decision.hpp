// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/critical_path.hpp"

#include <string>

namespace schedlab {

/// One sentence that says whose speed decided how long a run took, by the parts of its critical
/// path: "the host decides 99.9 % of the makespan: ...". Of several equal parts counts the first.
[[nodiscard]] std::string who_decides(const TraceCriticalPath& path);

}  // namespace schedlab
