// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/import_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/explanation/import_summary.hpp"
#include "studies/explanation/imported_input.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/traces/graph_losses.hpp"
#include "workloads/traces/reconstruct.hpp"
#include "workloads/traces/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// The rank's work as a graph and its host's calls as a plan, as they were.
ReplayModel reconstructed(const ImportedTrace& trace) {
  const ReconstructedTrace order = reconstruct(trace);
  const ReplayRank rank{.trace = trace, .order = order};
  return make_replay({&rank, 1}, ReplayMode::copied_host_work);
}

std::vector<std::string> write_files(const fs::path& folder, const ImportedInput& input) {
  std::vector<std::string> files;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file_atomically(folder / name, text);
    files.push_back(name);
  };
  write("import.json", import_json(input));
  if (!input.graph_files.empty()) {
    // A graph file holds one rank; the plan is that of all of them.
    write("plan.json", plan_to_json(input.plan, input.graph.graph));
    for (std::size_t rank = 0; rank < input.graph_files.size(); ++rank) {
      const fs::path file = input.graph_files[rank];
      write(fmt::format("graph_rank{}.json", rank),
            write_graph_json(read_foreign_graph(file).graph));
    }
    return files;
  }
  if (input.ranks.empty()) {
    write("graph.json", write_graph_json(input.graph.graph));
    return files;
  }
  write("activities.csv", table_csv(activity_table(input)));
  if (!input.execution_trace.empty()) {
    write("graph.json", write_graph_json(input.graph.graph));
    return files;
  }
  for (const ImportedTrace& trace : input.ranks) {
    if (trace.device_rows.empty()) continue;
    // A graph file holds one rank.
    const std::string which =
        input.ranks.size() == 1 ? std::string{} : fmt::format("_rank{}", trace.rank);
    const ReplayModel model = reconstructed(trace);
    write(fmt::format("graph{}.json", which), write_graph_json(model.graph));
    write(fmt::format("plan{}.json", which), plan_to_json(model.plan, model.graph));
  }
  return files;
}

}  // namespace

int run(const ImportOptions& options, const Terminal& terminal) {
  ImportedInput input = load_imported_input(options.inputs);
  if (options.assume_like_siblings) {
    for (ImportedTrace& trace : input.ranks) fill_graph_launches(trace);
  }
  if (!options.execution_trace.empty()) join_with(options.execution_trace, input);
  std::vector<std::string> files;
  if (!options.out.empty()) {
    OutputFolder folder(whole_folder(options.out, "import", options.overwrite), terminal.leftovers);
    files = write_files(folder.path(), input);
    folder.publish();
  }
  if (options.json) {
    terminal.out << import_json(input);
    return exit_done;
  }
  terminal.out << import_text(input);
  if (!files.empty()) {
    terminal.out << fmt::format("{}: {}\n", options.out, fmt::join(files, ", "));
  }
  return exit_done;
}

}  // namespace schedlab
