// SPDX-License-Identifier: Apache-2.0
#include "cli/replay/replay_change.hpp"

#include "cli/explain/imported_run.hpp"
#include "hw_models/machine_spec.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/stream_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

[[noreturn]] void refuse(const std::string& change, const std::string& expected) {
  std::string forms;
  for (const ChangeForm& form : change_forms()) {
    forms += fmt::format("{}{}", forms.empty() ? "" : ", ", form.form);
  }
  throw InputError({.file = "--what-if",
                    .pointer = "",
                    .found = fmt::format("\"{}\"", change),
                    .expected = expected,
                    .hint = "changes are " + forms});
}

double factor_of(const std::string& change, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double most = 1000;
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= most)) {
    refuse(change, fmt::format("a factor from 0 to {} behind \"=\"", most));
  }
  return value;
}

std::uint32_t number_of(const std::string& change, std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(change, "a number");
  return value;
}

/// "scale:PART=0.5" is word "scale", object "PART" and value "0.5".
struct Words {
  std::string word;
  std::string object;
  std::string value;
};

Words words_of(const std::string& change) {
  Words words;
  const std::size_t colon = change.find(':');
  const std::size_t equals = change.rfind('=');
  words.word = change.substr(0, std::min(colon, equals));
  if (colon == std::string::npos || (equals != std::string::npos && equals < colon)) {
    if (equals != std::string::npos) words.value = change.substr(equals + 1);
    return words;
  }
  const bool valued = words.word == "scale" || words.word == "straggler";
  const bool split = valued && equals != std::string::npos && equals > colon;
  words.object = change.substr(colon + 1, split ? equals - colon - 1 : std::string::npos);
  if (split) words.value = change.substr(equals + 1);
  return words;
}

class ChangeMaker {
 public:
  ChangeMaker(const ReplayModel& model,
              const ImportedTrace& trace,
              const std::string& change,
              const StopFlag* stop,
              const TaskGraph* dependencies)
      : model_(model),
        trace_(trace),
        change_(change),
        words_(words_of(change)),
        stop_(stop),
        dependencies_(dependencies) {}

  [[nodiscard]] ChangedRun run() {
    result_.change = change_;
    baseline_ = simulated(model_.problem(), model_.plan);
    result_.compared_with = device_span(baseline_);
    make();
    result_.trace = simulated(result_.replay.problem(), result_.replay.plan);
    result_.span = device_span(result_.trace);
    if (words_.word == "streams" && words_.value == "1") result_.note = said_of_one_stream();
    return std::move(result_);
  }

 private:
  [[nodiscard]] Trace simulated(const Problem& problem, const Plan& plan) const {
    SimulationOptions options;
    options.stop = stop_;
    options.record_hosts = true;
    return simulate(problem, plan, options);
  }

  void make() {
    const std::string& word = words_.word;
    if (word == "scale") {
      result_.replay = scale_kernels(model_, kernels(), factor_of(change_, words_.value));
    } else if (word == "remove") {
      result_.replay = remove_kernels(model_, kernels());
    } else if (word == "fuse") {
      result_.replay = fuse_kernels(model_, kernels());
    } else if (word == "host") {
      result_.replay = scale_hosts(model_, factor_of(change_, words_.value));
    } else if (word == "graph_launch") {
      launch_region();
    } else if (word == "straggler") {
      straggle();
    } else if (word == "streams") {
      merge();
    } else if (word == "policy") {
      schedule();
    } else if (word == "machine") {
      move_to_machine();
    } else {
      refuse(change_, "one of the changes");
    }
  }

  /// Do several streams win here?
  [[nodiscard]] std::string said_of_one_stream() const {
    if (result_.span == result_.compared_with) return "several streams make no difference";
    return result_.span > result_.compared_with ? "so several streams win"
                                                : "so several streams lose";
  }

  [[nodiscard]] std::vector<OperationId> kernels() const {
    if (words_.object.empty()) refuse(change_, "a part of the name of a kernel behind \":\"");
    return find_kernels(model_.graph, words_.object);
  }

  void launch_region() {
    const TraceWindow window = find_window(trace_, words_.object, 0, "--what-if");
    result_.replay = launch_at_once(model_, window.from, window.to);
    result_.note = said_of_launching_at_once(model_);
  }

  void straggle() {
    const std::uint32_t rank = number_of(change_, words_.object);
    if (rank >= model_.plan.hosts.size()) {
      refuse(change_, fmt::format("a rank from 0 to {}", model_.plan.hosts.size() - 1));
    }
    result_.replay = slow_rank(model_, rank, factor_of(change_, words_.value));
  }

  void merge() {
    const std::uint32_t count = number_of(change_, words_.value);
    if (count == 0) refuse(change_, "at least one stream");
    if (model_.plan.hosts.size() > 1 || !model_.plan.graphs.empty()) {
      refuse(change_, "a profile of one rank without launches of graphs, to merge the streams of");
    }
    result_.replay = {.graph = model_.graph,
                      .platform = model_.platform,
                      .costs = model_.costs,
                      .plan = merge_streams(model_.plan, count),
                      .touched = streams_in_use(model_.plan)};
  }

  /// What a policy makes of the graph, against the recorded streams with the same host.
  void schedule() {
    if (model_.plan.hosts.size() > 1) refuse(change_, "a profile of one rank to plan for");
    result_.replay = with_mean_host(model_);
    result_.compared_with = device_span(simulated(result_.replay.problem(), result_.replay.plan));
    result_.note =
        "against the recorded streams; both with the mean host work per launch, without the host's "
        "own waits";
    drop_synchronizations();
    if (dependencies_ != nullptr) {
      result_.replay.graph = *dependencies_;
      result_.note += "; dependencies of the execution trace";
    }
    const auto policy = make_policy(words_.value);
    const Problem problem = result_.replay.problem();
    Simulator simulator;
    if (const auto online = policy->online(problem); online != nullptr) {
      result_.replay.plan = simulator.record(problem, *online).plan;
      result_.replay.plan.policy = policy->name();
    } else {
      result_.replay.plan = policy->plan(problem);
    }
    const auto findings = check(problem.graph, problem.platform, result_.replay.plan);
    if (!findings.empty()) {
      throw InfeasibleError(fmt::format(
          "policy {} breaks the order of the trace: {}", words_.value, findings.front().message));
    }
  }

  /// Policies do not wait on the host, so that the plan they are compared with must not, either.
  void drop_synchronizations() {
    Plan plan = result_.replay.plan;
    for (HostProgram& host : plan.hosts) {
      std::erase_if(host.calls,
                    [](HostCall call) { return call.kind() == HostCallKind::synchronize; });
    }
    result_.compared_with = device_span(simulated(result_.replay.problem(), plan));
  }

  void move_to_machine() {
    const std::size_t comma = words_.value.find(',');
    if (comma == std::string::npos) refuse(change_, "machine=FROM,TO");
    const MachineSpec from = load_machine(words_.value.substr(0, comma));
    const MachineSpec to = load_machine(words_.value.substr(comma + 1));
    const Device& old_device = from.platform.devices[DeviceId{0}];
    const Device& new_device = to.platform.devices[DeviceId{0}];
    result_.replay = with_durations(model_, [&](TaskId task) {
      const Operation& operation = model_.graph.operation(task);
      const double speed_up =
          machine_speed_up(operation.name, operation.kind, old_device, new_device);
      return from_us(to_us(model_.costs.duration(task)) / speed_up);
    });
    result_.note = "durations by the ratio of data sheet rates; the host is the same";
  }

  const ReplayModel& model_;
  const ImportedTrace& trace_;
  const std::string& change_;
  Words words_;
  const StopFlag* stop_;
  const TaskGraph* dependencies_;
  Trace baseline_;
  ChangedRun result_;
};

bool has_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

DataType data_type_of(std::string_view name) {
  if (has_any(name, {"bf16", "BBS", "bfloat"})) return DataType::bf16;
  if (has_any(name, {"tf32"})) return DataType::tf32;
  if (has_any(name, {"f16", "fp16", "hgemm", "half", "h884", "h1688", "h16816"})) {
    return DataType::fp16;
  }
  return DataType::fp32;
}

double ratio(double from, double to, std::string_view what, const Device& a, const Device& b) {
  if (from > 0 && to > 0) return to / from;
  throw InfeasibleError(fmt::format("machine {} has no {}", from > 0 ? b.name : a.name, what));
}

}  // namespace

double ChangedRun::speed_up() const {
  return span == Duration{0} ? 1.0 : to_us(compared_with) / to_us(span);
}

const std::vector<ChangeForm>& change_forms() {
  static const std::vector<ChangeForm> forms{
      {"scale:PART=FACTOR", "kernels with PART in their name take FACTOR of their time"},
      {"remove:PART", "without these kernels and the host's work for them"},
      {"fuse:PART", "neighbours among these kernels become one"},
      {"host=FACTOR", "the host's own work takes FACTOR of its time"},
      {"graph_launch", "everything between two synchronisations is launched at once"},
      {"graph_launch:NAME",
       "what the first annotation or operator NAME launches is launched at once"},
      {"streams=N", "the same calls on N streams"},
      {"policy=NAME", "a policy of schedlab list, against the recorded streams"},
      {"machine=FROM,TO", "kernels as on machine TO, of a profile from machine FROM"},
      {"straggler:RANK=FACTOR", "one rank takes FACTOR of its time"}};
  return forms;
}

Duration device_span(const Trace& trace) {
  Time end{};
  for (const TaskSpan& span : trace.tasks) end = std::max(end, span.ended);
  return end.time_since_epoch();
}

ChangedRun simulate_change(const ReplayModel& model,
                           const ImportedTrace& trace,
                           const std::string& change,
                           const StopFlag* stop,
                           const TaskGraph* dependencies) {
  return ChangeMaker(model, trace, change, stop, dependencies).run();
}

double machine_speed_up(std::string_view kernel,
                        TaskKind kind,
                        const Device& from,
                        const Device& to) {
  switch (kind) {
    case TaskKind::collective:
      return 1.0;
    case TaskKind::copy_host_to_device:
      return ratio(from.rates.host_to_device.count(),
                   to.rates.host_to_device.count(),
                   "link from the host",
                   from,
                   to);
    case TaskKind::copy_device_to_host:
      return ratio(from.rates.device_to_host.count(),
                   to.rates.device_to_host.count(),
                   "link to the host",
                   from,
                   to);
    default:
      break;
  }
  if (has_any(kernel, {"gemm", "conv", "cutlass", "xmma", "fprop", "wgrad", "dgrad", "Cijk"})) {
    const auto type = static_cast<std::size_t>(data_type_of(kernel));
    return ratio(from.rates.matrix.at(type).count(),
                 to.rates.matrix.at(type).count(),
                 fmt::format("rate of {} matrix kernels", to_string(data_type_of(kernel))),
                 from,
                 to);
  }
  return ratio(from.rates.memory.count(), to.rates.memory.count(), "memory bandwidth", from, to);
}

}  // namespace schedlab
