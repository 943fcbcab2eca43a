// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/json_node.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace schedlab {

/// JSON Schema of an axis given by its ends: {"from": 16, "to": 256, "points": 61}.
[[nodiscard]] nlohmann::ordered_json axis_range_schema();

/// Puts the list of its values in the place of every such object at or below `node`: `points` of
/// them, `spacing` linear or geometric. Between whole numbers they are rounded to whole numbers, of
/// which each is there once. Adds the pointers of these lists to `pointers`.
/// Throws InputError for fewer than two different values and for a geometric one from 0 or across.
void expand_ranges(JsonNode& node, const std::string& file, std::vector<std::string>& pointers);

}  // namespace schedlab
