// SPDX-License-Identifier: Apache-2.0
#include "studies/comparison/compare_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/comparison/comparison.hpp"

#include <fmt/format.h>

#include <ostream>

namespace schedlab {

int run(const CompareOptions& options, const Terminal& terminal) {
  Comparison comparison = compare_results(options.first, options.second);
  if (options.max_slowdown) apply_bound(comparison, *options.max_slowdown / 100);
  if (!options.out.empty()) {
    OutputFolder folder(whole_folder(options.out, "compare", options.overwrite),
                        terminal.leftovers);
    write_file_atomically(folder.path() / "comparison.json", comparison_json(comparison));
    write_file_atomically(folder.path() / "comparison.csv",
                          table_csv(comparison_table(comparison)));
    write_file_atomically(folder.path() / "compare.html",
                          html_of(comparison_report(comparison, true)));
    folder.publish();
  }
  if (options.json) {
    terminal.out << comparison_json(comparison);
  } else {
    terminal.out << text_of(comparison_report(comparison, false));
    if (!options.out.empty()) {
      terminal.out << fmt::format("  {}: comparison.json, comparison.csv, compare.html\n",
                                  options.out);
    }
  }
  return comparison.broken.empty() ? exit_done : exit_failed;
}

}  // namespace schedlab
