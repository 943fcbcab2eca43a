// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_schema.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/explanation/explain_verb.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/fused_operators.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using namespace schedlab::literals;
using nlohmann::json;
using testing::TemporaryFolder;

/// `tasks` operators of 3 us each on one stream, of a host that needs 5 us for a launch, one of it
/// for the framework.
[[nodiscard]] ExplainedRun host_bound_run(int tasks) {
  ExplainedRun run;
  run.title = "chain";
  run.origin = "simulated";
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "op", .fixed_duration = 3us});
  const StreamId stream = run.plan.streams.push_back({});
  for (int i = 0; i < tasks; ++i) {
    const TaskId task = builder.add_task(operation);
    if (i > 0) builder.add_edge(TaskId{task.value() - 1}, task);
    run.plan.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
  }
  run.graph = std::move(builder).build();
  run.platform = ideal_platform();
  run.platform.hosts[HostId{0}].costs = {.launch = 4us, .front_end = 1us};
  run.costs = CostTable{run.graph, run.platform};
  run.trace = simulate(run.problem(), run.plan, {.record_hosts = true, .record_flows = true});
  return run;
}

[[nodiscard]] const WhatIf& find(const WhatIfTable& table, const std::string& name) {
  const auto found = std::find_if(table.changes.begin(),
                                  table.changes.end(),
                                  [&](const WhatIf& change) { return change.name == name; });
  REQUIRE(found != table.changes.end());
  return *found;
}

struct ExplainSession {
  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;

  template <class Options>
  int call(const Options& options) {
    out.str({});
    err.str({});
    return run(options, Terminal{.out = out, .err = err, .interactive = false, .stop = nullptr});
  }
  [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }
};

TEST_CASE("What-if on a chain gives the closed forms") {
  const WhatIfTable table = what_if(host_bound_run(8));
  CHECK(table.replay == 43us);  // 8 * 5 + 3
  CHECK(table.replay == table.trace);
  CHECK(find(table, "host_twice_as_fast").makespan == 26'500ns);  // first launch 2.5, then 8 * 3
  CHECK(find(table, "ideal_host").makespan == 24us);              // 8 * 3
  CHECK(find(table, "eager_two_thread").makespan == 36us);        // 1 + 8 * 4 + 3
  CHECK(find(table, "graph_mode").makespan == 35us);              // 8 * 4 + 3
  CHECK(find(table, "graph_launch").makespan == 24us);            // graphs cost nothing here
  CHECK(find(table, "sink").note == "the machine has no costs of sunk models");
  CHECK(find(table, "programmatic").note == "the machine has no programmatic launches");
  CHECK(find(table, "fused_2").makespan == 29us);  // 5 + 4 * 6
  CHECK(find(table, "fused_8").makespan == 29us);  // 5 + 24
  CHECK_FALSE(find(table, "streams_1").makespan.has_value());
  CHECK(find(table, "streams_1").note == "the run uses one stream");
  REQUIRE(table.break_even.has_value());
  CHECK(table.break_even->mean_operator == 3us);
  CHECK(table.break_even->closed_form == 5us);  // one stream: the host's cost per operator
  CHECK(to_us(table.break_even->simulated) == doctest::Approx(5.0));
}

TEST_CASE(
    "A stream gap is time that the device needs besides, so that smaller operators hide the "
    "host") {
  ExplainedRun run = host_bound_run(100);
  run.platform.devices[DeviceId{0}].stream_gap = 1us;
  run.trace = simulate(run.problem(), run.plan, {.record_hosts = true});
  const WhatIfTable table = what_if(run);
  REQUIRE(table.break_even.has_value());
  // 100 (d + 1) - 1 = 100 * 5 where they meet: d = 4.01. The closed form takes the operators that
  // run at once from this run, 100 * 4 us in 399 us: 5 * 400 / 399 - 1.
  CHECK(to_us(table.break_even->closed_form) == doctest::Approx(5.0 * 400 / 399 - 1));
  CHECK(to_us(table.break_even->simulated) == doctest::Approx(4.01));
}

TEST_CASE("Fused operators need what their parts need and nothing of each other") {
  const ExplainedRun run = host_bound_run(5);
  const FusedRun fused = fuse_operators(run.problem(), run.plan, 2);
  REQUIRE(fused.graph.task_count() == 3);  // 2 + 2 + 1
  CHECK(fused.graph.edge_count() == 2);
  CHECK(fused.costs.duration(TaskId{0}) == 6us);
  CHECK(fused.costs.duration(TaskId{2}) == 3us);
  CHECK(fused.plan.hosts[HostId{0}].calls.size() == 3);
}

/// Every kernel takes 10 us, of which `computing`; what it moves it moves at 100 MB/s.
struct TenMicroseconds final : CostModel {
  explicit TenMicroseconds(double computing) : share(static_cast<float>(computing)) {}
  [[nodiscard]] std::string_view name() const override { return "ten"; }
  [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
    return {.duration = 10us, .bandwidth = Bandwidth{100e6}, .compute_share = share};
  }
  float share;
};

/// A stream of two or three operators that read 600 bytes and write 400, or read those 400 and
/// write 600; floors of 2 us. Fused by twos.
FusedRun fuse_pair(TaskKind second_kind, double computing, bool third_reader) {
  TaskGraphBuilder builder;
  const auto operation = [&](TaskKind kind, std::int64_t read, std::int64_t written) {
    return builder.add_operation(
        {.name = "op",
         .kind = kind,
         .kernels = {{.kind = kind, .bytes_read = Bytes{read}, .bytes_written = Bytes{written}}}});
  };
  const TaskId first = builder.add_task(operation(TaskKind::gemm, 600, 400));
  const OperationId reader = operation(second_kind, 400, 600);
  const TensorId between = builder.add_tensor({.bytes = Bytes{400}});
  builder.writes(first, between);
  builder.reads(builder.add_task(reader), between);
  if (third_reader) builder.reads(builder.add_task(reader), between);
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  platform.devices[DeviceId{0}].kernel_floor = 2us;
  Plan plan;
  const StreamId stream = plan.streams.push_back({});
  for (const TaskId task : graph.tasks()) {
    plan.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
  }
  const CostTable costs{graph, platform, TenMicroseconds{computing}};
  return fuse_operators({graph, platform, costs}, plan, 2);
}

TEST_CASE("Fused operators do not move what stays between them, and compute as long as before") {
  // Each has 2 us of floor and 8 us for 1000 bytes, 400 of which stay inside: 2 + 8 * 0.6.
  const FusedRun fused = fuse_pair(TaskKind::pointwise, 0.2, false);
  CHECK(fused.saved_traffic == Bytes{800});
  CHECK(to_us(fused.costs.duration(TaskId{0})) == doctest::Approx(2 * 6.8));
  // 10 us at 100 MB/s are 1000 bytes for each, 600 of which are left.
  CHECK(fused.costs.entry(TaskId{0}).estimate.bandwidth.count() == doctest::Approx(1200 / 13.6e-6));
  // With 5.5 us of computing less than 8 * 0.6 = 4.8 us cannot be reached.
  const FusedRun computing = fuse_pair(TaskKind::reduction, 0.55, false);
  CHECK(to_us(computing.costs.duration(TaskId{0})) == doctest::Approx(2 * (2 + 5.5)));
}

TEST_CASE("What somebody else reads is written all the same, and a product reads it whole") {
  const FusedRun shared = fuse_pair(TaskKind::pointwise, 0.2, true);
  CHECK(shared.saved_traffic == Bytes{400});
  CHECK(to_us(shared.costs.duration(TaskId{0})) == doctest::Approx(10 + 6.8));
  CHECK(shared.costs.duration(TaskId{1}) == 10us);
  const FusedRun products = fuse_pair(TaskKind::gemm, 0.2, false);
  CHECK(products.saved_traffic == Bytes{0});
  CHECK(products.costs.duration(TaskId{0}) == 20us);
}

TEST_CASE("A record between two operators keeps them apart") {
  ExplainedRun run = host_bound_run(2);
  run.plan.event_count = 1;
  auto& calls = run.plan.hosts[HostId{0}].calls;
  calls.insert(calls.begin() + 1, HostCall::record(StreamId{0}, EventId{0}));
  CHECK(fuse_operators(run.problem(), run.plan, 8).graph.task_count() == 2);
}

TEST_CASE("Sleeps that are work keep no operators apart, and stay") {
  ExplainedRun run = host_bound_run(4);
  std::vector<HostCall> calls;
  for (const HostCall call : run.plan.hosts[HostId{0}].calls) {
    calls.push_back(HostCall::sleep_ns(7000));
    calls.push_back(call);
  }
  run.plan.hosts[HostId{0}].calls = calls;
  CHECK(fuse_operators(run.problem(), run.plan, 2).graph.task_count() == 4);
  const FusedRun fused = fuse_operators(run.problem(), run.plan, 2, true);
  CHECK(fused.graph.task_count() == 2);
  CHECK(fused.plan.count(HostCallKind::sleep) == 4);
}

TEST_CASE("A run whose own plan loses an order is simulated with a warning") {
  // Nothing orders the two operators but the time that the host sleeps.
  ExplainedRun run = host_bound_run(2);
  const StreamId other = run.plan.streams.push_back({});
  auto& calls = run.plan.hosts[HostId{0}].calls;
  calls[1] = HostCall::launch(other, calls[1].task());
  calls.insert(calls.begin() + 1, HostCall::sleep_ns(20'000));
  run.trace = simulate(run.problem(), run.plan, {.record_hosts = true});
  const WhatIfTable table = what_if(run);
  CHECK(table.warning.find("is not ordered after") != std::string::npos);
  CHECK(find(table, "host_twice_as_fast").makespan.has_value());
  Explanation explanation = explain(run);
  explanation.what_if = table;
  CHECK(explanation_text(explanation).find("own plan loses an order") != std::string::npos);
}

TEST_CASE("What-if offers no plan that the checker objects to") {
  ExplainSession session;
  for (const char* policy : {"pipeline_1f1b", "pipeline_zb_h1"}) {
    CAPTURE(policy);
    write_file_atomically(session.path("spec.json"),
                          fmt::format(R"({{
      "workload": {{"kind": "gpt_pipeline", "stages": 3, "microbatches": 3, "replicas": 2, "blocks": 3}},
      "machine": "h200", "policy": "{}"}})",
                                      policy));
    REQUIRE(session.call(SimulateOptions{.spec = session.path("spec.json"),
                                         .out = session.path("run"),
                                         .overwrite = true}) == exit_done);
    const ExplainedRun run = load_explained_run(session.path("run"));
    const bool sound = check(run.graph, run.platform, capture_graphs(run.plan)).empty();
    const WhatIfTable table = what_if(run);
    const WhatIf& offered = find(table, "graph_launch");
    CHECK(table.warning.empty());
    CHECK(offered.makespan.has_value() == sound);
    CHECK(offered.note.starts_with("refused, the plan loses an order: ") == !sound);
  }
}

TEST_CASE("What is to be known of a change stands beside it, once") {
  const WhatIf change{"fused_2", "two as one", 5us, "1 MB of memory traffic less"};
  CHECK(change.text() == "two as one (1 MB of memory traffic less)");
  CHECK(WhatIf{"sink", "the whole model", {}, "no costs"}.text() == "no costs");
}

TEST_CASE("A trace on its own is replayed from its recorded calls and durations") {
  const ExplainedRun run = host_bound_run(10);
  const TraceDocument document = make_document(run.problem(), run.plan, run.trace, "chain");
  const ExplainedRun alone = run_of_trace(read_chrome_json(chrome_json(document), "trace.json"));
  CHECK(alone.no_replay.empty());
  CHECK(alone.platform.hosts[HostId{0}].costs.launch == 5us);  // the whole call, as recorded
  const WhatIfTable table = what_if(alone);
  CHECK(table.replay == run.trace.makespan());
  CHECK(find(table, "ideal_host").makespan == 30us);  // 10 * 3
  CHECK_FALSE(find(table, "eager_two_thread").makespan.has_value());
}

TEST_CASE("A trace without host calls is explained, but not simulated again") {
  ExplainedRun run = host_bound_run(3);
  run.trace.hosts.clear();
  const Explanation explanation =
      explain(run_of_trace(make_document(run.problem(), run.plan, run.trace, "chain")));
  // 5 us before the first task, 2 before each other one, of 18 us.
  CHECK(explanation.attribution.share(DeviceBound::host_bound) == doctest::Approx(9.0 / 18.0));
  CHECK(what_if(explanation.run).note == "the trace has no host calls");
}

const std::string two_layers = R"({
  "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 6, "batch": 16, "hidden": 64},
  "machine": {"base": "v100", "front_end_us": 6}, "policy": "diagonal"})";

TEST_CASE(
    "explain: the folder of a run gives the same numbers as its metrics, and files that fit") {
  ExplainSession session;
  write_file_atomically(session.path("spec.json"), two_layers);
  REQUIRE(session.call(SimulateOptions{.spec = session.path("spec.json"),
                                       .out = session.path("run")}) == exit_done);
  ExplainOptions options{.input = session.path("run"), .out = session.path("why")};
  options.what_if = true;
  REQUIRE(session.call(options) == exit_done);
  CHECK(session.out.str().find("host_bound") != std::string::npos);
  const fs::path why = session.path("why");
  for (const char* name : {"explain.json", "explain.csv", "report.html", "bound.svg"}) {
    CHECK(fs::exists(why / name));
  }
  // An eager run of small kernels: what the framework's part of a launch means for it.
  const std::string page = read_file(why / "report.html");
  CHECK(page.find("How far the numbers of the machine can be off") != std::string::npos);
  CHECK(page.find("/host/front_end_us") != std::string::npos);
  const std::string text = read_file(why / "explain.json");
  const json explained = json::parse(text);
  const json metrics = json::parse(read_file(fs::path{session.path("run")} / "metrics.json"));
  CHECK(explained.at("makespan_ps") == metrics.at("makespan_ps"));
  CHECK(explained.at("bound").at("host_bound").at("share").get<double>() ==
        doctest::Approx(metrics.at("host_bound_share").get<double>()));
  // The scenario was made again: the same plan on the same machine takes as long.
  CHECK(explained.at("what_if").at("replay_ps") == metrics.at("makespan_ps"));
  CHECK(explained.at("notes").empty());
  const auto is_layer = [](const json& region) { return region.at("tag") == "layer"; };
  CHECK(std::count_if(explained.at("regions").begin(), explained.at("regions").end(), is_layer) >=
        2);

  const auto expect_fit = [&](const std::string& file, const char* which) {
    static_cast<void>(session.call(SchemaOptions{.which = which}));
    CHECK_NOTHROW(read_checked_json(file, session.out.str(), which));
  };
  expect_fit(text, "explanation");
  expect_fit(read_file(fs::path{session.path("run")} / "run.json"), "run");
}

TEST_CASE("explain: which streams are bound to which units, and what that costs") {
  ExplainSession session;
  json spec = json::parse(two_layers);
  spec["policy"] = "critical_first";
  spec["machine"] = "h200";
  const auto run_with = [&](std::int64_t units, const char* folder) {
    spec["launch"] = {{"name", "graph_launch"}, {"urgent_units", units}};
    write_file_atomically(session.path("spec.json"), spec.dump());
    REQUIRE(session.call(SimulateOptions{.spec = session.path("spec.json"),
                                         .out = session.path(folder)}) == exit_done);
    ExplainOptions options{
        .input = session.path(folder), .out = session.path("why"), .overwrite = true};
    options.what_if = true;
    REQUIRE(session.call(options) == exit_done);
    return json::parse(read_file(fs::path{session.path("why")} / "explain.json"));
  };
  const json whole = run_with(0, "whole");
  CHECK(session.out.str().find("Unit partitions") == std::string::npos);
  CHECK_FALSE(whole.at("streams").at(0).contains("units"));
  const json divided = run_with(100, "divided");
  CHECK(session.out.str().find("100 of 132 units") != std::string::npos);
  CHECK(session.out.str().find("undivided_units") != std::string::npos);
  std::int64_t units = 0;
  for (const json& stream : divided.at("streams")) {
    CHECK(stream.at("device_units") == 132);
    units = std::max(units, stream.at("units").get<std::int64_t>());
  }
  CHECK(units == 100);
  // The same plan without partitions is the other run.
  const json& changes = divided.at("what_if").at("changes");
  const auto undivided = std::find_if(changes.begin(), changes.end(), [](const json& change) {
    return change.at("name") == "undivided_units";
  });
  REQUIRE(undivided != changes.end());
  CHECK(undivided->at("makespan_ps") == whole.at("makespan_ps"));
  // Streams of device graphs are not merged, and their number is not told.
  const auto merged = std::find_if(changes.begin(), changes.end(), [](const json& change) {
    return change.at("name") == "streams_1";
  });
  REQUIRE(merged != changes.end());
  CHECK(merged->at("description") == "the same calls on one stream");
  CHECK(merged->at("note") == "the run launches device graphs already");
  CHECK(read_file(fs::path{session.path("divided")} / "timeline.svg").find("of 132 units]") !=
        std::string::npos);
  static_cast<void>(session.call(SchemaOptions{.which = "explanation"}));
  CHECK_NOTHROW(read_checked_json(divided.dump(), session.out.str(), "explanation"));
}

TEST_CASE("explain: what a run does differently from another is said in words") {
  ExplainSession session;
  const auto simulate_as = [&](const char* policy, const char* folder) {
    json spec = json::parse(two_layers);
    spec["policy"] = policy;
    write_file_atomically(session.path("spec.json"), spec.dump());
    REQUIRE(session.call(SimulateOptions{.spec = session.path("spec.json"),
                                         .out = session.path(folder)}) == exit_done);
    return json::parse(read_file(fs::path{session.path(folder)} / "metrics.json"));
  };
  const json here = simulate_as("diagonal", "here");
  const json there = simulate_as("single_stream", "there");
  const auto against = [&](const char* other) {
    const ExplainOptions options{.input = session.path("here"),
                                 .out = session.path("why"),
                                 .against = session.path(other),
                                 .overwrite = true};
    REQUIRE(session.call(options) == exit_done);
    return json::parse(read_file(fs::path{session.path("why")} / "explain.json"));
  };
  const json explained = against("there");
  CHECK(session.out.str().find("single_stream on v100\n  takes ") != std::string::npos);
  const json& difference = explained.at("against");
  CHECK(difference.at("makespan_ps") == here.at("makespan_ps"));
  CHECK(difference.at("other_makespan_ps") == there.at("makespan_ps"));
  CHECK(difference.at("tasks").at("tasks") == here.at("tasks"));
  CHECK(difference.at("tasks").at("other_before") > 0);
  CHECK(difference.at("sentences").size() >= 4);
  static_cast<void>(session.call(SchemaOptions{.which = "explanation"}));
  CHECK_NOTHROW(read_checked_json(explained.dump(), session.out.str(), "explanation"));

  const json same = against("here").at("against").at("tasks");
  CHECK(same.at("other_before") == 0);
  CHECK(same.at("half_later_ps") == 0);
  for (const json& shift : same.at("shifts")) CHECK(shift.at("later_ps") == 0);
}

TEST_CASE("explain: a folder whose run.json names another graph is refused by name") {
  ExplainSession session;
  write_file_atomically(session.path("spec.json"), two_layers);
  REQUIRE(session.call(SimulateOptions{.spec = session.path("spec.json"),
                                       .out = session.path("run")}) == exit_done);
  const fs::path file = fs::path{session.path("run")} / "run.json";
  json changed = json::parse(read_file(file));
  changed["spec"]["workload"]["layers"] = 3;
  write_file_atomically(file, changed.dump());
  CHECK_THROWS_WITH_AS(session.call(ExplainOptions{.input = session.path("run")}),
                       doctest::Contains("run.json: /spec"),
                       InputError);
}

}  // namespace
}  // namespace schedlab
