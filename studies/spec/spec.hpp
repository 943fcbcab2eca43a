// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/json_node.hpp"
#include "studies/spec/adaptive.hpp"

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The keys of a spec that describe a scenario; a list below any of them is an axis.
enum class Part : std::uint8_t {
  workload,
  machine,
  cost_model,
  policy,
  launch,
  default_stream,
  ranks,
  seed,
  variability
};
inline constexpr std::size_t part_count = 9;
template <>
struct EnumNames<Part> {
  static constexpr auto names = name_list("workload",
                                          "machine",
                                          "cost_model",
                                          "policy",
                                          "launch",
                                          "default_stream",
                                          "ranks",
                                          "seed",
                                          "variability");
};

/// One spec file as the user wrote it: checked against the schema, ranges written out as lists,
/// lists not yet expanded.
struct Spec {
  std::string file;              ///< as the user named it; the label of every message
  std::filesystem::path folder;  ///< paths inside the spec are relative to it
  std::string text;              ///< the file's bytes
  JsonNode root;
  std::string name;
  std::string description;
  std::string baseline;                       ///< policy that speed-ups refer to; empty: none
  bool check = true;                          ///< verify the plans of a sweep with the plan checker
  bool like_for_like = true;                  ///< run policies at each other's granularities, too
  bool check_memory = true;                   ///< a run that does not fit into memory has no result
  std::vector<std::vector<std::string>> zip;  ///< groups of pointers of axes that advance together
  std::vector<std::string> ranges{};          ///< pointers of the axes that are given by their ends
  std::optional<AdaptiveChoice> adaptive{};   ///< nullopt: the whole grid is run

  /// The value of a part; nullptr when the spec leaves it out (its default applies).
  [[nodiscard]] const JsonNode* part(Part part) const { return root.find(to_string(part)); }
};

/// `notes`, if any, gets a line for each key that has a new name.
/// Throws InputError for a missing file and everything parse_spec() throws.
[[nodiscard]] Spec load_spec(const std::string& path, std::ostream* notes = nullptr);

/// Syntax, duplicate keys, schema. Throws InputError with file, pointer, found, expected and the
/// closest valid spelling.
[[nodiscard]] Spec parse_spec(std::string text,
                              std::string file,
                              std::filesystem::path folder = ".");

}  // namespace schedlab
