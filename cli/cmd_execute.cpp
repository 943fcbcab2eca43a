// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_execute.hpp"

#include "studies/execution/execution_device.hpp"
#include "studies/training/execute_mpi_verb.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ExecuteOptions& options) {
  CLI::App* verb = app.add_subcommand("execute", "Run one scenario for real on this computer");
  verb->add_option("SPEC", options.spec, "JSON spec of one scenario (no lists)")->required();
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_option(
          "--device", options.device, "What to run on: " + device_choices(training_devices))
      ->capture_default_str();
  verb->add_option(
          "--ranks", options.ranks, "Trainings: ranks to start; 0: as many as the spec says")
      ->check(CLI::Range(0U, 100'000U));
  verb->add_option("--workers", options.workers, "Worker threads; 0: one per core that is left");
  verb->add_option("--host", options.host, "Where the thread runs that makes the host calls")
      ->check(CLI::IsMember(enum_names<HostPlacement>()))
      ->capture_default_str();
  verb->add_option("--repetitions", options.repetitions, "Runs; the median one is written")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  verb->add_option("--proxy", options.proxy, "Proxy kernels instead of the real kernels")
      ->check(CLI::IsMember(std::vector<std::string>{"spin", "shapes"}));
  verb->add_option("--allocate", options.allocate, "When lstm and gru take their tensors' memory")
      ->check(CLI::IsMember(enum_names<TensorAllocation>()))
      ->capture_default_str();
  verb->add_option(
      "--launch", options.launch, "Instead of the spec's launch: eager, without device graphs");
  verb->add_option("--connections", options.connections, "CUDA: hardware connections")
      ->check(CLI::Range(1U, 32U));
  verb->add_option("--precision", options.precision, "CUDA: arithmetic of matrix products")
      ->check(CLI::IsMember(enum_names<CudaPrecision>()));
  verb->add_option(
          "--products", options.products, "CUDA: what multiplies matrices; cublas if left out")
      ->check(CLI::IsMember(enum_names<CudaProducts>()));
  verb->add_flag(
      "--debug-sync", options.debug_sync, "CUDA: wait for every task, to find the one that fails");
  verb->add_flag("--profile",
                 options.profile,
                 "CUDA: times of tasks from the profiler (CUPTI), and its records as kineto.json");
  verb->add_flag("!--no-pin", options.pin, "Do not bind threads to cores");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--no-trace",
                 options.no_trace,
                 "Write no trace.json, which has some 600 bytes a task (explain and plot need it), "
                 "and no timeline.html");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "The plan that simulate would run, or the policy's own decisions in real time, on worker "
      "threads or on a\nCUDA device, which needs no --workers and no --host. lstm and gru compute "
      "what they mean; the kernels of\nother workloads are matrix products and copies of their "
      "shapes. The machine of the spec gives the costs that\npolicies plan with. With mpi or "
      "threads "
      "SPEC is a training\n(schedlab schema training), its stages run on ranks: processes of MPI, "
      "or "
      "threads of one process.");
  return verb;
}

int run(const ExecuteOptions& options, const Terminal& terminal) {
  if (options.device == "mpi") return run_on_mpi(options, terminal);
  if (options.device == "threads") return run_on_thread_ranks(options, terminal);
  return run_on_device(options, terminal);
}

}  // namespace schedlab
