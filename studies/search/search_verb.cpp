// SPDX-License-Identifier: Apache-2.0
#include "studies/search/search_verb.hpp"

#include "real_exec/ranks/mpi_link.hpp"
#include "sim/base/error.hpp"
#include "studies/base/findings_text.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/rank_process.hpp"
#include "studies/scenario/components.hpp"
#include "studies/scenario/required_evidence.hpp"
#include "studies/search/scenario_search.hpp"
#include "studies/search/search_files.hpp"
#include "studies/spec/spec.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <ostream>

namespace schedlab {
namespace {

void expect_limit(const SearchVerbOptions& options) {
  if (options.seconds > 0 || options.evaluations > 0) return;
  throw InputError({.file = "--seconds",
                    .pointer = {},
                    .found = "0, and no --evaluations",
                    .expected = "a limit",
                    .hint = "give --seconds or --evaluations"});
}

/// A search as its options and spec say, checked.
struct LoadedSearch {
  LoadedSearch(const SearchVerbOptions& options, std::ostream* notes)
      : spec(load_spec(options.spec, notes)), grid(spec), space(spec, grid) {
    expect_limit(options);
    space.components().check_all();
  }

  Spec spec;
  Grid grid;
  ScenarioSpace space;
};

SearchSettings settings_of(const SearchVerbOptions& options, const Terminal& terminal) {
  return {.limits = {.seconds = options.seconds,
                     .evaluations = options.evaluations,
                     .gap = options.gap / 100},
          .seed = options.seed,
          .max_streams = options.max_streams,
          .islands = options.jobs,
          .start = {.file = options.resume.empty() ? std::string{}
                                                   : options.resume + "/" + plan_file_name},
          .scatter = {.samples = options.samples,
                      .objective = enum_value<Objective>(options.objective)},
          .stop = terminal.stop};
}

FolderRequest folder_of(const SearchVerbOptions& options) {
  return whole_folder(options.out, "search", options.overwrite);
}

/// Writes what was found, and says so.
int finish(const SearchVerbOptions& options,
           const FoundSchedule& found,
           OutputFolder& folder,
           const Terminal& terminal) {
  const auto findings = findings_of(found.scenario, found.plan);
  const auto files = write_search(folder.path(), found);
  folder.publish();
  if (!findings.empty()) terminal.err << findings_text(findings, "finding: ") << '\n';
  if (options.json) {
    auto summary = found_fields().json(found);
    summary.erase("bounds");
    summary["seconds"] = found.seconds;
    terminal.out << summary.dump(2) << '\n';
  } else {
    terminal.out << search_text(found, options.out, files);
  }
  const bool near =
      !options.max_gap || (found.gap() > 0 && 100 * (found.gap() - 1) <= *options.max_gap);
  if (!near) {
    terminal.err << fmt::format("error: the plan is {:.2f} % over its bound, more than {} %\n",
                                100 * (found.gap() - 1),
                                *options.max_gap);
  }
  const std::string lacking = lacking_evidence(options.require, found.scenario.problem->problem());
  if (!lacking.empty()) {
    terminal.err << fmt::format("error: --require {}: {}\n", options.require, lacking);
  }
  return near && lacking.empty() && findings.empty() ? exit_done : exit_failed;
}

/// The same on all ranks of an MPI launcher; files and words are rank 0's.
int search_on_ranks(const SearchVerbOptions& options, RankLink& link, const Terminal& terminal) {
  std::optional<LoadedSearch> loaded;
  std::optional<OutputFolder> folder;
  const bool agreed = ranks_agree(link, terminal, [&] {
    loaded.emplace(options, link.rank() == 0 ? &terminal.err : nullptr);
    if (link.rank() == 0) folder.emplace(folder_of(options), terminal.leftovers);
  });
  if (!agreed) return exit_usage;
  SearchSettings settings = settings_of(options, terminal);
  settings.link = &link;
  const FoundSchedule found = search_case(loaded->space, loaded->spec.file, settings);
  const int code = link.rank() == 0 ? finish(options, found, *folder, terminal) : exit_done;
  link.barrier();
  return code;
}

}  // namespace

int run(const SearchVerbOptions& options, const Terminal& terminal) {
  if (launched_ranks().value_or(1) > 1) {
    return run_as_rank(terminal,
                       [&](RankLink& link) { return search_on_ranks(options, link, terminal); });
  }
  LoadedSearch loaded(options, &terminal.err);
  OutputFolder folder(folder_of(options), terminal.leftovers);
  const FoundSchedule found =
      search_case(loaded.space, loaded.spec.file, settings_of(options, terminal));
  return finish(options, found, folder, terminal);
}

}  // namespace schedlab
