// SPDX-License-Identifier: Apache-2.0
#include "studies/comparison/scenario_comparison.hpp"

#include "sim/base/error.hpp"
#include "sim/base/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t most_scenarios = 100;  // of each direction, in the JSON
constexpr std::size_t most_values = 50;      // of an axis

/// Where the axes that both have stand in each of them.
struct CommonAxis {
  std::string name;
  bool of_policy = false;
  std::size_t first = 0;
  std::size_t second = 0;
};

std::size_t place_of(const ScenarioTimes& times, const std::string& axis) {
  const auto found = std::ranges::find(times.axes, axis, &ScenarioTimes::Axis::name);
  return static_cast<std::size_t>(found - times.axes.begin());
}

/// "layers=2, heft" of the axes that `wanted` takes; a policy's name speaks for itself.
template <class Wanted>
std::string label_of(const std::vector<CommonAxis>& axes,
                     const std::vector<std::string>& values,
                     const Wanted& wanted) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (values[i].empty() || !wanted(axes[i])) continue;
    const bool plain = axes[i].name == "policy" || axes[i].name == "case";
    words.push_back(plain ? values[i] : fmt::format("{}={}", axes[i].name, values[i]));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// A scenario by its values of the common axes.
using ByValues = std::map<std::vector<std::string>, const ScenarioTime*>;

class Comparer {
 public:
  Comparer(const ScenarioTimes& first, const ScenarioTimes& second) {
    result_.first_program = first.program;
    result_.second_program = second.program;
    find_axes(first, second);
    const ByValues mine = by_values(first, &CommonAxis::first);
    const ByValues theirs = by_values(second, &CommonAxis::second);
    match(mine, theirs);
    if (result_.scenarios.empty()) fail_without_scenarios(first, second);
    summarize();
    compare_axes();
    compare_winners(mine, theirs);
    compare_numbers(first, second);
  }

  [[nodiscard]] ScenarioComparison take() { return std::move(result_); }

 private:
  void find_axes(const ScenarioTimes& first, const ScenarioTimes& second) {
    for (std::size_t i = 0; i < first.axes.size(); ++i) {
      const ScenarioTimes::Axis& axis = first.axes[i];
      const std::size_t other = place_of(second, axis.name);
      if (other == second.axes.size()) {
        result_.lone_axes.push_back(axis.name);
      } else {
        axes_.push_back({axis.name, axis.of_policy, i, other});
      }
    }
    for (const ScenarioTimes::Axis& axis : second.axes) {
      if (place_of(first, axis.name) == first.axes.size()) result_.lone_axes.push_back(axis.name);
    }
  }

  [[nodiscard]] std::string whole_label(const std::vector<std::string>& values) const {
    const std::string label = label_of(axes_, values, [](const CommonAxis&) { return true; });
    return label.empty() ? "the only scenario" : label;
  }

  [[nodiscard]] ByValues by_values(const ScenarioTimes& times,
                                   std::size_t CommonAxis::*place) const {
    ByValues result;
    for (const ScenarioTime& scenario : times.scenarios) {
      std::vector<std::string> values;
      for (const CommonAxis& axis : axes_) values.push_back(scenario.values[axis.*place]);
      const auto [found, is_new] = result.emplace(std::move(values), &scenario);
      if (is_new) continue;
      throw InputError({.file = times.file,
                        .pointer = {},
                        .found = fmt::format("several scenarios of {}", whole_label(found->first)),
                        .expected = "one for each value of the axes that both have",
                        .hint = fmt::format("axes of one of the two alone: {}",
                                            fmt::join(result_.lone_axes, ", "))});
    }
    return result;
  }

  void match(const ByValues& mine, const ByValues& theirs) {
    const auto is_policy = [](const CommonAxis& axis) { return axis.of_policy; };
    const auto is_case = [](const CommonAxis& axis) { return !axis.of_policy; };
    for (const auto& [values, scenario] : mine) {
      const auto found = theirs.find(values);
      const std::string label = whole_label(values);
      if (found == theirs.end()) {
        result_.first_only.push_back(label);
        continue;
      }
      const ScenarioTime& other = *found->second;
      if (scenario->time <= Duration{0}) result_.first_failed.push_back(label);
      if (other.time <= Duration{0}) result_.second_failed.push_back(label);
      if (scenario->time <= Duration{0} || other.time <= Duration{0}) continue;
      result_.scenarios.push_back({.scenario = label,
                                   .group = label_of(axes_, values, is_case),
                                   .policy = label_of(axes_, values, is_policy),
                                   .first = scenario->time,
                                   .second = other.time,
                                   .decidable = apart(*scenario, other)});
      values_.push_back(values);
    }
    for (const auto& [values, scenario] : theirs) {
      if (!mine.contains(values)) result_.second_only.push_back(whole_label(values));
    }
  }

  static std::optional<bool> apart(const ScenarioTime& a, const ScenarioTime& b) {
    if (!a.interval || !b.interval) return std::nullopt;
    return !a.interval->overlaps(*b.interval);
  }

  [[noreturn]] void fail_without_scenarios(const ScenarioTimes& first,
                                           const ScenarioTimes& second) const {
    const std::vector<std::string>& alone = result_.second_only;
    throw InputError({.file = second.file,
                      .pointer = {},
                      .found = alone.empty() ? "no scenario that has a time in both"
                                             : fmt::format("\"{}\", and others", alone.front()),
                      .expected = "scenarios that are in " + first.file + ", too",
                      .hint = result_.first_only.empty()
                                  ? std::string{}
                                  : fmt::format("there is \"{}\"", result_.first_only.front())});
  }

  void summarize() {
    std::vector<double> ratios;
    double logarithms = 0;
    for (const ScenarioChange& change : result_.scenarios) {
      ratios.push_back(change.ratio());
      logarithms += std::log(change.ratio());
      if (!change.counts()) continue;
      if (change.second > change.first) ++result_.slower;
      if (change.second < change.first) ++result_.faster;
    }
    result_.ratio = std::exp(logarithms / static_cast<double>(ratios.size()));
    std::sort(ratios.begin(), ratios.end());
    result_.median = percentile(ratios, 0.5);
  }

  void compare_axes() {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      std::map<std::string, std::vector<double>> ratios;
      for (std::size_t k = 0; k < values_.size(); ++k) {
        ratios[values_[k][i]].push_back(result_.scenarios[k].ratio());
      }
      if (ratios.size() < 2 || ratios.size() > most_values) continue;
      std::vector<AxisChange> changes;
      for (const auto& [value, of_value] : ratios) {
        double logarithms = 0;
        for (const double ratio : of_value) logarithms += std::log(ratio);
        const auto [low, high] = std::minmax_element(of_value.begin(), of_value.end());
        changes.push_back({.axis = axes_[i].name,
                           .value = value,
                           .scenarios = of_value.size(),
                           .ratio = std::exp(logarithms / static_cast<double>(of_value.size())),
                           .min = *low,
                           .max = *high});
      }
      std::ranges::stable_sort(changes, std::greater{}, &AxisChange::ratio);
      result_.axes.insert(result_.axes.end(), changes.begin(), changes.end());
    }
  }

  void compare_winners(const ByValues& mine, const ByValues& theirs) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < result_.scenarios.size(); ++i) {
      groups[result_.scenarios[i].group].push_back(i);
    }
    for (const auto& each : groups) {
      const std::vector<std::size_t>& members = each.second;
      if (members.size() < 2) continue;
      ++result_.groups;
      const auto best = [&](Duration ScenarioChange::*time) {
        return *std::ranges::min_element(
            members, {}, [&](std::size_t i) { return result_.scenarios[i].*time; });
      };
      const std::size_t before = best(&ScenarioChange::first);
      const std::size_t after = best(&ScenarioChange::second);
      const ScenarioChange& old = result_.scenarios[before];
      const ScenarioChange& now = result_.scenarios[after];
      if (old.second <= now.second || now.first <= old.first) continue;  // equals both win
      result_.winners.push_back(
          {.group = each.first,
           .first_policy = old.policy,
           .second_policy = now.policy,
           .loss = to_us(old.second) / to_us(now.second) - 1,
           .decidable = both(apart(*mine.at(values_[before]), *mine.at(values_[after])),
                             apart(*theirs.at(values_[before]), *theirs.at(values_[after])))});
    }
    std::ranges::stable_sort(result_.winners, std::greater{}, &WinnerChange::loss);
    std::ranges::stable_sort(result_.scenarios, std::greater{}, &ScenarioChange::ratio);
  }

  static std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
    if (!a || !b) return std::nullopt;
    return *a && *b;
  }

  void compare_numbers(const ScenarioTimes& first, const ScenarioTimes& second) {
    for (const OverallNumber& number : first.numbers) {
      const auto found = std::ranges::find(second.numbers, number.name, &OverallNumber::name);
      if (found == second.numbers.end()) continue;
      result_.numbers.push_back({number.name, number.value, found->value});
    }
  }

  std::vector<CommonAxis> axes_;
  std::vector<std::vector<std::string>> values_;  // by scenario of the result, before it is sorted
  ScenarioComparison result_;
};

/// Those with the largest ratios, or the smallest; the extreme one first.
std::vector<ScenarioChange> extreme_scenarios(const ScenarioComparison& result, bool slower) {
  std::vector<ScenarioChange> extremes;
  const std::size_t all = result.scenarios.size();
  for (std::size_t i = 0; i < std::min(all, most_scenarios); ++i) {
    const ScenarioChange& change = result.scenarios[slower ? i : all - 1 - i];
    if (slower ? change.second > change.first : change.second < change.first) {
      extremes.push_back(change);
    }
  }
  return extremes;
}

}  // namespace

ScenarioComparison compare_scenarios(const ScenarioTimes& first, const ScenarioTimes& second) {
  return Comparer(first, second).take();
}

const Fields<ScenarioChange>& scenario_change_fields() {
  using C = ScenarioChange;
  static const Fields<C> fields{
      {"scenario", &C::scenario},
      time_fields<C>("first", &C::first),
      time_fields<C>("second", &C::second),
      {"ratio", &C::ratio, {.doc = "second over first"}},
      {"decidable",
       &C::decidable,
       {.doc = "measured: the 95 % intervals of the two do not overlap"}}};
  return fields;
}

const Fields<ScenarioComparison>& scenario_comparison_fields() {
  using A = AxisChange;
  using N = NumberChange;
  using S = ScenarioComparison;
  using W = WinnerChange;
  static const Fields<A> axis{{"axis", &A::axis},
                              {"value", &A::value},
                              {"scenarios", &A::scenarios},
                              {"ratio", &A::ratio, {.doc = "geometric mean of second over first"}},
                              {"ratio_min", &A::min},
                              {"ratio_max", &A::max}};
  static const Fields<W> winner{
      {"case", &W::group},
      {"first_policy", &W::first_policy},
      {"second_policy", &W::second_policy},
      {"loss", &W::loss, {.doc = "of the former winner against the new one, in the second"}},
      {"decidable", &W::decidable}};
  static const Fields<N> number{{"name", &N::name}, {"first", &N::first}, {"second", &N::second}};
  static const Fields<S> fields{
      {"first_program", &S::first_program, unless_empty},
      {"second_program", &S::second_program, unless_empty},
      {"compared", [](const S& s) { return s.scenarios.size(); }},
      {"slower", &S::slower},
      {"faster", &S::faster},
      {"ratio", &S::ratio, {.doc = "geometric mean of second over first"}},
      {"ratio_median", &S::median},
      {"numbers", &S::numbers, number, unless_empty},
      {"cases", &S::groups, {.doc = "with several policies"}},
      {"winners", &S::winners, winner, {.doc = "cases that another policy wins in the second"}},
      {"axes", &S::axes, axis},
      {"lone_axes", &S::lone_axes, {.doc = "that only one of the two has"}},
      {"first_only", &S::first_only},
      {"second_only", &S::second_only},
      {"first_failed", &S::first_failed},
      {"second_failed", &S::second_failed},
      {"slowest", [](const S& s) { return extreme_scenarios(s, true); }, scenario_change_fields()},
      {"fastest",
       [](const S& s) { return extreme_scenarios(s, false); },
       scenario_change_fields()}};
  return fields;
}

}  // namespace schedlab
