// SPDX-License-Identifier: Apache-2.0
#include "calibration/rule_sheet.hpp"

#include "calibration/simulated_device_bench.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/base/schema_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double tolerance = 0.1;  // of what is assumed; data sheets are no better

bool is_exact(const std::string& unit) {
  return unit == "count" || unit == "yes_no";
}

RuleVerdict verdict_of(const MeasuredRule& rule) {
  if (!rule.value) return RuleVerdict::not_measured;
  if (!rule.assumed) return RuleVerdict::not_simulated;
  bool agrees = false;
  if (rule.at_least || rule.assumed_at_least) {
    // Two values of which one is only a bound can be told apart when the other lies below it.
    agrees = (!rule.at_least || *rule.assumed >= *rule.value) &&
             (!rule.assumed_at_least || *rule.value >= *rule.assumed);
  } else if (is_exact(rule.unit)) {
    agrees = std::lround(*rule.value) == std::lround(*rule.assumed);
  } else {
    agrees = (rule.low <= *rule.assumed && *rule.assumed <= rule.high) ||
             std::abs(*rule.value - *rule.assumed) <= tolerance * std::abs(*rule.assumed);
  }
  return agrees ? RuleVerdict::agrees : RuleVerdict::differs;
}

MeasuredRule summarize(const RuleReading& reading, const RuleReading& assumed) {
  MeasuredRule rule{.name = reading.name,
                    .question = reading.question,
                    .unit = reading.unit,
                    .pointer = reading.pointer,
                    .at_least = reading.at_least,
                    .note = reading.note};
  if (reading.measured()) {
    const std::vector<double> kept = without_outliers(reading.values);
    Rng rng{1};
    const Interval interval = bootstrap_median_95(kept, rng);
    const Quartiles parts = quartiles(kept);
    rule.value = parts.middle;
    rule.low = interval.low;
    rule.high = interval.high;
    rule.spread = parts.high - parts.low;
    rule.runs = reading.values.size();
  }
  if (assumed.measured()) {
    rule.assumed = median(assumed.values);
    rule.assumed_at_least = assumed.at_least;
  }
  rule.verdict = verdict_of(rule);
  return rule;
}

/// One run each: without noise it says all. `reference` is asked what `simulator` cannot tell.
std::vector<RuleReading> simulate(const DeviceExperiment& experiment,
                                  DeviceBench& simulator,
                                  DeviceBench* reference) {
  std::vector<RuleReading> readings = experiment.measure(simulator, {.runs = 1});
  const bool complete = std::all_of(
      readings.begin(), readings.end(), [](const RuleReading& one) { return one.measured(); });
  if (complete || reference == nullptr) return readings;
  std::vector<RuleReading> others = experiment.measure(*reference, {.runs = 1});
  for (std::size_t i = 0; i < readings.size() && i < others.size(); ++i) {
    if (!readings[i].measured()) readings[i] = std::move(others[i]);
  }
  return readings;
}

/// "12.5 us", "at least 41", "yes".
std::string value_text(const std::optional<double>& value, bool at_least, const std::string& unit) {
  if (!value) return "-";
  if (unit == "yes_no") return *value >= 0.5 ? "yes" : "no";
  const std::string bound = at_least ? "at least " : "";
  if (unit == "count") return fmt::format("{}{:.0f}", bound, *value);
  if (unit == "ratio") return fmt::format("{}{:.2f}", bound, *value);
  return fmt::format("{}{:.3g} {}", bound, *value, unit);
}

std::string spread_text(const MeasuredRule& rule) {
  if (!rule.value || is_exact(rule.unit)) return {};
  return fmt::format("{:.3g} to {:.3g}", rule.low, rule.high);
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

const MeasuredRule* RuleSheet::find(std::string_view name) const {
  const auto found = std::find_if(
      rules.begin(), rules.end(), [&](const MeasuredRule& rule) { return rule.name == name; });
  return found == rules.end() ? nullptr : &*found;
}

RuleSheet make_rule_sheet(DeviceBench& device,
                          const Platform& believed,
                          const ProbeEffort& effort,
                          const RuleProgress& progress) {
  const DeviceFacts facts = device.facts();
  RuleSheet sheet{.device = facts.name,
                  .software = facts.software,
                  .date = facts.date,
                  .machine = believed.name,
                  .rules = {}};
  SimulatedDeviceBench simulator{believed};
  Platform by_block = believed;
  by_block.sharing = SharingModel::blocks;
  SimulatedDeviceBench reference{std::move(by_block)};
  const std::vector<DeviceExperiment> experiments = device_experiments();
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    progress(experiments[i].name, i, experiments.size());
    const std::vector<RuleReading> readings = experiments[i].measure(device, effort);
    const std::vector<RuleReading> simulated =
        simulate(experiments[i], simulator, shares_units(believed.sharing) ? &reference : nullptr);
    SCHEDLAB_EXPECTS(readings.size() == simulated.size(),
                     fmt::format("experiment {}: other rules when simulated", experiments[i].name));
    for (std::size_t rule = 0; rule < readings.size(); ++rule) {
      sheet.rules.push_back(summarize(readings[rule], simulated[rule]));
    }
  }
  return sheet;
}

std::string rule_sheet_json(const RuleSheet& sheet) {
  Json rules = Json::array();
  for (const MeasuredRule& rule : sheet.rules) {
    Json entry{{"name", rule.name}, {"question", rule.question}, {"unit", rule.unit}};
    if (!rule.pointer.empty()) entry["machine_number"] = rule.pointer;
    entry["value"] = optional_number(rule.value);
    if (rule.value) {
      entry["low"] = rule.low;
      entry["high"] = rule.high;
      entry["spread"] = rule.spread;
    }
    entry["runs"] = rule.runs;
    entry["at_least"] = rule.at_least;
    entry["assumed"] = optional_number(rule.assumed);
    entry["verdict"] = std::string{to_string(rule.verdict)};
    if (!rule.note.empty()) entry["note"] = rule.note;
    rules.push_back(std::move(entry));
  }
  const Json root{{"schedlab", "rule_sheet"},
                  {"version", 1},
                  {"device", sheet.device},
                  {"software", sheet.software},
                  {"date", sheet.date},
                  {"machine", sheet.machine},
                  {"rules", std::move(rules)}};
  return root.dump(2) + "\n";
}

std::string rule_sheet_schema() {
  const Json text{{"type", "string"}};
  const Json number{{"type", "number"}};
  const Json or_null{{"type", {"number", "null"}}};
  const auto words = [](std::initializer_list<std::string_view> all) {
    Json list = Json::array();
    for (const std::string_view word : all) list.push_back(std::string{word});
    return Json{{"type", "string"}, {"enum", std::move(list)}};
  };
  const Json rule = schema::object(
      {{"name", text},
       {"question", text},
       {"unit", words({"us", "count", "GB/s", "ratio", "yes_no"})},
       {"machine_number", text},
       {"value", or_null},
       {"low", number},
       {"high", number},
       {"spread", number},
       {"runs", {{"type", "integer"}, {"minimum", 0}}},
       {"at_least", {{"type", "boolean"}}},
       {"assumed", or_null},
       {"verdict",
        words({to_string(RuleVerdict::agrees),
               to_string(RuleVerdict::differs),
               to_string(RuleVerdict::not_measured),
               to_string(RuleVerdict::not_simulated)})},
       {"note", text}},
      {"name", "question", "unit", "value", "runs", "at_least", "assumed", "verdict"});
  const Json sheet = schema::object({{"device", text},
                                     {"software", text},
                                     {"date", text},
                                     {"machine", text},
                                     {"rules", {{"type", "array"}, {"items", rule}}}},
                                    {"device", "machine", "rules"});
  return schema::file("SchedLab rule sheet of a device", "rule_sheet", sheet).dump(2);
}

std::string rule_sheet_text(const RuleSheet& sheet) {
  std::string text = fmt::format("{}, compared with the machine {}\n", sheet.device, sheet.machine);
  text += fmt::format("  {:<28} {:>14} {:>20} {:>5} {:>14}   {}\n",
                      "rule",
                      "measured",
                      "95 % interval",
                      "runs",
                      "assumed",
                      "verdict");
  for (const MeasuredRule& rule : sheet.rules) {
    text += fmt::format("  {:<28} {:>14} {:>20} {:>5} {:>14}   {}\n",
                        rule.name,
                        value_text(rule.value, rule.at_least, rule.unit),
                        spread_text(rule),
                        rule.runs,
                        value_text(rule.assumed, rule.assumed_at_least, rule.unit),
                        to_string(rule.verdict));
  }
  return text;
}

std::string rule_sheet_markdown(const RuleSheet& sheet) {
  std::string text = fmt::format("# Rules of {}\n\n", sheet.device);
  text += fmt::format(
      "{}, {}. Assumed: what the same experiment gives on the simulated machine `{}`.\n\n",
      sheet.software,
      sheet.date,
      sheet.machine);
  text += "| question | measured | 95 % interval | runs | assumed | verdict | note |\n";
  text += "|---|---|---|---|---|---|---|\n";
  for (const MeasuredRule& rule : sheet.rules) {
    text += fmt::format("| {} (`{}`) | {} | {} | {} | {} | {} | {} |\n",
                        rule.question,
                        rule.name,
                        value_text(rule.value, rule.at_least, rule.unit),
                        spread_text(rule),
                        rule.runs,
                        value_text(rule.assumed, rule.assumed_at_least, rule.unit),
                        to_string(rule.verdict),
                        rule.note);
  }
  return text;
}

}  // namespace schedlab
