// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"

#include <vector>

using namespace schedlab;

namespace {

using C = HostCall;

/// One SM class and one copy engine; kernels last 10 us, copies 4 us and want `copy_bandwidth`.
struct Scene {
  Platform platform = ideal_platform(2);
  TaskGraph graph;
  Plan plan;
  TaskId kernel;
  std::vector<TaskId> copies;

  Scene() {
    Device& device = platform.devices[DeviceId{0}];
    const UnitClassId sm = device.unit_classes.push_back({"sm", 4});
    const UnitClassId engine = device.unit_classes.push_back({"copy_to_device", 1});
    device.unit_class_of.fill(sm);
    device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_host_to_device)] = engine;
    device.rates.memory = Bandwidth{100e9};
    TaskGraphBuilder builder;
    const OperationId compute = builder.add_operation({.name = "kernel"});
    const OperationId copy =
        builder.add_operation({.name = "copy", .kind = TaskKind::copy_host_to_device});
    kernel = builder.add_task(compute);
    for (int i = 0; i < 3; ++i) copies.push_back(builder.add_task(copy));
    graph = std::move(builder).build();
    for (const int priority : {0, 0, -1, 0}) plan.streams.push_back({DeviceId{0}, priority, {}});
  }
  Trace run(SharingModel sharing, double copy_bandwidth) {
    struct Model final : CostModel {
      explicit Model(double copy) : copy_bandwidth(copy) {}
      [[nodiscard]] std::string_view name() const override { return "model"; }
      [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
        const bool copy = operation.kind == TaskKind::copy_host_to_device;
        return {.duration = copy ? 4us : 10us,
                .share = 1.0,
                .bandwidth = Bandwidth{copy ? copy_bandwidth : 100e9}};
      }
      double copy_bandwidth;
    };
    platform.sharing = sharing;
    const CostTable costs{graph, platform, Model{copy_bandwidth}};
    return simulate({graph, platform, costs}, plan);
  }
};

}  // namespace

TEST_CASE("copies take turns on their engine in the order of arrival, whatever the priority") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    CAPTURE(to_string(sharing));
    Scene s;
    s.platform.hosts[HostId{0}].costs.launch = 1us;
    s.plan.hosts[HostId{0}].calls = {C::launch(StreamId{0}, s.copies[0]),
                                     C::launch(StreamId{1}, s.copies[1]),
                                     C::launch(StreamId{2}, s.copies[2]),  // urgent, but last
                                     C::launch(StreamId{3}, s.kernel)};
    const Trace trace = s.run(sharing, 0.0);
    CHECK(trace.tasks[0].started == Time{1us});
    CHECK(trace.tasks[1].started == Time{5us});
    CHECK(trace.tasks[2].started == Time{9us});
    CHECK(trace.tasks[3].started == Time{4us});  // SMs are free of copies
    CHECK(trace.makespan() == 14us);
  }
}

TEST_CASE("a copy takes its bandwidth from a kernel that needs all of it") {
  // 100 GB/s in all; the copy wants 20 for 4 us: 80 % of the kernel's rate while it runs, so the
  // kernel ends 4 us * 0.2 = 0.8 us late. The copy, being less than half, is not slowed down.
  for (const SharingModel sharing : {SharingModel::fluid, SharingModel::blocks}) {
    CAPTURE(to_string(sharing));
    Scene s;
    s.plan.hosts[HostId{0}].calls = {C::launch(StreamId{0}, s.kernel),
                                     C::launch(StreamId{1}, s.copies[0])};
    const Trace trace = s.run(sharing, 20e9);
    CHECK(trace.tasks[1].ended == Time{4us});
    CHECK(trace.tasks[0].ended >= Time{10800ns});
    CHECK(trace.tasks[0].ended <= Time{10801ns});  // rates are rounded down to 2^-30
  }
}
