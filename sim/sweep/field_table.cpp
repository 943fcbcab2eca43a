// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/field_table.hpp"

namespace schedlab {
namespace {

using schema::Json;

/// "100 90 80".
Cell list_cell(const Json& list) {
  constexpr std::size_t max_shown = 64;
  if (!list.is_array() || list.empty() || list.size() > max_shown) return {};
  std::string all;
  for (const Json& item : list) {
    if (!all.empty()) all += ' ';
    all += item.is_string() ? item.get<std::string>() : item.dump();
  }
  return all;
}

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class Plain>
  Json operator()(const Plain& plain) const {
    return plain;
  }
};

}  // namespace

Json json_of(const Cell& cell) {
  return std::visit(ToJson{}, cell);
}

Cell cell_of(const FieldValue& value) {
  struct ToCell {
    Cell operator()(std::monostate) const { return {}; }
    Cell operator()(bool flag) const { return std::int64_t{flag ? 1 : 0}; }
    Cell operator()(std::int64_t number) const { return number; }
    Cell operator()(std::uint64_t number) const { return static_cast<std::int64_t>(number); }
    Cell operator()(double number) const { return number; }
    /// Divided, not multiplied, so that 13159675300 ps print as 13159.6753.
    Cell operator()(Duration time) const { return static_cast<double>(time.count()) / 1e6; }
    Cell operator()(const std::string& text) const { return text; }
    Cell operator()(const Json& json) const { return list_cell(json); }
  };
  return std::visit(ToCell{}, value);
}

}  // namespace schedlab
