// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/sweep/table.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/border_map.hpp"
#include "studies/sweep/results_store.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace schedlab {

inline constexpr const char* borders_csv = "borders.csv";

/// Which scenarios of a grid show where the winner changes: those of a map (BorderMap) for each
/// combination of what is not an axis given by its ends, all policies of each case. Scenarios keep
/// their numbers of the whole grid, and what to run next follows from the rows that are there, so a
/// sweep goes on where it was stopped.
class AdaptiveSweep {
 public:
  /// Throws InputError for a spec without such axes or with more than max_map_axes, and for
  /// policies that are not compared in it. Both must outlive this.
  AdaptiveSweep(const Spec& spec, const Grid& grid);

  /// An axis of the maps.
  struct Axis {
    std::string name;
    std::size_t column = 0;  ///< of the grid's axes
    std::vector<Cell> values;
    std::uint64_t stride = 0;
  };
  /// The cases that differ in the axes of the map alone.
  struct Panel {
    std::uint64_t first = 0;  ///< scenario where all of them have their first value
    std::string title;        ///< "machine=v100"; empty: there is one panel
    BorderMap map;
  };

  /// Scenarios to be run before look_at(), case by case; empty: all is known.
  [[nodiscard]] std::vector<std::uint64_t> wanted() const;
  /// Takes in the rows of the wanted scenarios, and halves the cells on borders.
  void look_at(const ResultsStore& store);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<Panel>& panels() const { return panels_; }
  /// What lies on the two sides of a border: policies, bounds or probabilities.
  [[nodiscard]] const std::vector<std::string>& regions() const { return regions_; }

  /// A row for each two neighbours that lie in different regions.
  [[nodiscard]] Table borders() const;
  /// How much of the grid was run, and how to read the maps.
  [[nodiscard]] std::string summary() const;
  /// One map a panel, axes beyond the second at some of their values.
  [[nodiscard]] std::vector<ReportFigure> pictures() const;

 private:
  void take_axes();
  void take_rivals();
  void add_panels(const std::vector<Grid::Digit>& others, std::size_t digit, std::uint64_t first);
  [[nodiscard]] std::uint64_t scenario(const Panel& panel, const MapPlace& place) const;
  [[nodiscard]] MapOutcome outcome(const ResultsStore& store, std::uint64_t first);
  [[nodiscard]] MapOutcome by_probability(const ResultsStore& store, std::uint64_t first);
  [[nodiscard]] std::string title_of(std::uint64_t first) const;
  [[nodiscard]] std::uint32_t region(const std::string& name);

  const Spec& spec_;
  const Grid& grid_;
  AdaptiveChoice choice_;
  std::vector<Axis> axes_;
  std::vector<std::string> policies_;       // by alternative of the axes that belong to it alone
  std::vector<std::uint64_t> competitors_;  // alternatives that are compared
  std::vector<std::string> regions_;
  std::size_t rivals_ = 0;  // the first regions: policies whose makespans are compared
  std::vector<Panel> panels_;
};

/// Runs the scenarios that an adaptive sweep asks for and that are not in the store yet, as
/// run_scenarios() does; there are no shards. Afterwards `adaptive` holds the maps, unless it was
/// interrupted. `observer`: gets the number of scenarios that are done and wanted so far.
SweepCounts run_adaptive(AdaptiveSweep& adaptive,
                         ScenarioSpace& space,
                         ResultsStore& store,
                         const SweepRequest& request,
                         const StopFlag* stop,
                         const std::function<void(std::uint64_t, std::uint64_t)>& observer);

}  // namespace schedlab
