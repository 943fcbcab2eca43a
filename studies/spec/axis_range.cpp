// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/axis_range.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace schedlab {
namespace {

bool is_range(const JsonNode& node) {
  return node.kind == JsonKind::object && node.find("from") != nullptr &&
         node.find("to") != nullptr && node.find("points") != nullptr;
}

double number_of(const JsonNode& node) {
  const auto* whole = std::get_if<std::int64_t>(&node.scalar);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(node.scalar);
}

JsonNode list_of_values(const JsonNode& range, const std::string& file) {
  const JsonNode& first = *range.find("from");
  const JsonNode& last = *range.find("to");
  const bool whole = first.kind == JsonKind::integer && last.kind == JsonKind::integer;
  const double from = number_of(first);
  const double to = number_of(last);
  const auto points = std::get<std::int64_t>(range.find("points")->scalar);
  const JsonNode* spacing = range.find("spacing");
  const bool geometric = spacing != nullptr && spacing->text() == "geometric";
  if (geometric && (from <= 0 || to <= 0)) {
    throw InputError({.file = file,
                      .pointer = range.pointer,
                      .found = fmt::format("a geometric axis from {} to {}", from, to),
                      .expected = "both above 0",
                      .hint = {}});
  }
  JsonNode list{
      .kind = JsonKind::array, .scalar = {}, .keys = {}, .items = {}, .pointer = range.pointer};
  for (std::int64_t i = 0; i < points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(points - 1);
    double value = geometric ? from * std::pow(to / from, share) : from + (to - from) * share;
    if (i == points - 1) value = to;
    JsonNode item{.kind = whole ? JsonKind::integer : JsonKind::number,
                  .scalar = {},
                  .keys = {},
                  .items = {},
                  .pointer = fmt::format("{}/{}", range.pointer, list.items.size())};
    item.scalar = whole ? OptionValue{static_cast<std::int64_t>(std::llround(value))} : value;
    if (list.items.empty() || list.items.back().scalar != item.scalar) {
      list.items.push_back(std::move(item));
    }
  }
  if (list.items.size() > 1) return list;
  throw InputError({.file = file,
                    .pointer = range.pointer,
                    .found = fmt::format("from {} to {}", from, to),
                    .expected = "two different values",
                    .hint = {}});
}

}  // namespace

void expand_ranges(JsonNode& node, const std::string& file, std::vector<std::string>& pointers) {
  if (is_range(node)) {
    node = list_of_values(node, file);
    pointers.push_back(node.pointer);
    return;
  }
  for (JsonNode& below : node.items) expand_ranges(below, file, pointers);
}

}  // namespace schedlab
