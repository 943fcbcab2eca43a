// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/operations_csv.hpp"

#include "sim/graph/task_graph.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

using namespace literals;

/// Two products of 2 x 3 x 4 and a task of which only the duration is known.
TaskGraph products_and_more() {
  TaskGraphBuilder builder;
  const OperationId product =
      builder.add_operation({.name = "product",
                             .kind = TaskKind::gemm,
                             .kernels = {gemm_kernel(2, 3, 4, DataType::fp32, false)},
                             .fixed_duration = 10us});
  const OperationId other = builder.add_operation({.name = "other", .fixed_duration = 5us});
  builder.add_task(product);
  builder.add_task(product);
  builder.add_task(other);
  return std::move(builder).build();
}

TEST_CASE("operations.csv has work, times and roofs of each operation that ran") {
  const TaskGraph graph = products_and_more();
  Platform platform = ideal_platform();
  Device& device = platform.devices[DeviceId{0}];
  device.name = "card";
  device.rates.matrix[static_cast<std::size_t>(DataType::fp32)] = FlopRate{2e12};
  device.rates.memory = Bandwidth{3e11};
  const CostTable costs{graph, platform};
  Trace trace;
  trace.tasks = {
      {TaskId{0}, StreamId{0}, HostId{0}, DeviceId{0}, Time{0us}, Time{0us}, Time{10us}},
      {TaskId{1}, StreamId{0}, HostId{0}, DeviceId{0}, Time{0us}, Time{10us}, Time{40us}},
      {TaskId{2}, StreamId{0}, HostId{0}, DeviceId{0}, Time{0us}, Time{40us}, Time{45us}}};
  // 2 * 2 * 3 * 4 = 48 FLOPs; 4 * (8 + 12) bytes read and 4 * 6 written = 104; (10 + 30) / 2 us.
  CHECK(operations_csv({graph, platform, costs}, trace) ==
        "operation,kind,device,tasks,flops_per_task,bytes_per_task,alone_us,mean_us,bound,"
        "peak_tflop_per_s,bandwidth_gb_per_s\n"
        "product,gemm,card,2,48,104,10,20,fixed,2,300\n"
        "other,fixed,card,1,0,0,5,5,fixed,,300\n");
  trace.tasks.resize(2);
  CHECK(operations_csv({graph, platform, costs}, trace).find("other") == std::string::npos);
}

}  // namespace
}  // namespace schedlab
