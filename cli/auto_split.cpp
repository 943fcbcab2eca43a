// SPDX-License-Identifier: Apache-2.0
#include "cli/auto_split.hpp"

#include "cli/grid.hpp"
#include "cli/one_scenario.hpp"
#include "cli/scenario.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_slices = 64;  // assumed: far more than chips have core groups

const JsonNode* auto_node(const Spec& spec) {
  const JsonNode* workload = spec.part(Part::workload);
  const JsonNode* split = workload == nullptr ? nullptr : workload->find(auto_split_option);
  const bool is_auto =
      split != nullptr && split->kind == JsonKind::string && split->text() == "auto";
  return is_auto ? split : nullptr;
}

Spec with_split(const Spec& spec, std::int64_t slices) {
  Json json = Json::parse(spec.text);
  json["workload"][std::string{auto_split_option}] = slices;
  return parse_spec(json.dump(2), spec.file, spec.folder);
}

AutoSplit::Tried try_split(const Spec& spec, std::int64_t slices, const StopFlag* stop) {
  const Spec one = with_split(spec, slices);
  const Grid grid(one);
  expect_one_scenario(one, grid);
  ScenarioSpace space(one, grid);
  space.components().check_all();
  ScenarioRunner runner(space, stop);
  const ScenarioResult result = runner.run(0, false);
  AutoSplit::Tried tried{.split = slices, .makespan = result.summary.makespan, .failure = {}};
  if (result.failed) tried.failure = result.note;
  return tried;
}

}  // namespace

Spec with_found_split(Spec spec, const StopFlag* stop, AutoSplit& found) {
  if (auto_node(spec) == nullptr) return spec;
  Duration best = Duration::max();
  int no_faster = 0;
  for (std::int64_t slices = 1; slices <= most_slices && no_faster < split_patience; ++slices) {
    if (stop_requested(stop)) throw Interrupted("stopped");
    found.tried.push_back(try_split(spec, slices, stop));
    const AutoSplit::Tried& tried = found.tried.back();
    if (tried.failure.empty() && tried.makespan < best) {
      best = tried.makespan;
      found.chosen = slices;
      no_faster = 0;
    } else {
      ++no_faster;
    }
  }
  if (found.chosen == 0) {
    throw InfeasibleError(fmt::format("{}: /workload/split: no number of slices can run\n  1: {}",
                                      spec.file,
                                      found.tried.front().failure));
  }
  return with_split(spec, found.chosen);
}

std::string split_text(const AutoSplit& found) {
  if (found.chosen == 0) return {};
  std::string text = fmt::format("  split found: {}; tried", found.chosen);
  for (const AutoSplit::Tried& tried : found.tried) {
    text += tried.failure.empty()
                ? fmt::format(" {} ({:.0f} us)", tried.split, to_us(tried.makespan))
                : fmt::format(" {} (cannot run)", tried.split);
  }
  return text + "\n";
}

void expect_found_split(const std::map<std::string, OptionValue>& given, const std::string& file) {
  const auto split = given.find(std::string{auto_split_option});
  if (split == given.end() || !std::holds_alternative<std::string>(split->second)) return;
  throw InputError({.file = file,
                    .pointer = "/workload/split",
                    .found = fmt::format("\"{}\"", std::get<std::string>(split->second)),
                    .expected = "a number, or a list of numbers for a sweep",
                    .hint = "only schedlab simulate finds the number by itself"});
}

}  // namespace schedlab
