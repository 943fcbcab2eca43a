// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/json_node.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// Values that an axis given by its ends may have.
inline constexpr std::int64_t max_axis_points = 100'000;

/// Puts the list of its values in the place of every axis given by its ends, as
/// {"from": 16, "to": 256, "points": 61}, at or below `node`: `points` of them, `spacing` linear or
/// geometric. Between whole numbers they are rounded to whole numbers, of which each is there once.
/// Adds the pointers of these lists to `pointers`. Throws InputError for fewer than two different
/// values and for a geometric one from 0 or across.
void expand_ranges(JsonNode& node, const std::string& file, std::vector<std::string>& pointers);

}  // namespace schedlab
