// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/emit_verb.hpp"

#include "policies/pipeline/rank_programs.hpp"
#include "policies/pipeline/schedule_csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/printable.hpp"
#include "studies/emit/cuda_source.hpp"
#include "studies/emit/emitted_plan.hpp"
#include "studies/emit/pytorch_source.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <ostream>

namespace schedlab {
namespace {

/// A CSV of torch.distributed.pipelining: the order of each rank's passes.
EmittedSource schedule_source(const EmittedPlan& emitted) {
  const auto orders = joined_step_orders(emitted.graph(), emitted.plan, "--as pytorch_schedule");
  if (!orders) {
    throw InfeasibleError("the plan is not emitted: its ranks do not each launch their passes");
  }
  return {.text = schedule_csv(*orders), .what = "passes of the stages of a pipeline"};
}

bool is_schedule(const EmitOptions& options) {
  return options.language == "pytorch_schedule";
}

EmittedSource source_of(const EmittedPlan& emitted, const EmitOptions& options) {
  if (options.language != "cuda") {
    if (options.precision.empty()) {
      return is_schedule(options) ? schedule_source(emitted) : pytorch_source(emitted);
    }
    throw InputError({.file = "--precision",
                      .pointer = {},
                      .found = options.precision,
                      .expected = "nothing but with --as cuda",
                      .hint = {}});
  }
  std::optional<ProductPrecision> precision;
  if (!options.precision.empty()) precision = enum_value<ProductPrecision>(options.precision);
  return cuda_source(emitted, precision);
}

}  // namespace

int run(const EmitOptions& options, const Terminal& terminal) {
  if (!options.overwrite && std::filesystem::exists(options.out)) {
    throw InputError({.file = options.out,
                      .pointer = {},
                      .found = "something there, which may have been edited",
                      .expected = "a name for a new file",
                      .hint = "--overwrite replaces it"});
  }
  const auto load = is_schedule(options) ? load_checked_plan : load_emitted_plan;
  const EmittedPlan emitted = load(options.input, options.plan, terminal.stop);
  const EmittedSource source = source_of(emitted, options);
  const auto write = [&](const std::filesystem::path& file) {
    write_file_atomically(file, source.text);
  };
  write_named_file(options.out, write, options.overwrite);
  if (options.json) {
    const nlohmann::ordered_json summary{{"verb", "emit"},
                                         {"language", options.language},
                                         {"out", options.out},
                                         {"tasks", emitted.graph().task_count()},
                                         {"streams", emitted.plan.streams.size()},
                                         {"events", emitted.plan.event_count},
                                         {"graphs", emitted.plan.graphs.size()},
                                         {"makespan_us", to_us(emitted.makespan)},
                                         {"computes", source.what}};
    terminal.out << summary.dump(2) << '\n';
    return exit_done;
  }
  terminal.out << fmt::format("{}\n  {}, {}, {}; simulated makespan {:.3f} us\n  tasks: {}\n  {}\n",
                              emitted.title,
                              counted(emitted.graph().task_count(), "task"),
                              counted(emitted.plan.streams.size(), "stream"),
                              counted(emitted.plan.graphs.size(), "device graph"),
                              to_us(emitted.makespan),
                              source.what,
                              options.out);
  return exit_done;
}

}  // namespace schedlab
