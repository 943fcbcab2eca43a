// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/baseline_verb.hpp"

#include "profiler/kineto_json.hpp"
#include "real_exec/recurrent/rounding_bound.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/gzip.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/execution/baseline.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/execution/opencl_device.hpp"
#include "studies/spec/spec.hpp"
#include "studies/spec/spec_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>

namespace schedlab {
namespace {

/// Writes what is wrong to `err`.
bool all_correct(const Baselines& baselines, std::ostream& err) {
  bool correct = true;
  for (const BaselineWorkload& workload : baselines.workloads) {
    const double bound = rounding_bound(workload.spec.type);
    for (const BaselineVariant& variant : workload.variants) {
      if (!variant.difference || *variant.difference <= bound) continue;
      correct = false;
      err << fmt::format(
          "error: {}, {}, {}: {} differs from the double-precision reference by {:.2g}, more than "
          "the {:.2g} that {} explains\n",
          workload.label,
          variant.variant.algorithm,
          variant.variant.launch,
          variant.worst_output,
          *variant.difference,
          bound,
          to_string(workload.spec.type));
    }
  }
  return correct;
}

/// Appears with the first network, and again with each further one.
class BaselineFolder {
 public:
  BaselineFolder(const BaselineOptions& options, const Terminal& terminal)
      : options_(options), terminal_(terminal) {
    open(options.overwrite);
  }

  void publish(const Baselines& baselines, bool complete) {
    write_file_atomically(folder_->path() / "baseline.json", baseline_json(baselines));
    write_file_atomically(folder_->path() / "baseline.csv", baseline_csv(baselines));
    if (baselines.log) {
      write_file_atomically(folder_->path() / "kineto.json.gz", gzip(kineto_json(*baselines.log)));
    }
    folder_->publish(complete);
    folder_.reset();
    networks_ = baselines.workloads.size();
    if (!complete) open(true);
  }

  [[nodiscard]] bool empty() const { return networks_ == 0; }

  /// What a run that ends early has left.
  [[nodiscard]] std::string left() const {
    if (empty()) return "nothing was written";
    return fmt::format("{} has the {} that {} finished",
                       options_.out,
                       networks_ == 1 ? "network" : fmt::format("{} networks", networks_),
                       networks_ == 1 ? "is" : "are");
  }

 private:
  void open(bool overwrite) {
    folder_.emplace(whole_folder(options_.out, "baseline", overwrite), terminal_.leftovers);
  }

  const BaselineOptions& options_;
  const Terminal& terminal_;
  std::optional<OutputFolder> folder_;
  std::size_t networks_ = 0;
};

bool ran(const BaselineWorkload& workload) {
  return std::any_of(workload.variants.begin(),
                     workload.variants.end(),
                     [](const BaselineVariant& variant) { return variant.note.empty(); });
}

struct ChosenLibrary {
  RnnLibrary library = RnnLibrary::onednn;
  int device = 0;
};

ChosenLibrary chosen_library(const BaselineOptions& options) {
  if (const auto library = enum_from<RnnLibrary>(options.library)) return {.library = *library};
  const auto device = device_from(options.device);
  const bool first = device && device->number == 0;
  if (!device || device->group_units > 0 || !(first || device->kind->splits)) {
    throw InputError({.file = "--device",
                      .pointer = {},
                      .found = options.device.empty() ? "nothing, and no --library"
                                                      : fmt::format("\"{}\"", options.device),
                      .expected = "cpu, cuda, opencl or opencl:N",
                      .hint = {}});
  }
  return {.library = device->kind->library, .device = device->number};
}

}  // namespace

int run(const BaselineOptions& options,
        const Terminal& terminal,
        const std::function<TimedLibrary()>& library) {
  Spec spec = load_spec(options.spec, &terminal.err);
  if (!options.machine.empty()) {
    spec = parse_spec(text_on_machine(spec.text, options.machine), spec.file, spec.folder);
  }
  const Grid grid(spec);
  const Components components(spec, grid);
  auto workloads = baseline_workloads(grid, components);
  if (workloads.empty()) {
    throw InputError({.file = spec.file,
                      .pointer = "/workload",
                      .found = "no lstm or gru",
                      .expected = "a workload that libraries have routines for",
                      .hint = {}});
  }
  const ChosenLibrary chosen = chosen_library(options);
  if (options.profile && chosen.library != RnnLibrary::cudnn) {
    throw InputError({.file = "--profile",
                      .pointer = {},
                      .found = fmt::format("--library {}", to_string(chosen.library)),
                      .expected = "--library cudnn: CUPTI records what runs on CUDA devices",
                      .hint = {}});
  }
  BaselineFolder folder(options, terminal);
  BaselineRequest request;
  request.library = chosen.library;
  request.device.number = chosen.device;
  if (chosen.library == RnnLibrary::clblast) {
    request.device.products = machine_products(components, grid, chosen.device);
  }
  request.repetitions = options.repetitions;
  request.warm_up = options.warm_up;
  request.threads = options.threads;
  request.seed = options.seed;
  request.check = options.check;
  request.profile = options.profile;
  request.stop = terminal.stop;
  const std::uint64_t total = workloads.size() * rnn_variants(request.library).size();
  Progress progress(terminal, total, 0, "variants");
  request.observer = [&](std::uint64_t done) { progress.update(done); };
  request.finished = [&](const Baselines& some) { folder.publish(some, false); };
  Baselines baselines;
  try {
    baselines = measure_baselines(request, std::move(workloads), library);
  } catch (const Interrupted& stopped) {
    throw Interrupted(fmt::format("{}; {}", stopped.what(), folder.left()));
  } catch (const DeviceError& error) {
    if (folder.empty()) throw;
    throw DeviceError(fmt::format("{}; {}", error.what(), folder.left()));
  }
  progress.finish();
  folder.publish(baselines, true);
  if (options.json) {
    terminal.out << baseline_json(baselines);
  } else {
    terminal.out << baseline_text(baselines)
                 << fmt::format("{}: baseline.json, baseline.csv{}\n",
                                options.out,
                                baselines.log ? ", kineto.json.gz" : "");
  }
  if (std::none_of(baselines.workloads.begin(), baselines.workloads.end(), ran)) {
    terminal.err << "error: no variant ran; the notes say why\n";
    return exit_failed;
  }
  return all_correct(baselines, terminal.err) ? exit_done : exit_failed;
}

}  // namespace schedlab
