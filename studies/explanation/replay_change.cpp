// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/replay_change.hpp"

#include "hw_models/machine_spec.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/stream_merge.hpp"
#include "studies/explanation/imported_run.hpp"
#include "workloads/traces/kernel_overlap.hpp"

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
  const bool valued = words.word == "scale" || words.word == "straggler" || words.word == "stream";
  const bool split = valued && equals != std::string::npos && equals > colon;
  words.object = change.substr(colon + 1, split ? equals - colon - 1 : std::string::npos);
  if (split) words.value = change.substr(equals + 1);
  return words;
}

/// Changes in the order in which they are made, and whether one may be there twice.
struct Phase {
  std::string_view word;
  int order;
  bool repeats;
};
constexpr std::array<Phase, 11> phases{{{"alone", 0, false},
                                        {"scale", 0, true},
                                        {"machine", 0, false},
                                        {"straggler", 0, true},
                                        {"host", 0, false},
                                        {"graph_launch", 1, false},
                                        {"remove", 2, true},
                                        {"fuse", 3, true},
                                        {"stream", 4, true},
                                        {"streams", 4, false},
                                        {"policy", 5, false}}};

const Phase* phase_of(std::string_view word) {
  const auto found = std::find_if(
      phases.begin(), phases.end(), [&](const Phase& phase) { return phase.word == word; });
  return found == phases.end() ? nullptr : &*found;
}

std::string word_of(const std::string& change) {
  return change.substr(0, change.find_first_of(":="));
}

Trace simulated(const Problem& problem, const Plan& plan, const StopFlag* stop) {
  SimulationOptions options;
  options.stop = stop;
  options.record_hosts = true;
  return simulate(problem, plan, options);
}

class ChangeMaker {
 public:
  ChangeMaker(const ReplayBase& base,
              const ImportedTrace& trace,
              const std::string& change,
              const StopFlag* stop,
              const TaskGraph* dependencies)
      : base_(base),
        trace_(trace),
        change_(change),
        stop_(stop),
        dependencies_(dependencies),
        model_(base.model) {}

  [[nodiscard]] ChangedRun run() {
    result_.change = change_;
    result_.base_span_error = base_.errors.span_error();
    result_.compared_with = device_span(base_.model.graph, base_.trace);
    std::vector<std::string> parts = change_parts(change_);
    expect_together(parts);
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      const Phase* first = phase_of(word_of(a));
      const Phase* second = phase_of(word_of(b));
      return (first == nullptr ? 0 : first->order) < (second == nullptr ? 0 : second->order);
    });
    for (const std::string& part : parts) {
      part_ = part;
      words_ = words_of(part);
      ChangedReplay changed = make();
      if (changed.touched == 0 && parts.size() > 1) note(part + " changes nothing here");
      result_.replay.touched += changed.touched;
      model_.graph = std::move(changed.graph);
      model_.platform = std::move(changed.platform);
      model_.costs = std::move(changed.costs);
      model_.plan = std::move(changed.plan);
    }
    result_.replay.graph = std::move(model_.graph);
    result_.replay.platform = std::move(model_.platform);
    result_.replay.costs = std::move(model_.costs);
    result_.replay.plan = std::move(model_.plan);
    result_.trace = simulated(result_.replay.problem(), result_.replay.plan, stop_);
    result_.span = device_span(result_.replay.graph, result_.trace);
    if (parts.size() == 1 && words_.word == "streams" && words_.value == "1") {
      result_.note = said_of_one_stream();
    }
    return std::move(result_);
  }

 private:
  void note(const std::string& text) { result_.note += (result_.note.empty() ? "" : "; ") + text; }

  void expect_together(const std::vector<std::string>& parts) const {
    std::vector<std::string> words;
    for (const std::string& part : parts) words.push_back(word_of(part));
    const auto has = [&](std::string_view word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    for (const std::string& word : words) {
      const Phase* phase = phase_of(word);
      if (phase != nullptr && !phase->repeats && std::count(words.begin(), words.end(), word) > 1) {
        refuse(change_, fmt::format("{} once", word));
      }
    }
    if (has("policy") && (has("streams") || has("stream"))) {
      refuse(change_, "streams=N or policy=NAME, as a policy chooses its streams");
    }
    if (dependencies_ != nullptr && has("policy") && (has("remove") || has("fuse"))) {
      refuse(change_, "policy=NAME with the tasks of the execution trace, none removed or fused");
    }
  }

  [[nodiscard]] ChangedReplay make() {
    const std::string& word = words_.word;
    if (word == "scale") {
      return scale_kernels(model_, kernels(), factor_of(part_, words_.value));
    }
    if (word == "remove") return remove_kernels(model_, kernels());
    if (word == "fuse") return fuse_kernels(model_, kernels());
    if (word == "host") return scale_hosts(model_, factor_of(part_, words_.value));
    if (word == "graph_launch") return launch_region();
    if (word == "straggler") return straggle();
    if (word == "stream") return join();
    if (word == "streams") return merge();
    if (word == "alone") return run_alone();
    if (word == "policy") return schedule();
    if (word == "machine") return move_to_machine();
    refuse(part_, "one of the changes");
  }

  /// Do several streams win here?
  [[nodiscard]] std::string said_of_one_stream() const {
    if (result_.span == result_.compared_with) return "several streams make no difference";
    return result_.span > result_.compared_with ? "so several streams win"
                                                : "so several streams lose";
  }

  [[nodiscard]] std::vector<OperationId> kernels() const {
    if (words_.object.empty()) refuse(part_, "a part of the name of a kernel behind \":\"");
    return find_kernels(model_.graph, words_.object);
  }

  [[nodiscard]] ChangedReplay launch_region() {
    const TraceWindow window = find_window(trace_, words_.object, 0, "--what-if");
    note(said_of_launching_at_once(model_));
    return launch_at_once(model_, window.from, window.to);
  }

  [[nodiscard]] ChangedReplay straggle() const {
    const std::uint32_t rank = number_of(part_, words_.object);
    if (rank >= model_.plan.hosts.size()) {
      refuse(part_, fmt::format("a rank from 0 to {}", model_.plan.hosts.size() - 1));
    }
    return slow_rank(model_, rank, factor_of(part_, words_.value));
  }

  [[nodiscard]] ChangedReplay merge() const {
    const std::uint32_t count = number_of(part_, words_.value);
    if (count == 0) refuse(part_, "at least one stream");
    if (model_.plan.hosts.size() > 1 || !model_.plan.graphs.empty()) {
      refuse(part_, "a profile of one rank without launches of graphs, to merge the streams of");
    }
    return {.graph = model_.graph,
            .platform = model_.platform,
            .costs = model_.costs,
            .plan = merge_streams(model_.plan, count),
            .touched = streams_in_use(model_.plan)};
  }

  /// The stream of the plan that the profile numbers so.
  [[nodiscard]] StreamId stream_named(std::string_view number) const {
    std::string known;
    for (const StreamId stream : model_.plan.streams.ids()) {
      const std::string name = model_.plan.stream_name(stream);
      if (name == fmt::format("stream {}", number)) return stream;
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse(part_, "two streams of the profile: " + known);
  }

  [[nodiscard]] ChangedReplay join() const {
    if (model_.plan.hosts.size() > 1 || !model_.plan.graphs.empty()) {
      refuse(part_, "a profile of one rank without launches of graphs, to join the streams of");
    }
    const StreamId from = stream_named(words_.object);
    const StreamId into = stream_named(words_.value);
    if (from == into) refuse(part_, "two streams of the profile");
    return {.graph = model_.graph,
            .platform = model_.platform,
            .costs = model_.costs,
            .plan = join_streams(model_.plan, from, into),
            .touched = 1};
  }

  /// Kernels that ran beside others take what the same kernel took alone.
  [[nodiscard]] ChangedReplay run_alone() {
    if (model_.plan.hosts.size() > 1) refuse(part_, "a profile of one rank");
    const std::vector<Duration> alone = durations_alone(trace_);
    const std::vector<double> beside = shares_beside(trace_);
    std::size_t ran_beside = 0;
    std::size_t known = 0;
    ChangedReplay changed = with_durations(model_, [&](TaskId task) {
      const ReplayModel::Origin& origin = model_.origins[task];
      if (origin.pause != 0) return model_.costs.duration(task);
      const DeviceRow& row = trace_.device_rows[origin.row];
      const bool other = alone[origin.row] != row.ended - row.started;
      ran_beside += beside[origin.row] > 0.05 ? 1U : 0U;
      known += other ? 1U : 0U;
      return other ? alone[origin.row] : model_.costs.duration(task);
    });
    note(
        fmt::format("of {} kernels beside other streams {} have another time alone; the rest as "
                    "recorded",
                    ran_beside,
                    known));
    return changed;
  }

  /// What a policy makes of the graph, against the recorded streams with the same host.
  [[nodiscard]] ChangedReplay schedule() {
    if (model_.plan.hosts.size() > 1) refuse(part_, "a profile of one rank to plan for");
    const ChangedReplay recorded = without_host_waits(base_.model);
    result_.compared_with =
        device_span(recorded.graph, simulated(recorded.problem(), recorded.plan, stop_));
    note(
        "against the recorded streams; both with the mean host work per launch, without the host's "
        "own waits");
    ChangedReplay result = without_host_waits(model_);
    if (dependencies_ != nullptr) {
      result.graph = *dependencies_;
      result_.note += "; dependencies of the execution trace";
    }
    const auto policy = make_policy(words_.value);
    const Problem problem = result.problem();
    Simulator simulator;
    if (const auto online = policy->online(problem); online != nullptr) {
      result.plan = simulator.record(problem, *online).plan;
      result.plan.policy = policy->name();
    } else {
      result.plan = policy->plan(problem);
    }
    const auto findings = check(problem.graph, problem.platform, result.plan);
    if (!findings.empty()) {
      throw InfeasibleError(fmt::format(
          "policy {} breaks the order of the trace: {}", words_.value, findings.front().message));
    }
    return result;
  }

  /// Policies do not wait on the host, so that the plan they are compared with must not, either;
  /// nor is there anything left of its waits for what the profile does not show.
  [[nodiscard]] static ChangedReplay without_host_waits(const ReplayModel& model) {
    ChangedReplay result = with_mean_host(model);
    for (HostProgram& host : result.plan.hosts) {
      std::erase_if(host.calls,
                    [](HostCall call) { return call.kind() == HostCallKind::synchronize; });
    }
    IdVector<TaskId, Duration> durations = result.costs.durations();
    for (const TaskId task : result.graph.tasks()) {
      const bool pause = result.graph.operation(task).kind == TaskKind::host;
      if (pause && result.graph.successors(task).empty()) durations[task] = Duration{0};
    }
    result.costs.set_task_durations(std::move(durations));
    return result;
  }

  [[nodiscard]] ChangedReplay move_to_machine() {
    const std::size_t comma = words_.value.find(',');
    if (comma == std::string::npos) refuse(part_, "machine=FROM,TO");
    const MachineSpec from = load_machine(words_.value.substr(0, comma));
    const MachineSpec to = load_machine(words_.value.substr(comma + 1));
    const Device& old_device = from.platform.devices[DeviceId{0}];
    const Device& new_device = to.platform.devices[DeviceId{0}];
    expect_profiled_on(from.name, old_device);
    note("durations by the ratio of data sheet rates; the host is the same");
    return with_durations(model_, [&](TaskId task) {
      const Operation& operation = model_.graph.operation(task);
      if (operation.kind == TaskKind::host) return model_.costs.duration(task);  // a pause
      const double speed_up =
          machine_speed_up(operation.name, operation.kind, old_device, new_device);
      return from_us(to_us(model_.costs.duration(task)) / speed_up);
    });
  }

  void expect_profiled_on(const std::string& machine, const Device& device) {
    if (trace_.devices.empty() || trace_.devices.front().name.empty()) {
      return note("the profile does not say what device it is of");
    }
    const std::string& profiled = trace_.devices.front().name;
    if (may_be_device(profiled, device.name)) return;
    throw InputError(
        {.file = "--what-if",
         .pointer = "",
         .found = fmt::format("\"{}\": a profile from {} ({})", part_, machine, device.name),
         .expected = fmt::format("a machine with the profile's device, {}", profiled),
         .hint = "machine=FROM,TO scales by the ratio of both; \"schedlab list "
                 "machines\" has those that there are, and a machine file will do"});
  }

  const ReplayBase& base_;
  const ImportedTrace& trace_;
  const std::string& change_;
  const StopFlag* stop_;
  const TaskGraph* dependencies_;
  ReplayModel model_;  // with what was changed so far
  std::string part_;
  Words words_;
  ChangedRun result_;
};

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
      {"stream:FROM=INTO", "what stream FROM of the profile does goes into stream INTO"},
      {"alone", "kernels beside other streams take what the same kernel and grid took alone"},
      {"policy=NAME", "a policy of schedlab list, against the recorded streams"},
      {"machine=FROM,TO", "kernels as on machine TO, of a profile from machine FROM"},
      {"straggler:RANK=FACTOR", "one rank takes FACTOR of its time"}};
  return forms;
}

ReplayBase::ReplayBase(ReplayModel made, const StopFlag* stop)
    : model(std::move(made)),
      trace(simulated(model.problem(), model.plan, stop)),
      errors(replay_errors(model, trace)) {}

Duration device_span(const TaskGraph& graph, const Trace& trace) {
  Time end{};
  for (const TaskSpan& span : trace.tasks) {
    if (graph.operation(span.task).kind != TaskKind::host) end = std::max(end, span.ended);
  }
  return end.time_since_epoch();
}

std::vector<std::string> change_parts(const std::string& change) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= change.size();) {
    const std::size_t end = std::min(change.find(',', begin), change.size());
    const std::string piece = change.substr(begin, end - begin);
    if (parts.empty() || phase_of(word_of(piece)) != nullptr) {
      parts.push_back(piece);
    } else {
      parts.back() += "," + piece;
    }
    begin = end + 1;
  }
  return parts;
}

ChangedRun simulate_change(const ReplayBase& base,
                           const ImportedTrace& trace,
                           const std::string& change,
                           const StopFlag* stop,
                           const TaskGraph* dependencies) {
  return ChangeMaker(base, trace, change, stop, dependencies).run();
}

}  // namespace schedlab
