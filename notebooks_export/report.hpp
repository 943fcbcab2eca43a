// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/sweep_view.hpp"
#include "sim/sweep/table.hpp"

#include <map>
#include <string>
#include <vector>

namespace schedlab {

/// A picture that the report takes in: the text of an SVG file.
struct ReportFigure {
  std::string title;
  std::string svg;
  std::string target{};  ///< a page to explore it, relative to the report; may be empty
};

/// A further table, after that of the best policies.
struct ReportTable {
  std::string title;
  std::string note;  ///< what it says, in a sentence or two
  Table table;
};

struct ReportOptions {
  std::string title{};
  std::string description{};            ///< what the spec says of itself; may be empty
  std::string spec{};                   ///< the spec's text, shown as it is; may be empty
  std::string program{};                ///< "schedlab 0.1.0"
  std::vector<std::string> warnings{};  ///< shown at the top
  std::vector<ReportFigure> figures{};  ///< after the plots of the sweep: timelines
  std::vector<ReportTable> tables{};
  std::string certainty{};  ///< how sure it is who wins, in a sentence; may be empty
  /// By the text of column "scenario": the page with its timeline, relative to the report.
  std::map<std::string, std::string> timelines{};
  std::string lead{};                ///< a sentence at the top; may be empty
  std::vector<ReportFigure> maps{};  ///< at the top
  bool along_axes = true;            ///< with the plots of the sweep and where the order turns
  SweepViewOptions view{};
  std::size_t max_cases = 200;  ///< rows of the table of best policies
  std::size_t max_rows = 500;   ///< rows of the table of all results
};

/// report.html of a sweep, which refers to nothing outside but the pages of `timelines`. Who wins,
/// by how much and what limits it, in three sentences and a picture; then the best policy of each
/// case, the other plots of sweep_plots(), all results, the spec. Everything that comes from users
/// is escaped. The same arguments give the same bytes.
[[nodiscard]] std::string report_html(const Table& table, const ReportOptions& options);

/// Why a run takes as long as it does, in one sentence made of its metrics: at which bound it is,
/// or what keeps it from it; compared with the baseline where that says more.
[[nodiscard]] std::string explain_run(const SweepView& view,
                                      const SweepCase& one,
                                      const SweepRun& run);

}  // namespace schedlab
