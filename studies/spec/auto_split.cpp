// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/auto_split.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

bool says_auto(const JsonNode& node) {
  if (node.kind == JsonKind::string) return node.text() == "auto";
  return std::any_of(node.items.begin(), node.items.end(), says_auto);
}

/// Of one workload, or of a list of them.
bool leaves_open(const JsonNode& workload) {
  if (workload.kind == JsonKind::array) {
    return std::any_of(workload.items.begin(), workload.items.end(), leaves_open);
  }
  const JsonNode* split = workload.find(auto_split_option);
  return split != nullptr && says_auto(*split);
}

}  // namespace

bool is_auto_split(const std::map<std::string, OptionValue>& given) {
  const auto split = given.find(std::string{auto_split_option});
  return split != given.end() && std::holds_alternative<std::string>(split->second) &&
         std::get<std::string>(split->second) == "auto";
}

bool leaves_split_open(const Spec& spec) {
  const JsonNode* workload = spec.part(Part::workload);
  return workload != nullptr && leaves_open(*workload);
}

std::string split_given_text(const Spec& spec, const AutoSplit* found) {
  if (found == nullptr) return spec.text;
  Json json = Json::parse(spec.text);
  json["workload"][std::string{auto_split_option}] = found->chosen;
  return json.dump(2);
}

std::string split_text(const AutoSplit* found) {
  if (found == nullptr) return {};
  std::string text = fmt::format("  split found: {}; tried", found->chosen);
  for (const AutoSplit::Tried& tried : found->tried) {
    text += tried.failure.empty()
                ? fmt::format(" {} ({:.0f} us)", tried.split, to_us(tried.makespan))
                : fmt::format(" {} (cannot run)", tried.split);
  }
  return text + "\n";
}

}  // namespace schedlab
