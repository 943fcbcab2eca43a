// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_emit.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, EmitOptions& options) {
  CLI::App* verb = app.add_subcommand("emit", "Write a plan as a program of its own");
  verb->add_option("INPUT", options.input, "Spec of one scenario, or folder of simulate or execute")
      ->required();
  verb->add_option(
          "--as",
          options.language,
          "cuda (one file of C++), pytorch (one of Python) or pytorch_schedule (CSV of a pipeline)")
      ->check(CLI::IsMember(std::set<std::string>{"cuda", "pytorch", "pytorch_schedule"}))
      ->required();
  verb->add_option("-o,--out", options.out, "File to write")->required();
  verb->add_option(
      "--plan", options.plan, "A plan.json for the scenario, of search or your own, in its place");
  verb->add_option("--precision",
                   options.precision,
                   "Of recurrent products in CUDA: fp32, tf32 or bf16; default: data_type")
      ->check(CLI::IsMember(std::set<std::string>{"fp32", "tf32", "bf16"}));
  verb->add_flag("--overwrite", options.overwrite, "Replace a file that is there");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "cuda: streams, priorities, events and device graphs as the plan has them, with recurrent\n"
      "kernels or proxy kernels to be replaced; its main checks the results and prints medians.\n"
      "pytorch: the same over the operators of a module, or over proxy kernels of their shapes.\n"
      "pytorch_schedule: the order of each rank's passes, as torch.distributed.pipelining loads "
      "it.");
  return verb;
}

}  // namespace schedlab
