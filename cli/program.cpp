// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include "cli/cmd_baseline.hpp"
#include "cli/cmd_buckets.hpp"
#include "cli/cmd_calibrate.hpp"
#include "cli/cmd_compare.hpp"
#include "cli/cmd_emit.hpp"
#include "cli/cmd_execute.hpp"
#include "cli/cmd_explain.hpp"
#include "cli/cmd_export.hpp"
#include "cli/cmd_graph.hpp"
#include "cli/cmd_import.hpp"
#include "cli/cmd_list.hpp"
#include "cli/cmd_partition.hpp"
#include "cli/cmd_plan_parallel.hpp"
#include "cli/cmd_plot.hpp"
#include "cli/cmd_reference.hpp"
#include "cli/cmd_replay.hpp"
#include "cli/cmd_reproduce.hpp"
#include "cli/cmd_schema.hpp"
#include "cli/cmd_search.hpp"
#include "cli/cmd_sensitivity.hpp"
#include "cli/cmd_serve.hpp"
#include "cli/cmd_simulate.hpp"
#include "cli/cmd_sweep.hpp"
#include "cli/cmd_validate.hpp"
#include "cli/reference/command_pages.hpp"
#include "cli/reference/usage_message.hpp"
#include "studies/base/version.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

namespace schedlab {
namespace {

/// What an interrupt does to a verb.
enum class Interrupt : std::uint8_t {
  keeps,  ///< it ends by itself, and keeps what it has done
  ends    ///< it has nothing to keep
};

}  // namespace

struct Program::Parts {
  Parts() {
    app.name("schedlab");
    app.set_version_flag("--version", std::string{program_version()});
    app.require_subcommand(1);
    add(graph);
    add(import_files);
    add(simulate);
    add(search, Interrupt::keeps);
    add(sensitivity);
    add(sweep, Interrupt::keeps);
    add(merge);
    add(execute, Interrupt::keeps);
    add(validate, Interrupt::keeps);
    add(baseline, Interrupt::keeps);
    add(buckets, Interrupt::keeps);
    add(partition);
    add(plan_parallel, Interrupt::keeps);
    add(explain);
    add(compare);
    add(replay);
    add(reproduce, Interrupt::keeps);
    add(calibrate, Interrupt::keeps);
    add(plot);
    add(export_files);
    add(emit);
    add(serve, Interrupt::keeps);
    add(schema);
    add(list);
    add(reference);
    add_examples(app);
  }

  template <class Options>
  void add(Options& options, Interrupt interrupt = Interrupt::ends) {
    add_to(app, options)->callback([this, &options, interrupt] {
      chosen.run = [&options](const Terminal& terminal) {
        return schedlab::run(options, terminal);
      };
      chosen.keeps = interrupt == Interrupt::keeps;
    });
  }

  GraphOptions graph;
  ImportOptions import_files;
  CalibrateOptions calibrate;
  SimulateOptions simulate;
  SearchVerbOptions search;
  SensitivityOptions sensitivity;
  SweepOptions sweep;
  MergeOptions merge;
  ExecuteOptions execute;
  ValidateOptions validate;
  BaselineOptions baseline;
  BucketsOptions buckets;
  PartitionOptions partition;
  PlanParallelOptions plan_parallel;
  ExplainOptions explain;
  CompareOptions compare;
  ReplayOptions replay;
  ReproduceOptions reproduce;
  PlotOptions plot;
  ExportOptions export_files;
  EmitOptions emit;
  ServeOptions serve;
  SchemaOptions schema;
  ListOptions list;
  ReferenceOptions reference;

  CLI::App app{"Which schedule of an operator graph is fastest on a device, by how much, and why"};
  Chosen chosen;
};

Program::Program() : parts_(std::make_unique<Parts>()) {}
Program::~Program() = default;

std::vector<VerbFacts> Program::verbs() const {
  return verb_facts(parts_->app);
}

Program::Chosen Program::choose(std::vector<std::string> words) {
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as the parser takes them
  try {
    parts_->app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(usage_message(verbs(), words, error.what()));
    std::ostringstream text;  // help or version were asked for
    static_cast<void>(parts_->app.exit(error, text, text));
    return {.run = {}, .text = text.str()};
  }
  return parts_->chosen;
}

}  // namespace schedlab
