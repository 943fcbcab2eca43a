// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_report.hpp"

#include "calibration/simulated_device_bench.hpp"
#include "sim/base/error.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/robust_statistics.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using schema::Json;

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

/// Of a device that cannot run the experiment: the reason, with the rules as the simulator has
/// them.
std::vector<RuleReading> measure(const DeviceExperiment& experiment,
                                 DeviceBench& device,
                                 const BenchEffort& effort,
                                 const std::vector<RuleReading>& simulated) {
  try {
    return experiment.measure(device, effort);
  } catch (const InfeasibleError& error) {
    std::vector<RuleReading> readings = simulated;
    for (RuleReading& one : readings) {
      one.values.clear();
      one.note = error.what();
    }
    return readings;
  }
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

Fields<MeasuredRule> rule_fields() {
  using M = MeasuredRule;
  static constexpr std::array<std::string_view, 5> units{"us", "count", "GB/s", "ratio", "yes_no"};
  return {{"name", &M::name},
          {"question", &M::question},
          {"unit", &M::unit, {.words = units}},
          {"machine_number", &M::pointer, unless_empty},
          {"value", &M::value, or_null},
          when<M>([](const M& m) { return m.value.has_value(); },
                  {{"low", &M::low}, {"high", &M::high}, {"spread", &M::spread}}),
          {"runs", &M::runs},
          {"at_least", &M::at_least},
          {"assumed", &M::assumed, or_null},
          {"verdict", &M::verdict},
          {"note", &M::note, unless_empty}};
}

Fields<DeviceReport> device_report_fields() {
  using S = DeviceReport;
  return {{"device", &S::device},
          {"software", &S::software},
          {"date", &S::date},
          {"machine", &S::machine},
          {"rules", &S::rules, rule_fields()}};
}

}  // namespace

const MeasuredRule* DeviceReport::find(std::string_view name) const {
  const auto found = std::find_if(
      rules.begin(), rules.end(), [&](const MeasuredRule& rule) { return rule.name == name; });
  return found == rules.end() ? nullptr : &*found;
}

DeviceReport make_device_report(DeviceBench& device,
                                const Platform& believed,
                                const BenchEffort& effort,
                                const RuleProgress& progress) {
  const DeviceFacts facts = device.facts();
  DeviceReport sheet{.device = facts.name,
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
    const std::vector<RuleReading> simulated =
        simulate(experiments[i], simulator, shares_units(believed.sharing) ? &reference : nullptr);
    const std::vector<RuleReading> readings = measure(experiments[i], device, effort, simulated);
    SCHEDLAB_EXPECTS(readings.size() == simulated.size(),
                     fmt::format("experiment {}: other rules when simulated", experiments[i].name));
    for (std::size_t rule = 0; rule < readings.size(); ++rule) {
      sheet.rules.push_back(summarize(readings[rule], simulated[rule]));
    }
  }
  return sheet;
}

std::string device_report_json(const DeviceReport& sheet) {
  Json root{{"schedlab", "device_report"}, {"version", 1}};
  device_report_fields().add_to(root, sheet);
  return root.dump(2) + "\n";
}

std::string device_report_schema() {
  return schema::file("SchedLab device report", "device_report", device_report_fields().schema())
      .dump(2);
}

std::string device_report_text(const DeviceReport& sheet) {
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

std::string device_report_markdown(const DeviceReport& sheet) {
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
