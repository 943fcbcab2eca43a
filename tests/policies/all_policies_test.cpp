// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/policies/planning_policies.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/convolution/conv_nets.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/models/recurrent/models.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

using testing::Scene;

/// Well formed, race-free, between the critical path and the serial sum, and the same when made
/// again.
void expect_sound(const Scene& scene, const PolicyInfo& info) {
  const Problem problem = scene.problem();
  const std::unique_ptr<Policy> policy = make_policy(info.name);
  const Plan plan = policy->plan(problem);
  expect_well_formed(plan, scene.graph.task_count());
  const std::vector<Finding> findings = check(scene.graph, scene.platform, plan);
  for (const Finding& finding : findings) {
    CAPTURE(finding.message);
    CHECK(false);
  }
  CHECK(plan.policy == info.name);
  CHECK(plan == policy->plan(problem));

  const Trace trace = simulate(problem, plan);
  CHECK(trace.tasks.size() == scene.graph.task_count());
  const IdVector<TaskId, Duration> durations = scene.costs.durations();
  Duration serial{0};
  for (const Duration d : durations) serial += d;
  CHECK(trace.makespan() >= critical_path_length(scene.graph, durations));
  // Sleeps of the host are the only thing that may leave every stream idle.
  if (plan.count(HostCallKind::sleep) == 0) CHECK(trace.makespan() <= serial);
}

/// Every kernel wants two units and lasts as long as its name.
class TwoUnits final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "two_units"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    Estimate estimate;
    estimate.duration = Duration{static_cast<std::int64_t>(operation.name.size())};
    estimate.share = 0.5;
    estimate.blocks = 3;
    return estimate;
  }
};

TEST_CASE("every policy makes sound plans for every cut of an LSTM") {
  for (const LstmPass pass : {LstmPass::forward, LstmPass::backward, LstmPass::training}) {
    for (const Granularity granularity : {Granularity::coarse,
                                          Granularity::fine,
                                          Granularity::matmul,
                                          Granularity::data_and_weight}) {
      for (const Accumulation accumulation :
           {Accumulation::ordered, Accumulation::partial, Accumulation::batched}) {
        for (const BufferOrder order : {BufferOrder::chained, BufferOrder::by_plan}) {
          LstmSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 8};
          spec.pass = pass;
          spec.granularity = granularity;
          spec.accumulation = accumulation;
          spec.accumulation_steps = 2;
          spec.buffer_order = order;
          const Scene scene{lstm(spec), Rng{7}};
          for (const PolicyInfo& info : testing::planning_policies()) {
            CAPTURE(static_cast<int>(pass));
            CAPTURE(static_cast<int>(granularity));
            CAPTURE(static_cast<int>(accumulation));
            CAPTURE(static_cast<int>(order));
            CAPTURE(info.name);
            expect_sound(scene, info);
          }
        }
      }
    }
  }
}

TEST_CASE("every policy makes sound plans for two directions and for GRU cells") {
  for (const RecurrentCell cell :
       {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before}) {
    for (const Bidirectional both :
         {Bidirectional::none, Bidirectional::first, Bidirectional::all}) {
      for (const RecurrentPass pass :
           {RecurrentPass::forward, RecurrentPass::backward, RecurrentPass::training}) {
        for (const Granularity granularity : {Granularity::coarse,
                                              Granularity::fine,
                                              Granularity::matmul,
                                              Granularity::data_and_weight}) {
          RecurrentSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 8};
          spec.cell = cell;
          spec.bidirectional = both;
          spec.pass = pass;
          spec.granularity = granularity;
          spec.accumulation = Accumulation::partial;
          spec.buffer_order = BufferOrder::by_plan;
          const Scene scene{recurrent(spec), Rng{11}};
          for (const PolicyInfo& info : testing::planning_policies()) {
            CAPTURE(static_cast<int>(cell));
            CAPTURE(static_cast<int>(both));
            CAPTURE(static_cast<int>(pass));
            CAPTURE(static_cast<int>(granularity));
            CAPTURE(info.name);
            expect_sound(scene, info);
          }
        }
      }
    }
  }
}

TEST_CASE("every policy makes sound plans for a network of convolutions, whole and split") {
  for (const std::int64_t split : {1, 2}) {
    ConvNetSpec spec;
    spec.network = ConvNetwork::alexnet;
    spec.batch = 3;
    spec.image = 67;
    spec.split = split;
    const Scene scene{conv_net(spec), Rng{13}};
    for (const PolicyInfo& info : testing::planning_policies()) {
      CAPTURE(split);
      CAPTURE(info.name);
      expect_sound(scene, info);
    }
  }
}

TEST_CASE("every policy makes sound plans for whole models") {
  for (const Granularity granularity : {Granularity::coarse,
                                        Granularity::fine,
                                        Granularity::matmul,
                                        Granularity::data_and_weight}) {
    for (const BufferOrder order : {BufferOrder::chained, BufferOrder::by_plan}) {
      ModelOptions model;
      model.cut.granularity = granularity;
      model.cut.buffer_order = order;
      GnmtSpec translation;
      translation.layers = 3;
      translation.hidden = 4;
      translation.batch = 2;
      translation.source_steps = 4;
      translation.target_steps = 3;
      translation.vocabulary = 9;
      translation.attention_steps = order == BufferOrder::chained ? 1 : 0;
      translation.model = model;
      OpennmtSpec open;
      open.layers = 2;
      open.hidden = 4;
      open.embedding = 5;
      open.batch = 2;
      open.source_steps = 4;
      open.target_steps = 3;
      open.source_vocabulary = open.target_vocabulary = 9;
      open.input_feed = order == BufferOrder::chained;
      open.model = model;
      SentimentLstmSpec sentiment;
      sentiment.hidden = 4;
      sentiment.embedding = 5;
      sentiment.steps = 4;
      sentiment.vocabulary = 9;
      sentiment.model = model;
      std::vector<Scene> scenes;
      scenes.emplace_back(gnmt(translation), Rng{3});
      scenes.emplace_back(opennmt(open), Rng{4});
      scenes.emplace_back(sentiment_lstm(sentiment), Rng{5});
      for (const Scene& scene : scenes) {
        for (const PolicyInfo& info : testing::planning_policies()) {
          CAPTURE(static_cast<int>(granularity));
          CAPTURE(static_cast<int>(order));
          CAPTURE(scene.graph.task_count());
          CAPTURE(info.name);
          expect_sound(scene, info);
        }
      }
    }
  }
}

TEST_CASE("every policy makes sound plans for graphs it was not made for") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Scene scene{testing::random_dag(seed, 40, 0.02 * static_cast<double>(seed)), Rng{seed}};
    for (const PolicyInfo& info : testing::planning_policies()) {
      CAPTURE(seed);
      CAPTURE(info.name);
      expect_sound(scene, info);
    }
  }
}

TEST_CASE("every policy accepts a graph without tasks and one of a single task") {
  for (const std::uint32_t tasks : {0U, 1U}) {
    const Scene scene{testing::random_dag(1, tasks, 0.0), Rng{1}};
    for (const PolicyInfo& info : testing::planning_policies()) {
      CAPTURE(info.name);
      const Plan plan = make_policy(info.name)->plan(scene.problem());
      CHECK(plan.count(HostCallKind::launch) == tasks);
    }
  }
}

TEST_CASE("a policy said to plan by durations plans the same on any machine with equal ones") {
  std::size_t said = 0;
  for (const Granularity granularity : {Granularity::fine, Granularity::matmul}) {
    LstmSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 8};
    spec.granularity = granularity;
    const TaskGraph graph = lstm(spec);
    Platform plain = ideal_platform();
    CostTable durations{graph, plain};
    Platform other = ideal_platform(2);
    other.sharing = SharingModel::blocks;
    other.hosts[HostId{0}].costs.launch = from_us(7);
    other.hosts[HostId{0}].launch_queue_depth = 3;
    Device& device = other.devices[DeviceId{0}];
    device.stream_gap = from_us(3);
    device.launch_latency = from_us(5);
    device.event_latency = from_us(4);
    device.connections = 2;
    device.priority_levels = 1;
    device.resident_kernels = 2;
    device.memory_capacity = Bytes{1000};
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", 4}));
    CostTable others{graph, other, TwoUnits{}};
    IdVector<TaskId, Duration> times;
    for (const TaskId task : graph.tasks()) {
      times.push_back(Duration{1'000'000 + 37'123 * (task.value() % 11)});
    }
    durations.set_task_durations(times);
    others.set_task_durations(times);
    for (const PolicyInfo& info : testing::planning_policies()) {
      if (!info.plans_by_durations) continue;
      CAPTURE(info.name);
      const std::unique_ptr<Policy> policy = make_policy(info.name);
      CHECK(policy->online({graph, plain, durations}) == nullptr);
      CHECK(policy->plan({graph, plain, durations}) == policy->plan({graph, other, others}));
      ++said;
    }
  }
  CHECK(said >= 2 * 10);
}

TEST_CASE("an unknown policy is refused with the closest name") {
  try {
    (void)make_policy("diagnal");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().hint == "did you mean \"diagonal\"?");
    CHECK(error.problem().pointer == "/name");
  }
}

TEST_CASE("an unknown knob is refused with the closest name") {
  try {
    (void)make_policy("critical_first", {{"max_stream", std::int64_t{3}}});
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().hint == "did you mean \"max_streams\"?");
    CHECK(error.problem().pointer == "/max_stream");
  }
}

TEST_CASE("names in the registry are those of the policies, and unique") {
  std::vector<std::string> names;
  for (const PolicyInfo& info : testing::planning_policies()) {
    CHECK(make_policy(info.name)->name() == info.name);
    CHECK(std::find(names.begin(), names.end(), info.name) == names.end());
    CHECK_FALSE(info.summary.empty());
    CHECK_FALSE(info.source.empty());
    names.push_back(info.name);
  }
}

}  // namespace
}  // namespace schedlab
