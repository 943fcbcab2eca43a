// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/adaptive_sweep.hpp"

#include "sim/base/error.hpp"
#include "sim/sweep/parallel_rows.hpp"
#include "sim/trace/sampled_metrics.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/sweep/policy_comparison.hpp"
#include "studies/sweep/sweep_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace schedlab {
namespace {

constexpr const char* no_result = "no result";
constexpr std::array<double, 3> probabilities{0.05, 0.5, 0.95};

std::size_t column_of(const ResultsStore& store, std::string_view name) {
  const auto& columns = store.columns();
  const auto found = std::find_if(
      columns.begin(), columns.end(), [&](const auto& column) { return column.name == name; });
  SCHEDLAB_EXPECTS(found != columns.end(), "a column of results");
  return static_cast<std::size_t>(found - columns.begin());
}

[[noreturn]] void refuse_adaptive(const Spec& spec,
                                  const std::string& key,
                                  std::string found,
                                  std::string expected,
                                  std::string hint = {}) {
  throw InputError({.file = spec.file,
                    .pointer = "/adaptive" + key,
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

}  // namespace

AdaptiveSweep::AdaptiveSweep(const Spec& spec, const Grid& grid)
    : spec_(spec), grid_(grid), choice_(spec.adaptive.value_or(AdaptiveChoice{})) {
  take_axes();
  take_rivals();
  std::vector<Grid::Digit> others;
  for (Grid::Digit& digit : grid.digits()) {
    const bool mapped = std::any_of(axes_.begin(), axes_.end(), [&](const Axis& axis) {
      return axis.stride == digit.stride && axis.values.size() == digit.count;
    });
    if (!mapped && !digit.of_policy && digit.count > 1) others.push_back(std::move(digit));
  }
  add_panels(others, 0, 0);
}

void AdaptiveSweep::take_axes() {
  for (const Grid::Digit& digit : grid_.digits()) {
    const auto given =
        std::find_if(digit.pointers.begin(), digit.pointers.end(), [&](const std::string& pointer) {
          return std::find(spec_.ranges.begin(), spec_.ranges.end(), pointer) != spec_.ranges.end();
        });
    if (given == digit.pointers.end() || digit.of_policy) continue;
    Axis& axis = axes_.emplace_back();
    const auto& columns = grid_.axes();
    axis.column = static_cast<std::size_t>(
        std::find_if(columns.begin(),
                     columns.end(),
                     [&](const AxisColumn& column) { return column.path == *given; }) -
        columns.begin());
    SCHEDLAB_EXPECTS(axis.column < columns.size(), "the column of an axis");
    axis.name = columns[axis.column].name;
    axis.stride = digit.stride;
    for (std::uint64_t i = 0; i < digit.count; ++i) {
      axis.values.push_back(grid_.axis_values(i * digit.stride)[axis.column]);
    }
  }
  if (!axes_.empty() && axes_.size() <= max_map_axes) return;
  refuse_adaptive(spec_,
                  {},
                  axes_.empty() ? "no axis that is given by its ends"
                                : fmt::format("{} axes given by their ends", axes_.size()),
                  fmt::format("1 to {} of them, outside the policies", max_map_axes),
                  R"(as {"from": 16, "to": 256, "points": 61} in the place of a list)");
}

void AdaptiveSweep::take_rivals() {
  std::size_t column = 0;
  while (column < grid_.axes().size() && grid_.axes()[column].path != "/policy") ++column;
  std::vector<std::string> known;
  for (std::uint64_t i = 0; i < grid_.own_count(Part::policy); ++i) {
    const std::uint64_t scenario = grid_.with_part(0, Part::policy, i);
    policies_.push_back(column < grid_.axes().size()
                            ? to_string(grid_.axis_values(scenario)[column])
                            : axes_text(grid_, scenario, true));
    if (std::find(known.begin(), known.end(), policies_.back()) == known.end()) {
      known.push_back(policies_.back());
    }
  }
  const bool scatters = spec_.part(Part::variability) != nullptr;
  if (choice_.border == BorderOf::automatic) {
    const bool pair = !choice_.over.empty() || known.size() == 2;
    choice_.border = scatters && pair ? BorderOf::probability : BorderOf::winner;
  }
  const std::string of_these = fmt::format("two of {}", fmt::join(known, ", "));
  if (choice_.policy.empty() != choice_.over.empty()) {
    refuse_adaptive(spec_, {}, "only one of policy and over", of_these);
  }
  if (choice_.policy.empty() && known.size() == 2) {
    choice_.over = known[0];
    choice_.policy = known[1];
  }
  for (const auto& [key, name] : {std::pair{"/policy", choice_.policy}, {"/over", choice_.over}}) {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    refuse_adaptive(spec_, key, fmt::format("\"{}\"", name), of_these);
  }
  if (choice_.border == BorderOf::winner && known.size() < 2) {
    refuse_adaptive(spec_, {}, "one policy", "several, or \"border\": \"limit\"");
  }
  if (choice_.border == BorderOf::probability && (!scatters || choice_.policy.empty())) {
    refuse_adaptive(spec_,
                    "/border",
                    scatters ? "no two policies" : "a machine that does not scatter",
                    scatters ? "policy and over" : "the key variability",
                    {});
  }
  for (std::uint64_t i = 0; i < policies_.size(); ++i) {
    const bool wanted =
        choice_.policy.empty() || policies_[i] == choice_.policy || policies_[i] == choice_.over;
    if (wanted) competitors_.push_back(i);
  }
  if (choice_.border == BorderOf::probability) {
    for (const char* words : {"below 5 %", "5 to 50 %", "50 to 95 %", "above 95 %"}) {
      regions_.push_back(fmt::format("{} faster: {}", choice_.policy, words));
    }
  }
  if (choice_.border == BorderOf::winner) {
    for (const std::uint64_t i : competitors_) static_cast<void>(region(policies_[i]));
    rivals_ = regions_.size();
  }
}

void AdaptiveSweep::add_panels(const std::vector<Grid::Digit>& others,
                               std::size_t digit,
                               std::uint64_t first) {
  if (digit < others.size()) {
    for (std::uint64_t i = 0; i < others[digit].count; ++i) {
      add_panels(others, digit + 1, first + i * others[digit].stride);
    }
    return;
  }
  BorderMapSettings settings{.coarse_cells = choice_.coarse_cells,
                             .border_width = choice_.border_width,
                             .interpolate = choice_.interpolate};
  for (const Axis& axis : axes_) {
    settings.values.push_back(static_cast<std::uint32_t>(axis.values.size()));
  }
  panels_.push_back({first, title_of(first), BorderMap(std::move(settings))});
}

std::string AdaptiveSweep::title_of(std::uint64_t first) const {
  const std::vector<Cell> cells = grid_.axis_values(first);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const AxisColumn& column = grid_.axes()[i];
    const bool mapped =
        std::any_of(axes_.begin(), axes_.end(), [&](const Axis& axis) { return axis.column == i; });
    if (mapped || cells[i].index() == 0 || column.values < 2 ||
        column.path.starts_with("/policy")) {
      continue;
    }
    words.push_back(fmt::format("{}={}", column.name, to_string(cells[i])));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::uint64_t AdaptiveSweep::scenario(const Panel& panel, const MapPlace& place) const {
  std::uint64_t number = panel.first;
  for (std::size_t i = 0; i < axes_.size(); ++i) number += place[i] * axes_[i].stride;
  return number;
}

std::vector<std::uint64_t> AdaptiveSweep::wanted() const {
  std::vector<std::uint64_t> cases;
  for (const Panel& panel : panels_) {
    for (const MapPlace& place : panel.map.wanted()) cases.push_back(scenario(panel, place));
  }
  std::sort(cases.begin(), cases.end());
  std::vector<std::uint64_t> scenarios;
  for (const std::uint64_t one : cases) {
    for (const std::uint64_t i : competitors_) {
      scenarios.push_back(grid_.with_part(one, Part::policy, i));
    }
  }
  return scenarios;
}

void AdaptiveSweep::look_at(const ResultsStore& store) {
  for (Panel& panel : panels_) {
    for (const MapPlace& place : panel.map.wanted()) {
      const std::uint64_t first = scenario(panel, place);
      panel.map.add(place,
                    choice_.border == BorderOf::probability ? by_probability(store, first)
                                                            : outcome(store, first));
    }
    panel.map.refine();
  }
}

std::uint32_t AdaptiveSweep::region(const std::string& name) {
  const auto found = std::find(regions_.begin(), regions_.end(), name);
  const auto index = static_cast<std::uint32_t>(found - regions_.begin());
  if (found == regions_.end()) regions_.push_back(name);
  return index;
}

MapOutcome AdaptiveSweep::outcome(const ResultsStore& store, std::uint64_t first) {
  const std::size_t makespan = column_of(store, "makespan_ps");
  const std::size_t bound = column_of(store, "bound");
  std::map<std::string, double> shortest;  // by policy
  std::string winner;
  std::string limit = no_result;
  for (const std::uint64_t i : competitors_) {
    const std::vector<Cell> cells = store.row(grid_.with_part(first, Part::policy, i));
    SCHEDLAB_EXPECTS(!cells.empty(), "the rows that were wanted");
    const auto* time = std::get_if<std::int64_t>(&cells[makespan]);
    if (time == nullptr || *time <= 0) continue;
    const double height = std::log(static_cast<double>(*time));
    const bool first_or_less = winner.empty() || height < shortest.at(winner);
    const auto [known, added] = shortest.try_emplace(policies_[i], height);
    known->second = std::min(known->second, height);
    if (!first_or_less) continue;
    winner = policies_[i];
    if (const auto* word = std::get_if<std::string>(&cells[bound])) limit = *word;
  }
  if (choice_.border == BorderOf::limit) return {.region = region(limit)};
  MapOutcome outcome{.region = region(winner.empty() ? no_result : winner)};
  for (std::size_t i = 0; i < rivals_; ++i) {
    const auto known = shortest.find(regions_[i]);
    if (known == shortest.end()) return {.region = outcome.region};
    outcome.heights.push_back(known->second);
  }
  return outcome;
}

MapOutcome AdaptiveSweep::by_probability(const ResultsStore& store, std::uint64_t first) {
  const auto samples_of = [&](const std::string& policy) {
    std::vector<Duration> shortest;
    std::int64_t least = 0;
    for (const std::uint64_t i : competitors_) {
      if (policies_[i] != policy) continue;
      std::vector<Duration> samples = store.samples(grid_.with_part(first, Part::policy, i));
      std::int64_t sum = 0;
      for (const Duration each : samples) sum += each.count();
      if (samples.empty() || (!shortest.empty() && sum >= least)) continue;
      least = sum;
      shortest = std::move(samples);
    }
    return shortest;
  };
  const std::vector<Duration> one = samples_of(choice_.policy);
  const std::vector<Duration> other = samples_of(choice_.over);
  if (one.empty() || one.size() != other.size()) return {.region = region(no_result)};
  const double faster = compare_samples(one, other).faster.value;
  std::uint32_t band = 0;
  for (const double limit : probabilities) band += faster > limit ? 1 : 0;
  return {.region = band};
}

SweepCounts run_adaptive(AdaptiveSweep& adaptive,
                         ScenarioSpace& space,
                         ResultsStore& store,
                         const SweepRequest& request,
                         const StopFlag* stop,
                         const std::function<void(std::uint64_t, std::uint64_t)>& observer) {
  SCHEDLAB_EXPECTS(request.shard.count == 1, "the whole of an adaptive sweep");
  const auto started = std::chrono::steady_clock::now();
  SweepCounts counts;
  std::vector<bool> done = store.done();
  RowMaker maker(space, done, request.check, stop, worker_count(request.jobs));
  try {
    for (;;) {
      const std::vector<std::uint64_t> wanted = adaptive.wanted();
      if (wanted.empty()) break;
      const std::uint64_t before = counts.kept + counts.ran;
      counts.scenarios += wanted.size();
      for (const std::uint64_t each : wanted) counts.kept += done[each] ? 1U : 0U;
      const RowWork work = [&](RowRange range, unsigned worker) -> Commit {
        auto rows = std::make_shared<std::vector<FinishedRow>>(
            maker.make(std::span{wanted}.subspan(range.first, range.last - range.first), worker));
        return [&, rows] {
          for (const FinishedRow& row : *rows) row.add_to(store);
          store.commit_if_due();
          counts.ran += rows->size();
          if (observer) observer(counts.kept + counts.ran, counts.scenarios);
        };
      };
      parallel_rows(wanted.size(), request.jobs, stop, work);
      counts.interrupted = counts.kept + counts.ran < before + wanted.size();
      if (counts.interrupted) break;
      for (const std::uint64_t each : wanted) done[each] = true;
      adaptive.look_at(store);
    }
  } catch (...) {
    store.save_what_is_there();  // what is done is kept whatever happened
    throw;
  }
  store.flush();
  counts.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return counts;
}

}  // namespace schedlab
