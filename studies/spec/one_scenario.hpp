// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"

namespace schedlab {

/// Throws InputError naming the axes if the spec has more scenarios than one.
void expect_one_scenario(const Spec& spec, const Grid& grid);

}  // namespace schedlab
