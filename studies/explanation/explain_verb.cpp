// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/explain_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/imported_run.hpp"
#include "studies/explanation/input_content.hpp"
#include "studies/explanation/run_difference.hpp"
#include "studies/explanation/top_kernels.hpp"
#include "studies/scenario/run_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <ostream>
#include <utility>

namespace schedlab {
namespace {

/// What there is of an imported trace beyond the explanation.
struct Imported {
  ImportedRun run;
  OperatorPath path;
};

RunFiles write_explanation(const std::filesystem::path& folder,
                           const Explanation& explanation,
                           const std::optional<Imported>& imported) {
  RunFiles files;
  const auto write = [&](const char* name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.emplace_back(name);
  };
  write("explain.json", explanation_json(explanation));
  write("explain.csv", table_csv(gaps_table(explanation)));
  write("report.html", explanation_html(explanation));
  if (imported) {
    const ImportedTrace& trace = imported->run.traces.front();
    write("kernels.csv", table_csv(kernel_totals_table(kernel_totals(explanation.run))));
    write("operator_path.json", operator_path_json(trace, imported->path));
    write("critical_path_overlay.json", operator_path_overlay(trace, imported->path));
  }
  write_picture(folder, "bound", explanation_picture(explanation), files);
  return files;
}

std::optional<Imported> load_imported(const ExplainOptions& options) {
  const InputContent content = input_content(options.input);
  if (content != InputContent::profile && content != InputContent::own_trace) {
    throw InputError(
        {.file = options.input,
         .pointer = "",
         .found = "neither a run nor a profile",
         .expected = "a run of schedlab, or a profile",
         .hint = "a graph must be simulated first: a spec with the workload {\"kind\": \"file\", "
                 "\"path\": ...}"});
  }
  if (content == InputContent::own_trace) {
    if (options.within.empty() && !options.assume_like_siblings) return std::nullopt;
    throw InputError(
        {.file = options.within.empty() ? "--assume-like-siblings" : "--within",
         .pointer = "",
         .found = options.input + ", a run of schedlab",
         .expected = "an imported trace",
         .hint = "runs of schedlab have no annotations, and all nodes of their graphs"});
  }
  Imported imported{.run = load_imported_run({options.input}, options.assume_like_siblings),
                    .path = {}};
  const ImportedTrace& trace = imported.run.traces.front();
  const TraceWindow window = find_window(trace, options.within, options.instance);
  imported.path = operator_path(trace, imported.run.orders.front(), window.from, window.to);
  return imported;
}

}  // namespace

int run(const ExplainOptions& options, const Terminal& terminal) {
  const std::optional<Imported> imported = load_imported(options);
  Explanation explanation = explain(
      imported ? explained_run(imported->run) : load_explained_run(options.input), options.bins);
  if (options.what_if) {
    Progress progress(terminal, what_if_count, 0, "changes");
    explanation.what_if =
        what_if(explanation.run, terminal.stop, [&](std::uint32_t done) { progress.update(done); });
    progress.finish();
    const ExplainedRun& run = explanation.run;
    if (run.spec && run.graph.task_count() <= max_sensitivity_tasks) {
      explanation.sensitivity =
          sensitivity(*run.spec, {.most_delicate = most_delicate_numbers, .stop = terminal.stop});
    }
  }
  if (!options.against.empty()) {
    const Explanation other = explain(load_explained_run(options.against), 1);
    explanation.against = std::make_shared<const RunDifference>(run_difference(explanation, other));
  }
  RunFiles files;
  if (!options.out.empty()) {
    OutputFolder folder(whole_folder(options.out, "explain", options.overwrite),
                        terminal.leftovers);
    files = write_explanation(folder.path(), explanation, imported);
    folder.publish();
  }
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (options.json) {
    terminal.out << explanation_json(explanation);
    return exit_done;
  }
  terminal.out << explanation_text(explanation);
  if (imported) {
    constexpr std::size_t shown = 8;
    terminal.out << kernel_totals_text(
                        kernel_totals(explanation.run), shown, explanation.run.loss.mark())
                 << operator_path_text(imported->path);
  }
  if (!options.out.empty()) {
    terminal.out << fmt::format("{}: {}\n", options.out, fmt::join(files.files, ", "));
  }
  return exit_done;
}

}  // namespace schedlab
