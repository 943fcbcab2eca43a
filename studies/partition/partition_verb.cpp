// SPDX-License-Identifier: Apache-2.0
#include "studies/partition/partition_verb.hpp"

#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/partition/partition_study.hpp"
#include "studies/scenario/run_files.hpp"
#include "workloads/pipeline/layer_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <ostream>

namespace schedlab {
namespace {

/// A picture of more is unreadable, and their kernels are gigabytes of JSON.
constexpr std::size_t max_shown_layers = 5000;

RunFiles write_partition_files(const std::filesystem::path& folder, const PartitionStudy& study) {
  RunFiles files;
  const auto write = [&](const char* name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.emplace_back(name);
  };
  write("partition.json", partition_json(study));
  const std::size_t layers = study.spec->graph.layers.size();
  const bool shown = layers <= max_shown_layers;
  if (shown) {
    write("layers.json", write_layers_json(study.spec->graph));
  } else {
    files.notices.push_back(
        fmt::format("{} layers are neither drawn nor written to layers.json, at most {} would be",
                    layers,
                    max_shown_layers));
  }
  for (const PartitionRow& row : study.rows) {
    const std::string suffix =
        study.rows.size() > 1 ? fmt::format("_{}", row.accelerators) : std::string{};
    if (shown) write_picture(folder, "layers" + suffix, layers_picture(study, row), files);
    write_picture(folder, "stages" + suffix, stage_loads_picture(study, row), files);
  }
  return files;
}

}  // namespace

int run(const PartitionOptions& options, const Terminal& terminal) {
  const PartitionSpec spec = load_partition_spec(options.spec, &terminal.err);
  OutputFolder folder(whole_folder(options.out, "partition", options.overwrite),
                      terminal.leftovers);
  for (const std::string& note : spec.notes) terminal.err << "note: " << note << '\n';
  Progress shown(terminal, 100, 0, "% of the search");
  const PartitionStudy study = run_partition_study(spec, terminal.stop, [&shown](double share) {
    shown.update(static_cast<std::uint64_t>(100 * share));
  });
  shown.finish();
  const RunFiles files = write_partition_files(folder.path(), study);
  folder.publish();
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (options.json) {
    terminal.out << partition_json(study);
  } else {
    terminal.out << partition_text(study)
                 << fmt::format("{}: {}\n", options.out, fmt::join(files.files, ", "));
  }
  return exit_done;
}

}  // namespace schedlab
