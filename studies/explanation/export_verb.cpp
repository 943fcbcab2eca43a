// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/export_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/explanation/cost_export.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/column_files.hpp"
#include "studies/sweep/notebook_export.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/sweep_run.hpp"
#include "studies/sweep/trace_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <ostream>
#include <set>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// The database of a sweep's folder; empty if `input` is something else.
fs::path database_of(const fs::path& input) {
  if (fs::is_directory(input) && fs::exists(input / results_database))
    return input / results_database;
  return input.extension() == ".sqlite" ? input : fs::path{};
}

/// The sweep's spec, as kept in its results.
Spec spec_of(const ResultsStore& store, const fs::path& database) {
  return parse_spec(store.header().spec, "spec in " + database.string());
}

void export_results(const fs::path& database, const fs::path& out) {
  const ResultsStore store = ResultsStore::open(database);
  const Spec spec = spec_of(store, database);
  const Grid grid(spec);
  write_results_csv(store, Baseline::of(spec, grid), out);
}

void export_columns(const ExportOptions& options, const fs::path& database, Leftovers* leftovers) {
  if (database.empty() || options.scenario >= 0) {
    throw InputError({.file = options.input,
                      .pointer = {},
                      .found = database.empty() ? "no results.sqlite" : "one scenario of it",
                      .expected = "the folder of a sweep, of which all rows are written",
                      .hint = "schedlab export csv writes single runs"});
  }
  const ResultsStore store = ResultsStore::open(database);
  const Spec spec = spec_of(store, database);
  const Grid grid(spec);
  OutputFolder folder(whole_folder(options.out, "export", options.overwrite), leftovers);
  write_column_files(store, Baseline::of(spec, grid), folder.path());
  folder.publish();
}

/// Simulates one scenario of a sweep again, this time with everything recorded.
TraceDocument scenario_trace(const fs::path& database, std::int64_t wanted, const StopFlag* stop) {
  const ResultsStore store = ResultsStore::open(database);
  const Spec spec = spec_of(store, database);
  const Grid grid(spec);
  const auto scenario = static_cast<std::uint64_t>(wanted);
  if (wanted < 0 || scenario >= grid.size()) {
    throw InputError({.file = "--scenario",
                      .pointer = {},
                      .found = wanted < 0 ? "nothing" : fmt::format("{}", wanted),
                      .expected = fmt::format("a scenario of the sweep, 0 to {}", grid.size() - 1),
                      .hint = "the first column of results.csv"});
  }
  ScenarioSpace space(spec, grid);
  FullRun run = ScenarioRunner(space, stop).run_fully(scenario);
  return make_document(run.scenario.problem->problem(),
                       run.plan,
                       std::move(run.trace),
                       fmt::format("{}: {}", spec.name, grid.describe(scenario)));
}

void refuse(const std::string& flag, const std::string& found, const std::string& expected) {
  throw InputError({.file = flag, .pointer = {}, .found = found, .expected = expected, .hint = {}});
}

/// Writes what was asked for and returns its path.
std::string write_export(const ExportOptions& options, const Terminal& terminal) {
  if (options.format == "notebook") {
    if (options.scenario >= 0) {
      refuse("--scenario",
             fmt::format("{}", options.scenario),
             "no scenario: a notebook is about the whole folder");
    }
    return export_notebook(options.input, options.out, options.overwrite).string();
  }
  if (options.out.empty()) {
    refuse("--out", "nothing", options.format == "npy" ? "a folder to write" : "a file to write");
  }
  if (options.format == "costs" || options.format == "xla_costs") {
    const auto costs = load_operation_costs(options.input, terminal.stop);
    const std::string text =
        options.format == "costs" ? table_csv(costs_table(costs)) : xla_costs(costs);
    write_named_file(
        options.out,
        [&](const fs::path& file) { write_file_atomically(file, text); },
        options.overwrite);
    return options.out;
  }
  const fs::path database = database_of(options.input);
  if (options.format == "npy") {
    export_columns(options, database, terminal.leftovers);
    return options.out;
  }
  if (options.format == "csv" && !database.empty() && options.scenario < 0) {
    write_named_file(
        options.out,
        [&](const fs::path& file) { export_results(database, file); },
        options.overwrite);
    return options.out;
  }
  const TraceDocument document = database.empty()
                                     ? load_trace(options.input)
                                     : scenario_trace(database, options.scenario, terminal.stop);
  const std::string text = options.format == "csv" ? trace_csv(document) : chrome_json(document);
  write_named_file(
      options.out,
      [&](const fs::path& file) { write_file_atomically(file, text); },
      options.overwrite);
  return options.out;
}

}  // namespace

int run(const ExportOptions& options, const Terminal& terminal) {
  const std::string out = write_export(options, terminal);
  if (options.json) {
    const nlohmann::ordered_json summary{
        {"verb", "export"}, {"format", options.format}, {"out", out}};
    terminal.out << summary.dump(2) << '\n';
  } else {
    terminal.out << out << '\n';
  }
  return exit_done;
}

}  // namespace schedlab
