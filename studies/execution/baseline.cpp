// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/baseline.hpp"

#include "profiler/cpu_clock.hpp"
#include "profiler/cupti_session.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "real_exec/vendor/onednn_lstm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/base/wall_clock.hpp"
#include "workloads/models/recurrent/recurrent_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace schedlab {
namespace {

void expect_not_stopped(const StopFlag* stop) {
  if (stop_requested(stop)) throw Interrupted("stopped");
}

/// "lstm, pass=backward, layers=4, ...": what is not the default of every network is left out.
std::string label_of(const RecurrentSpec& spec) {
  const RecurrentNames words = network_names(spec);
  std::string label = words.workload;
  for (const auto& [name, value] : words.options) {
    const bool usual = (name == "input" && value == OptionValue{spec.hidden}) ||
                       (name == "bidirectional" && value == OptionValue{std::string{"none"}}) ||
                       (name == "reset" && value == OptionValue{std::string{"after"}});
    if (!usual) label += fmt::format(", {}={}", name, to_string(value));
  }
  return label;
}

/// Outputs against the reference: the largest difference, and of which.
void compare(const RecurrentResults<float>& found,
             const RecurrentResults<double>& expected,
             BaselineVariant& variant) {
  variant.difference = 0;
  for_each_result(
      found, expected, [&](const std::string& name, const auto& ours, const auto& theirs) {
        if (ours.size() != theirs.size() || name == "loss") return;
        const double difference = relative_difference(ours, theirs);
        // One that is not a number is worse than any other.
        if (std::isnan(*variant.difference) || difference <= *variant.difference) return;
        variant.difference = difference;
        variant.worst_output = name;
      });
}

/// When a variant's backward call ran.
struct CallWindow {
  BaselineVariant* variant = nullptr;
  Time begin{};
  Time end{};
};

/// All variants of one workload that run.
class WorkloadRun {
 public:
  WorkloadRun(const BaselineRequest& request,
              const TimedLibrary& library,
              BaselineWorkload& workload,
              const CpuClock& clock,
              std::vector<CallWindow>& windows)
      : request_(request),
        library_(library),
        workload_(workload),
        clock_(clock),
        windows_(windows),
        inputs_(draw_recurrent_inputs(workload.spec, request.seed)) {
    for (const RnnVariant& variant : library.variants) {
      workload_.variants.emplace_back().variant = variant;
    }
    networks_.resize(workload_.variants.size());
  }

  /// Makes a variant, and compares it with the reference if that is asked for.
  void prepare(std::size_t index) {
    attempt(index, [&] {
      BaselineVariant& variant = workload_.variants[index];
      networks_[index] = library_.make(workload_.spec, inputs_, variant.variant);
      if (request_.check) check(index);
      for (const RnnCall call : {RnnCall::forward,
                                 RnnCall::backward,
                                 RnnCall::backward_data,
                                 RnnCall::backward_weights}) {
        if (networks_[index]->has(call)) variant.calls.push_back({.call = call, .runs = {}});
      }
    });
  }

  void round(bool kept) {
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      if (networks_[i] == nullptr) continue;
      attempt(i, [&] { one_round(i, kept); });
    }
  }

 private:
  /// A variant that does not do the network, or fails, is left out from then on.
  template <typename Action>
  void attempt(std::size_t index, const Action& action) {
    try {
      action();
    } catch (const InfeasibleError& error) {
      give_up(index, error.what());
    } catch (const DeviceError& error) {
      give_up(index, error.what());
      expect_answer(index);
    }
  }

  void give_up(std::size_t index, const char* why) {
    BaselineVariant& variant = workload_.variants[index];
    variant.note = why;
    variant.calls.clear();
    variant.difference.reset();
    networks_[index] = nullptr;
  }

  /// Some failures end the one call, others all use of the device by this process.
  void expect_answer(std::size_t index) {
    try {
      library_.synchronize();
    } catch (const DeviceError& error) {
      const BaselineVariant& variant = workload_.variants[index];
      throw DeviceError(fmt::format("{}, {}, {}: {}; the device does not answer any more: {}",
                                    workload_.label,
                                    variant.variant.algorithm,
                                    variant.variant.launch,
                                    variant.note,
                                    error.what()));
    }
  }

  void check(std::size_t index) {
    if (!reference_) {
      reference_ = recurrent_reference(workload_.spec, to_double(inputs_));
    }
    LibraryRnn& network = *networks_[index];
    network.poison();
    static_cast<void>(network.run(RnnCall::forward));
    if (network.has(RnnCall::backward)) static_cast<void>(network.run(RnnCall::backward));
    compare(network.results(), *reference_, workload_.variants[index]);
  }

  /// A gradient may overwrite what the forward pass has left for it, so each has one before it.
  void one_round(std::size_t index, bool kept) {
    LibraryRnn& network = *networks_[index];
    BaselineVariant& variant = workload_.variants[index];
    for (CallTimes& call : variant.calls) {
      if (call.call == RnnCall::backward_data) {
        static_cast<void>(network.run(RnnCall::forward));
      }
      if (!request_.profile) network.begin_steadily();
      const Time begin = clock_.now();
      const Duration time = network.run(call.call);
      if (!kept) continue;
      call.runs.push_back(time);
      if (call.call == RnnCall::backward) {
        windows_.push_back({.variant = &variant, .begin = begin, .end = clock_.now()});
      }
    }
  }

  const BaselineRequest& request_;
  const TimedLibrary& library_;
  BaselineWorkload& workload_;
  const CpuClock& clock_;
  std::vector<CallWindow>& windows_;
  RecurrentInputs<float> inputs_;
  std::vector<std::unique_ptr<LibraryRnn>> networks_;  // nullptr: does not run
  std::optional<RecurrentResults<double>> reference_;
};

}  // namespace

bool same_network(const RecurrentSpec& a, const RecurrentSpec& b) {
  const auto width = [](const RecurrentSpec& s) { return s.input == 0 ? s.hidden : s.input; };
  return a.layers == b.layers && a.steps == b.steps && a.batch == b.batch && a.hidden == b.hidden &&
         width(a) == width(b) && a.type == b.type && a.pass == b.pass && a.cell == b.cell &&
         a.bidirectional == b.bidirectional && segment_steps(a) == segment_steps(b);
}

double CallTimes::median_us() const {
  std::vector<double> us;
  for (const Duration run : runs) us.push_back(to_us(run));
  return median(std::move(us));
}

const CallTimes* BaselineVariant::find(RnnCall call) const {
  const auto found = std::find_if(
      calls.begin(), calls.end(), [&](const CallTimes& times) { return times.call == call; });
  return found == calls.end() || found->runs.empty() ? nullptr : &*found;
}

const BaselineVariant* BaselineWorkload::fastest(RnnCall call) const {
  const BaselineVariant* best = nullptr;
  for (const BaselineVariant& variant : variants) {
    const CallTimes* times = variant.find(call);
    if (times == nullptr) continue;
    if (best == nullptr || times->median_us() < best->find(call)->median_us()) best = &variant;
  }
  return best;
}

std::vector<BaselineWorkload> baseline_workloads(const Grid& grid, const Components& components) {
  std::vector<BaselineWorkload> workloads;
  for (std::uint64_t i = 0; i < grid.part_count(Part::workload); ++i) {
    const std::optional<RecurrentSpec> spec = components.recurrent_spec(i, Granularity::fine);
    if (!spec || truncated(*spec)) continue;  // no library truncates
    const bool known = std::any_of(workloads.begin(), workloads.end(), [&](const auto& other) {
      return same_network(other.spec, *spec);
    });
    if (!known) {
      workloads.push_back({.label = label_of(*spec), .spec = *spec, .variants = {}});
    }
  }
  return workloads;
}

namespace {

/// Timed rounds of all workloads, or with `profile` one recorded round of each. Those that are
/// finished are moved to `all`, where the windows' variants stay what they point to.
std::vector<CallWindow> run_rounds(const BaselineRequest& request,
                                   const TimedLibrary& library,
                                   std::vector<BaselineWorkload> workloads,
                                   Baselines& all,
                                   const CpuClock& clock) {
  std::vector<CallWindow> windows;
  std::uint64_t done = 0;
  for (BaselineWorkload& workload : workloads) {
    {
      WorkloadRun run(request, library, workload, clock, windows);
      for (std::size_t v = 0; v < workload.variants.size(); ++v) {
        expect_not_stopped(request.stop);
        run.prepare(v);
        if (request.observer) request.observer(++done);
      }
      for (std::uint32_t round = 0; round < all.warm_up + all.repetitions; ++round) {
        expect_not_stopped(request.stop);
        run.round(round >= all.warm_up);
      }
    }
    all.workloads.push_back(std::move(workload));
    const bool more = all.workloads.size() < workloads.size();
    if (more && request.finished && !request.profile) request.finished(all);
  }
  return windows;
}

}  // namespace

TimedLibrary timed_library(RnnLibrary library, const RnnDevice& device) {
  return {.description = describe(library, device),
          .variants = rnn_variants(library),
          .make =
              [library, device](const RecurrentSpec& spec,
                                const RecurrentInputs<float>& inputs,
                                const RnnVariant& variant) {
                return make_library_rnn(library, spec, inputs, variant, device);
              },
          .synchronize = [library] { synchronize(library); }};
}

Baselines measure_baselines(const BaselineRequest& request,
                            std::vector<BaselineWorkload> workloads,
                            const std::function<TimedLibrary()>& library) {
  const CpuClock clock;
  std::optional<CuptiSession> session;  // before the first call of CUDA
  if (request.profile) session.emplace(ProfilerOptions{}, clock);
  Baselines all;
  all.library = request.library;
  const TimedLibrary timed = library ? library() : timed_library(request.library, request.device);
  all.description = timed.description;
  all.date = now_utc();
  all.repetitions = request.profile ? 1 : request.repetitions;
  all.warm_up = request.warm_up;
  all.seed = request.seed;
  all.profiled = request.profile;
  const std::uint32_t threads = request.threads == 0 ? available_cores() : request.threads;
  OnednnLstm::set_threads(static_cast<int>(threads));
  const std::vector<CallWindow> windows =
      run_rounds(request, timed, std::move(workloads), all, clock);
  if (session) {
    all.log = session->finish([] {});  // every call has waited for its end
    for (const CallWindow& window : windows) {
      window.variant->in_flight = kernels_in_flight(*all.log, window.begin, window.end);
    }
  }
  return all;
}

}  // namespace schedlab
