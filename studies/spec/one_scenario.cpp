// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/one_scenario.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace schedlab {

void expect_one_scenario(const Spec& spec, const Grid& grid) {
  if (grid.size() == 1) return;
  std::vector<std::string> axes;
  for (const AxisColumn& axis : grid.axes()) {
    axes.push_back(fmt::format("{} ({} values)", axis.name, axis.values));
  }
  throw InputError(
      {.file = spec.file,
       .pointer = {},
       .found = fmt::format("{} scenarios along {}", grid.size(), fmt::join(axes, ", ")),
       .expected = "one scenario",
       .hint = "run schedlab sweep, or give each of these one value"});
}

}  // namespace schedlab
