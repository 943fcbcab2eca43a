// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_buckets.hpp"

#include "studies/execution/execution_device.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

/// What is wrong with a value of --execute; empty: nothing.
std::string executing_device(const std::string& word) {
  if (device_from(word)) return {};
  return fmt::format("found {}, expected {}", word, device_choices());
}

}  // namespace

CLI::App* add_to(CLI::App& app, BucketsOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "buckets", "Work out passes over sequences of different lengths: buckets, batches, memory");
  verb->add_option("SPEC", options.spec, "JSON file (schedlab schema buckets)")->required();
  verb->add_option("-o,--out", options.out, "Folder to write")->required();
  verb->add_flag("!--no-memory-time", options.memory_time, "Leave out what memory buys");
  verb->add_flag("--no-sensitivity",
                 options.no_sensitivity,
                 "Report without how far the machine's numbers can be off");
  verb->add_option("--machine", options.machine, "Machine file instead of the spec's machine");
  verb->add_option(
          "--execute", options.execute, "Also run the passes for real: " + device_choices())
      ->check(executing_device);
  verb->add_option("--repetitions", options.repetitions, "Executed passes of each row")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  verb->add_option(
      "--workers", options.workers, "CPU: worker threads; 0: as the machine was calibrated with");
  verb->add_option("--host", options.host, "CPU: where the thread runs that makes the host calls")
      ->check(CLI::IsMember(enum_names<HostPlacement>()))
      ->capture_default_str();
  verb->add_option("--allocate", options.allocate, "When executed steps take their tensors' memory")
      ->check(CLI::IsMember(enum_names<TensorAllocation>()))
      ->capture_default_str();
  verb->add_flag("!--no-pin", options.pin, "CPU: do not bind threads to cores");
  auto* resume = verb->add_flag("--resume", options.resume, "Go on with what the folder holds");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use")
      ->excludes(resume);
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes buckets.json, buckets.csv, report.html and pictures of boundaries, time and memory; "
      "for lstm\n"
      "and gru also memory_time.csv: what recomputation and batch cost in memory and time.\n"
      "With --execute every pass also trains a network on made-up sequences of these lengths, on "
      "this\ncomputer's cores or a CUDA device: executed.json and executed.csv have predicted and "
      "measured times\nand memory.\n"
      "What is done is kept when the run is stopped; --resume does only what is missing.\n"
      "docs/buckets.md says how boundaries are placed and what counts.");
  return verb;
}

}  // namespace schedlab
