// SPDX-License-Identifier: Apache-2.0
// Launch modes through whole scenarios: what each leaves out, adds and repeats.
#include "sim/launch/launch.hpp"

#include "hw_models/host_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/repeat_plan.hpp"
#include "studies/scenario/host_range.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "workloads/registry.hpp"
#include "workloads/transforms/repeat_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

/// 12 tasks of one kernel each, on one stream, of `us` microseconds.
std::string chain_spec(double us, const std::string& machine, const std::string& launch) {
  return fmt::format(
      R"({{"workload": {{"kind": "grid", "layers": 1, "steps": 12, "duration_us": {}}},
           "machine": {{"base": "ideal", {}}}, "policy": "single_stream", "launch": {}}})",
      us,
      machine,
      launch);
}

constexpr const char* stages =
    R"("front_end_us": 5, "conversion_us": 3, "shape_inference_us": 2, "tiling_us": 4,
       "allocation_us": 1, "launch_us": 6)";
constexpr const char* sunk =
    R"("sink_load_us": 100, "sink_load_task_us": 6, "sink_tensor_us": 0.5, "sink_address_us": 2,
       "sink_copy_us": 7, "sink_issue_us": 9, "sink_task_gap_us": 1.5)";

/// All scenarios of a spec, each checked; a failed one shows why.
std::vector<Summary> run_all(const std::string& text) {
  const Spec spec = parse_spec(text, "a.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  std::vector<Summary> all;
  for (std::uint64_t i = 0; i < grid.size(); ++i) {
    const ScenarioResult result = runner.run(i, true);
    CHECK_MESSAGE(!result.failed, result.note);
    CHECK_MESSAGE(result.findings == 0, result.note);
    all.push_back(result.summary);
  }
  return all;
}

std::string note_of(const std::string& text) {
  const Spec spec = parse_spec(text, "a.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  return ScenarioRunner(space).run(0, true).note;
}

TEST_CASE("time that 64 bits do not count is refused, be it of launches or of runs") {
  const std::string at_most = "tasks and launches take";
  // 12 launches of 1e12 us are 1.2e19 ps, of 2^63; 1000 runs of 12 tasks of 1e9 us 1.2e19 ps.
  CHECK(note_of(chain_spec(1, R"("launch_us": 1e12)", R"("eager")")).find(at_most) == 0);
  CHECK(note_of(chain_spec(1e9, R"("launch_us": 1)", R"({"name": "eager", "runs": 1000})"))
            .find(at_most) == 0);
  // 3.6e18 ps: the last task starts when it is launched.
  const auto all = run_all(chain_spec(1, R"("launch_us": 3e11)", R"("eager")"));
  CHECK(all.at(0).makespan == Duration{12 * 300'000'000'000'000'000 + 1'000'000});
}

TEST_CASE("programmatic launches and urgent units are axes, and their bounds hold") {
  const auto spec = [](const std::string& policy, const std::string& launch) {
    return R"({"workload": {"kind": "lstm", "pass": "training", "layers": 2, "steps": 4, "batch": 16,
                            "hidden": 128, "granularity": "fine"},
               "machine": "h200", "policy": ")" +
           policy + R"(", "launch": {"name": "graph_launch", )" + launch + "}}";
  };
  const auto runs =
      run_all(spec("single_stream", R"("programmatic": ["none", "own_kernels", "all_kernels"])"));
  CHECK(runs[0].makespan > runs[1].makespan);  // updates follow each other
  CHECK(runs[1].makespan > runs[2].makespan);
  const auto divided = run_all(spec("critical_first", R"("urgent_units": [0, 8])"));
  CHECK(divided[0].makespan < divided[1].makespan);
  for (const auto& all : {runs, divided}) {
    for (const Summary& run : all) CHECK(run.bounds.largest() <= run.makespan);
  }
  CHECK(note_of(R"({"workload": {"kind": "lstm", "steps": 2}, "machine": "v100", "policy": "heft",
                    "launch": {"name": "eager", "programmatic": "own_kernels"}})")
            .find("machine \"v100\" has no programmatic launches") != std::string::npos);
}

TEST_CASE("graph mode is eager less front end, conversion, shape inference and tiling") {
  const auto runs = run_all(chain_spec(1, stages, R"(["eager", "graph_mode"])"));
  // Host-bound: 12 operators, and the last task. 5 + 3 + 2 + 4 us of 21 fall away.
  CHECK(runs[0].makespan == 12 * 21us + 1us);
  CHECK(runs[1].makespan == 12 * 7us + 1us);
  CHECK(runs[0].bounds.host_issue - runs[1].bounds.host_issue == 12 * (5us + 3us + 2us + 4us));
}

TEST_CASE("two threads: all that comes before the launch is done by the one that prepares") {
  const auto runs = run_all(chain_spec(0, stages, R"(["eager_two_thread", "eager"])"));
  CHECK(runs[0].makespan == 12 * 15us + 6us);  // preparation 15, launch 6
  CHECK(runs[1].makespan == 12 * 21us);
}

TEST_CASE("the second thread can prepare more, and a graph of dynamic shapes keeps two stages") {
  const auto runs = run_all(chain_spec(0, stages, R"([
      {"name": "eager_two_thread", "second_thread_from": "shape_inference"},
      {"name": "eager_two_thread", "second_thread_from": "launch"},
      {"name": "graph_mode", "dynamic_shapes": true}])"));
  CHECK(runs[0].makespan == 8us + 12 * 13us);  // 5 + 3 before, 2 + 4 + 1 + 6 on the second
  CHECK(runs[1].makespan == 12 * 15us + 6us);
  CHECK(runs[2].makespan == 12 * 13us);  // 2 + 4 + 1 + 6
  // Two device tasks: the stages are the operator's, and paid once. 8 + 12 * (7 + 2 * 6).
  const std::string operators = fmt::format("{}, \"operator_tasks\": 2", stages);
  CHECK(run_all(chain_spec(0, operators, R"({"name": "eager_two_thread",
                                       "second_thread_from": "shape_inference"})"))[0]
            .makespan == 8us + 12 * 19us);
}

TEST_CASE("a sunk run is its head and its body, exactly") {
  const std::string machine = fmt::format("{}, {}", stages, sunk);
  const auto runs =
      run_all(chain_spec(10,
                         machine,
                         R"([{"name": "sink", "io_tensors": 40, "changed_operators": 3},
          {"name": "sink", "io_tensors": 40, "feature_map_changed": true},
          {"name": "sink", "io_tensors": 0},
          {"name": "sink", "io_tensors": 0, "load": true},
          {"name": "sink", "io_tensors": 0, "copied_inputs": 2}])"));
  const Duration body = 12 * 10us + 11 * from_us(1.5);  // a gap between each two tasks
  CHECK(runs[0].head_overhead == 40 * from_us(0.5) + 3 * 2us + 9us);
  CHECK(runs[1].head_overhead == 40 * from_us(0.5) + 12 * 2us + 9us);  // all 12 operators
  CHECK(runs[2].head_overhead == 9us);
  CHECK(runs[3].load == 100us + 12 * 6us);
  CHECK(runs[4].head_overhead == 2 * 7us + 9us);
  for (const Summary& run : runs) {
    // Two copies of nothing take no time, and the scheduler's gap after each.
    const Duration copies = &run == &runs[4] ? 2 * from_us(1.5) : Duration{0};
    CHECK(run.makespan == run.load + run.head_overhead + copies + body);
    CHECK(run.host_calls <= 2);
  }
}

TEST_CASE("inputs that are not zero-copy hold up the model by their bytes over the link") {
  const auto runs = run_all(chain_spec(10,
                                       fmt::format(R"({}, "host_to_device_gb_per_s": 16,
                                                       "copy_latency_us": 4)",
                                                   sunk),
                                       R"({"name": "sink", "io_tensors": 0, "copied_inputs": 1,
                                           "copied_mib": 16})"));
  // 7 to issue the copy, 9 the model; 16 MiB at 16 GB/s are 1048.576 us, then the scheduler's gap.
  CHECK(runs[0].head_overhead == 7us + 9us);
  CHECK(runs[0].makespan ==
        runs[0].head_overhead + 4us + from_us(1048.576) + 12 * 10us + 12 * from_us(1.5));
  const std::string no_link = fmt::format("{}, \"host_to_device_gb_per_s\": 0", sunk);
  CHECK(note_of(chain_spec(10, no_link, R"({"name": "sink", "copied_mib": 1})"))
            .find("host_to_device_gb_per_s") != std::string::npos);
}

TEST_CASE("copied inputs are tasks of their copy engine, with their bytes, before the model") {
  const Spec spec = parse_spec(R"({
    "workload": {"kind": "llama_decode", "layers": 1},
    "machine": {"base": "ascend_910b", "host": "cann_eager"}, "policy": "single_stream",
    "launch": {"name": "sink", "copied_inputs": 3, "copied_mib": 10, "runs": 2}})",
                               "a.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  const FullRun run = ScenarioRunner(space).run_fully(0, false);
  CHECK(run.findings.empty());
  const Problem problem = run.scenario.problem->problem();
  const std::size_t of_run = problem.graph.task_count() / 2;
  std::vector<TaskSpan> copies;
  for (const TaskSpan& span : run.trace.tasks) {
    if (run.plan.stream_name(span.stream) == "inputs") copies.push_back(span);
  }
  REQUIRE(copies.size() == 2 * 3);
  const Device& device = problem.platform.devices[DeviceId{0}];
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    CAPTURE(i);
    // The last tasks of each run's numbers.
    CHECK(copies[i].task.value() == (i / 3) * of_run + of_run - 3 + i % 3);
    const Operation& operation = problem.graph.operation(copies[i].task);
    CHECK(operation.kind == TaskKind::copy_host_to_device);
    bytes += operation.bytes_written().count();
    const CostTable::Entry& entry = problem.costs.entry(copies[i].task);
    CHECK(device.unit_classes[entry.unit_class].name == "dma");
    CHECK(copies[i].ended - copies[i].started ==
          device.rates.copy_latency + operation.bytes_written() / device.rates.host_to_device);
    if (i % 3 != 0) CHECK(copies[i].started == copies[i - 1].ended + device.sink_task_gap);
  }
  CHECK(bytes == 2 * 10 * 1024 * 1024);
  for (const TaskSpan& span : run.trace.tasks) {
    const std::size_t number = span.task.value() / of_run;
    if (span.stream == copies[0].stream) continue;
    CHECK(span.started >= copies[3 * number + 2].ended + device.sink_task_gap);
  }
}

TEST_CASE("each rank of a divided sunk model copies its own inputs") {
  const auto runs = run_all(R"({
    "workload": {"kind": "llama_decode", "layers": 1, "tensor_parallel": 4},
    "machine": {"base": "h200", "host": "cann_sink"}, "policy": "single_stream",
    "launch": [{"name": "sink"}, {"name": "sink", "copied_inputs": 2, "copied_mib": 8},
               {"name": "sink", "copied_mib": 8, "runs": 3}]})");
  CHECK(runs[1].tasks == runs[0].tasks + 4 * 2);
  CHECK(runs[1].makespan > runs[0].makespan);
  CHECK(runs[2].tasks == 3 * (runs[0].tasks + 4));  // bytes without a number: one copy
}

TEST_CASE("a new shape loads the sunk model again, other runs only pay the head") {
  const auto runs = run_all(chain_spec(10,
                                       sunk,
                                       R"([{"name": "sink", "io_tensors": 0, "runs": 6},
          {"name": "sink", "io_tensors": 0, "runs": 6, "load": true},
          {"name": "sink", "io_tensors": 0, "runs": 6, "load": true, "reload_every": 2},
          {"name": "sink", "io_tensors": 0, "runs": 6, "reload_every": 2}])"));
  const Duration load = 100us + 12 * 6us;
  const Duration run = 9us + 12 * 10us + 11 * from_us(1.5);
  const std::int64_t loads[] = {0, 1, 3, 2};  // before runs 0, 2, 4; the last has run 0's already
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(runs[i].load == loads[i] * load);
    CHECK(runs[i].makespan == loads[i] * load + 6 * run);
    CHECK(runs[i].tasks == 6 * 12);
  }
}

TEST_CASE("every launch mode runs a workload several times, run after run") {
  const auto runs = run_all(chain_spec(3,
                                       fmt::format("{}, {}", stages, sunk),
                                       R"([{"name": "eager"}, {"name": "eager", "runs": 4},
          {"name": "graph_launch"}, {"name": "graph_launch", "runs": 4},
          {"name": "graph_mode"}, {"name": "graph_mode", "runs": 4},
          {"name": "eager_two_thread"}, {"name": "eager_two_thread", "runs": 4}])"));
  for (std::size_t mode = 0; mode < 4; ++mode) {
    CAPTURE(mode);
    // The host waits for the end of each run, so nothing of the next is hidden.
    CHECK(runs[2 * mode + 1].makespan == 4 * runs[2 * mode].makespan);
    CHECK(runs[2 * mode + 1].launches == 4 * runs[2 * mode].launches);
  }
}

TEST_CASE("streams of an iteration are made anew by every run, other streams once") {
  const auto plan_of = [](const std::string& policy) {
    const Spec spec = parse_spec(
        fmt::format(R"({{"workload": {{"kind": "lstm", "layers": 4, "steps": 3}}, "machine": "v100",
                         "policy": {}, "launch": {{"name": "eager", "runs": 3}}}})",
                    policy),
        "a.json");
    const Grid grid(spec);
    ScenarioSpace space(spec, grid);
    FullRun run = ScenarioRunner(space).run_fully(0);
    CHECK(run.findings.empty());
    return run.plan;
  };
  // One stream per layer and run; two per layer for cudnn_like.
  const Plan anew = plan_of(R"({"name": "diagonal", "streams_per_iteration": true})");
  CHECK(anew.streams.size() == 4);
  CHECK(anew.count(HostCallKind::create_stream) == 3 * 4);
  CHECK(anew.count(HostCallKind::destroy_stream) == 3 * 4);
  CHECK(plan_of(R"("cudnn_like")").count(HostCallKind::create_stream) == 3 * 8);
  // Created as the search reaches their layers and never destroyed: 2 L + 1.
  CHECK(plan_of(R"("critical_first")").count(HostCallKind::create_stream) == 9);
  CHECK(plan_of(R"("diagonal")").count(HostCallKind::create_stream) == 0);
}

TEST_CASE("an operator of several device tasks is launched as often and has gaps inside") {
  const auto runs = run_all(
      fmt::format(R"({{"workload": {{"kind": "lstm", "pass": "forward", "layers": 1, "steps": 1,
                                     "batch": 8, "hidden": 64}},
                       "machine": {{"base": "v100", "operator_tasks": [1, 3],
                                    "operator_gap_us": 2.5, "front_end_us": 10}},
                       "policy": "single_stream"}})"));
  const std::int64_t operators = static_cast<std::int64_t>(runs[0].launches);
  CHECK(operators > 1);
  CHECK(runs[1].launches == runs[0].launches);
  // Two more driver calls of 3.8 us for each operator; the front end prepares it once.
  CHECK(runs[1].bounds.host_issue - runs[0].bounds.host_issue == operators * 2 * from_us(3.8));
  CHECK(runs[1].bounds.critical_path - runs[0].bounds.critical_path ==
        operators * 2 * from_us(2.5));
}

TEST_CASE("a sunk model is one graph: a policy that waits for the device cannot have it") {
  Plan plan;
  plan.policy = "waits";
  plan.streams.resize(1);
  plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                 HostCall::synchronize_all(),
                                 HostCall::launch(StreamId{0}, TaskId{1})};
  CHECK_THROWS_WITH_AS(static_cast<void>(launched_plan(plan, {.mode = LaunchMode::sink}, 2)),
                       doctest::Contains("policy \"waits\" waits for the device"),
                       InfeasibleError);
  CHECK(launched_plan(plan, {.mode = LaunchMode::graph_launch}, 2).graphs.size() == 2);
}

TEST_CASE(
    "operators that cannot be sunk stay on the host, between sunk parts with heads of their own") {
  const auto spec = [](const std::string& launch) {
    return fmt::format(R"({{"workload": {{"kind": "llama_decode", "layers": 2}},
      "machine": {{"base": "ascend_910b", "host": "cann_eager"}}, "policy": "single_stream",
      "launch": {}}})",
                       launch);
  };
  const auto runs = run_all(spec(R"([{"name": "sink", "io_tensors": 0},
      {"name": "sink", "io_tensors": 0, "host_operators": "softmax"}])"));
  // One softmax in each of two layers: three parts instead of one, each issued in 6 us and on the
  // device 3 us later.
  CHECK(runs[0].head_overhead == 9us);
  CHECK(runs[1].head_overhead == 3 * 9us);
  CHECK(note_of(spec(R"({"name": "sink", "host_operators": "relu"})")).find("\"relu\"") !=
        std::string::npos);
}

TEST_CASE("inputs and outputs are the tensors that reach beyond a run") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  const TaskId first = builder.add_task(operation);
  const TaskId second = builder.add_task(operation);
  const auto tensor = [&](bool persistent) {
    return builder.add_tensor({.bytes = Bytes{8}, .persistent = persistent});
  };
  const TensorId input = tensor(false);
  const TensorId between = tensor(false);
  const TensorId output = tensor(false);
  const TensorId state = tensor(true);
  builder.reads(first, input);
  builder.writes(first, between);
  builder.writes(first, state);
  builder.reads(second, between);
  builder.reads(second, state);
  builder.writes(second, output);
  CHECK(io_tensor_count(std::move(builder).build()) == 3);  // all but `between`
  // 32 layers of 9 weights and 2 caches; word vectors, last norm, classifier, tokens in and out.
  CHECK(io_tensor_count(make_workload("llama_decode")) == 32 * 11 + 5);
}

TEST_CASE("runs of a graph keep its work, and each begins after the one before") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task", .fixed_duration = 2us});
  const TaskId a = builder.add_task(operation);
  const TaskId b = builder.add_task(operation);
  const TaskId c = builder.add_task(operation);
  builder.add_edge(a, c);
  const TaskGraph once = std::move(builder).build();
  const TaskGraph thrice = RepeatRuns{3}.apply(once);
  CHECK(thrice.task_count() == 9);
  CHECK(thrice.operations().size() == 1);
  // a -> c in each run; c and b (the last) before a and b (the first) of the next, twice.
  CHECK(thrice.edge_count() == 3 * 1 + 2 * (2 * 2));
  CHECK(thrice.name(TaskId{b.value() + 3}) == once.name(b) + "#1");
}

TEST_CASE("a divided model runs in every launch mode with clean plans, and faster than whole") {
  const auto runs = run_all(R"({
    "workload": {"kind": "llama_decode", "layers": 2, "tensor_parallel": [1, 4]},
    "machine": {"base": "h200", "host": "pytorch_eager"}, "policy": "single_stream",
    "launch": ["graph_launch", "eager", {"name": "graph_launch", "runs": 2}]})");
  CHECK(runs[3].makespan < runs[0].makespan);
  CHECK(runs[3].tasks == 4 * (runs[0].tasks + 2 * 2 + 1));  // two sums a layer, one for logits
  CHECK(runs[4].makespan > runs[3].makespan);
  CHECK(runs[5].tasks == 2 * runs[3].tasks);
  CHECK(note_of(R"({"workload": {"kind": "llama_decode", "layers": 1, "tensor_parallel": 2},
                    "machine": "h200", "policy": "single_stream", "ranks": 2})")
            .find("leave out \"ranks\"") != std::string::npos);
}

TEST_CASE("a host by name gives its numbers, and single numbers are changed after it") {
  MachineSpec machine = load_machine("h200");
  const Duration launch = machine.platform.hosts[HostId{0}].costs.launch;
  apply_overrides(machine, {{"host", std::string{"pytorch_eager"}}, {"front_end_us", 11.0}});
  const HostCosts& costs = machine.platform.hosts[HostId{0}].costs;
  CHECK(costs.front_end == 11us);
  CHECK(costs.conversion == 1us);
  CHECK(costs.launch == launch);  // the driver is the machine's
  const MachineSpec h200 =
      load_machine("h200");  // of one loading: profiles are compared by identity
  MachineSpec own = h200;
  apply_overrides(own, {{"host", std::string{"own"}}});
  CHECK(own == h200);
  for (const std::string& name : host_names()) {
    if (name == "own") continue;
    CAPTURE(name);
    CHECK(host_spec(name).name == name);
    CHECK(!host_spec(name).numbers.empty());
  }
}

TEST_CASE("what is published of a host by name holds what is simulated, whatever the machine") {
  std::size_t published = 0;
  for (const std::string& name : host_names()) {
    if (name == "own") continue;
    CAPTURE(name);
    const auto cost = host_spec(name).operator_cost;
    if (!cost) continue;
    ++published;
    CHECK(cost->min_us < cost->max_us);
    CHECK(cost->text.size() > 20);
    for (const char* base : {"v100", "a100", "h200"}) {
      if (name.find("pytorch") != 0 && name.find("cpp") != 0) continue;  // of NVIDIA's devices
      CAPTURE(base);
      MachineSpec machine = load_machine(base);
      apply_overrides(machine, {{"host", name}});
      const Host& host = machine.platform.hosts[HostId{0}];
      CHECK(to_us(host.operator_cost()) >= cost->min_us);
      CHECK(to_us(host.operator_cost()) <= cost->max_us);
      REQUIRE(host_in_use(machine));
      CHECK(host_in_use(machine)->name == name);
      const Host dearest = with_operator_cost(host, cost->max_us);
      CHECK(to_us(dearest.operator_cost()) == doctest::Approx(cost->max_us).epsilon(1e-6));
      apply_overrides(machine, {{"front_end_us", 7.0}});
      CHECK_FALSE(host_in_use(machine));
    }
  }
  CHECK(published == 5);
  CHECK_FALSE(host_in_use(load_machine("h200")));
}

TEST_CASE("a run that hangs on a host by name says how long it could take") {
  const auto range_of = [](const std::string& machine, const std::string& launch = {}) {
    const Spec spec = parse_spec(fmt::format(R"({{
        "workload": {{"kind": "llama_decode", "layers": 2}}, "machine": {},
        "policy": "single_stream"{}}})",
                                             machine,
                                             launch),
                                 "a.json");
    const Grid grid(spec);
    ScenarioSpace space(spec, grid);
    return host_range(ScenarioRunner(space).run_fully(0));
  };
  const auto eager = range_of(R"({"base": "a100", "host": "pytorch_modules"})");
  REQUIRE(eager);
  CHECK(eager->host == "pytorch_modules");
  CHECK(eager->operator_us == doctest::Approx(35.4));  // 30.4 + 1 + 0.5 + 0 + 1 + 2.5
  // The host decides: the makespan follows what an operator costs.
  CHECK(to_us(eager->longest) / to_us(eager->shortest) ==
        doctest::Approx(eager->max_us / eager->min_us).epsilon(0.05));
  CHECK(to_text(*eager).find("published are 27.6 to 45.3 us") != std::string::npos);
  CHECK_FALSE(range_of(R"("a100")"));
  // A compiled graph leaves most of it out, and nothing is published of what is left.
  CHECK_FALSE(
      range_of(R"({"base": "a100", "host": "pytorch_modules"})", R"(, "launch": "graph_mode")"));
  CHECK_FALSE(range_of(R"({"base": "a100", "host": "pytorch_modules", "front_end_us": 9})"));
  CHECK(note_of(R"({"workload": {"kind": "llama_decode", "layers": 2},
                    "machine": {"base": "a100", "host": "pytorch_modules"},
                    "policy": "single_stream"})") ==
        "the host decides: pytorch_modules at 35.4 us an operator; published are 27.6 to 45.3 us");
}

TEST_CASE("CANN's eager host costs 40 us an operator, all stages together") {
  MachineSpec machine = load_machine("ascend_910b");
  apply_overrides(machine, {{"host", std::string{"cann_eager"}}});
  CHECK(machine.platform.hosts[HostId{0}].operator_cost() == 40us);  // 15 + 5 + 3 + 8 + 3 + 6
}

}  // namespace
TEST_CASE("a sunk model needs a machine that has its costs") {
  const auto note = [](const char* machine, const char* launch) {
    return note_of(fmt::format(R"({{
      "workload": {{"kind": "lstm", "layers": 2, "steps": 4, "batch": 8, "hidden": 64}},
      "machine": {}, "policy": "single_stream", "launch": "{}"}})",
                               machine,
                               launch));
  };
  CHECK(note(R"("h200")", "sink").find("machine \"h200\" has no costs of sunk models") == 0);
  CHECK(note(R"("h200")", "graph_launch").empty());
  CHECK(note(R"({"base": "h200", "host": "cann_sink"})", "sink").empty());
  CHECK(note(R"("ascend_910b")", "sink").empty());
  CHECK(note(R"("manycore_cpu")", "graph_launch") ==
        "device graphs cost nothing to launch: the machine has no graph_launch_us");
}

TEST_CASE("durations that the graph gives are said to be the same on every machine") {
  const auto note = [](const char* machine, const char* cost_model) {
    return note_of(fmt::format(R"({{
      "workload": {{"kind": "random_layered", "width": 4, "layers": 3}},
      "machine": "{}", "cost_model": "{}", "policy": "heft"}})",
                               machine,
                               cost_model));
  };
  const char* given = "the graph gives all durations: they are the same on every machine";
  CHECK(note("v100", "tiled_gemm") == given);
  CHECK(note("h200", "roofline") == given);
}

}  // namespace schedlab
