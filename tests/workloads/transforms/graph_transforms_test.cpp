// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/graph_transforms.hpp"

#include "sim/base/error.hpp"
#include "workloads/models/convolution/conv_nets.hpp"
#include "workloads/registry.hpp"
#include "workloads/transforms/fuse_pointwise.hpp"
#include "workloads/transforms/mixed_precision.hpp"
#include "workloads/transforms/remove_dead.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace schedlab {
namespace {

ConvNetSpec small_vgg() {
  ConvNetSpec spec;
  spec.network = ConvNetwork::vgg16;
  spec.batch = 2;
  spec.image = 32;
  spec.classes = 10;
  spec.transfers = false;
  return spec;
}

std::size_t count(const TaskGraph& graph, std::string_view operation) {
  return static_cast<std::size_t>(
      std::count_if(graph.tasks().begin(), graph.tasks().end(), [&](TaskId task) {
        return graph.operation(task).name == operation;
      }));
}

double flops(const TaskGraph& graph) {
  double sum = 0;
  for (const TaskId task : graph.tasks()) sum += graph.operation(task).flops().count();
  return sum;
}

std::int64_t traffic(const TaskGraph& graph) {
  std::int64_t sum = 0;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    sum += (operation.bytes_read() + operation.bytes_written()).count();
  }
  return sum;
}

/// Names of all tasks that must end before this one starts.
std::set<std::string> before(const TaskGraph& graph, TaskId task) {
  std::set<std::string> names;
  std::vector<TaskId> open{task};
  while (!open.empty()) {
    const TaskId now = open.back();
    open.pop_back();
    for (const TaskId earlier : graph.predecessors(now)) {
      if (names.insert(graph.name(earlier)).second) open.push_back(earlier);
    }
  }
  return names;
}

/// a writes x, b and d read it; b's result is kept, d's goes to e, whose result is unused; f
/// stands behind e by order alone.
TaskGraph graph_with_dead_tasks() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task", .kernels = {}});
  const auto task = [&](std::string_view name) { return builder.add_task(operation, {}, name); };
  const auto tensor = [&](bool persistent) {
    return builder.add_tensor({.bytes = Bytes{8}, .persistent = persistent});
  };
  const TaskId a = task("a");
  const TaskId b = task("b");
  const TaskId d = task("d");
  const TaskId e = task("e");
  const TaskId f = task("f");
  const TensorId x = tensor(false);
  const TensorId y = tensor(false);
  const TensorId z = tensor(false);
  const TensorId kept = tensor(true);
  const TensorId other = tensor(true);
  builder.writes(a, x);
  builder.reads(b, x);
  builder.writes(b, kept);
  builder.reads(d, x);
  builder.writes(d, y);
  builder.reads(e, y);
  builder.writes(e, z);
  builder.add_edge(e, f);
  builder.writes(f, other);
  return std::move(builder).build();
}

TEST_CASE("dead tasks go, with their tensors, and orders through them stay") {
  const TaskGraph graph = graph_with_dead_tasks();
  const TaskGraph live = RemoveDead{}.apply(graph);
  REQUIRE(live.task_count() == 3);
  CHECK(live.find("d") == TaskId::none());
  CHECK(live.find("e") == TaskId::none());
  CHECK(before(live, live.find("b")) == std::set<std::string>{"a"});
  CHECK(before(live, live.find("f")) == std::set<std::string>{"a"});
  CHECK(live.tensors().size() == 3);  // x and the two that are kept
}

TEST_CASE("a training step has no dead tasks; without its updates and gradients backward is dead") {
  const TaskGraph graph = conv_net(small_vgg());
  CHECK(RemoveDead{}.apply(graph).task_count() == graph.task_count());
  // Of the same step without updates only the parameters and the losses are kept.
  TaskGraphBuilder builder;
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  IdVector<TaskId, TaskId> copies;
  for (const TaskId task : graph.tasks()) {
    const bool update = graph.operation(task).name == "update";
    copies.push_back(
        update ? TaskId::none()
               : builder.add_task(graph.operation_id(task), graph.tags(task), graph.name(task)));
  }
  for (const TensorId tensor : graph.tensors().ids()) {
    const std::string name = graph.tensors().name(tensor);
    const TensorId copy =
        builder.add_tensor({.name = name,
                            .bytes = graph.tensors().bytes(tensor),
                            .persistent = name.starts_with("W") || name.starts_with("loss")});
    for (const TaskId task : graph.tensors().writers(tensor)) builder.writes(copies[task], copy);
    for (const TaskId task : graph.tensors().readers(tensor)) {
      if (copies[task].valid()) builder.reads(copies[task], copy);
    }
  }
  const TaskGraph live = RemoveDead{}.apply(std::move(builder).build());
  CHECK(count(live, "conv_forward") == 13);
  CHECK(count(live, "loss") == 1);
  CHECK(count(live, "conv_weight_gradient") == 0);
  CHECK(count(live, "dense_data_gradient") == 0);
}

TEST_CASE("bias and ReLU become one kernel that never writes what lies between") {
  const TaskGraph graph = conv_net(small_vgg());
  const TaskGraph fused = FusePointwise{}.apply(graph);
  // 13 convolutions and two of three dense layers have both; the last bias goes to the loss. Each
  // of five poolings hands its gradient to the ReLU before it.
  CHECK(count(fused, "bias_add+relu") == 15);
  CHECK(count(fused, "max_pool_gradient+relu_gradient") == 5);
  CHECK(count(fused, "bias_add") == 1);
  CHECK(count(fused, "relu") == 0);
  CHECK(fused.task_count() == graph.task_count() - 20);
  CHECK(fused.tensors().size() == graph.tensors().size() - 20);
  CHECK(flops(fused) == flops(graph));
  // What lies between is written and read no more.
  std::int64_t between = 0;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.name == "relu") between += operation.bytes_read().count();
    if (operation.name == "max_pool_gradient") between += operation.bytes_written().count();
  }
  CHECK(traffic(fused) == traffic(graph) - 2 * between);
  // What must come before an update still must.
  const auto still = before(fused, fused.find("update(1)"));
  for (const std::string& name : before(graph, graph.find("update(1)"))) {
    if (!fused.find(name).valid()) continue;
    CAPTURE(name);
    CHECK(still.contains(name));
  }
}

TEST_CASE(
    "casts stand before parameters are read and before gradients are used, and nowhere else") {
  const TaskGraph graph = conv_net(small_vgg());
  const TaskGraph mixed = MixedPrecision{}.apply(graph);
  // 16 layers with weights and bias each: 32 parameters, cast down, and their gradients, cast up;
  // the images once.
  CHECK(count(mixed, "cast") == 2 * 32 + 1);
  CHECK(mixed.topologically_numbered());
  double casts = 0;
  for (const TaskId task : mixed.tasks()) {
    const Operation& operation = mixed.operation(task);
    const bool update = operation.task_class == TaskClass::update;
    for (const Kernel& kernel : operation.kernels) {
      CHECK(kernel.type == (update ? DataType::fp32 : DataType::fp16));
    }
    if (operation.name == "cast") casts += operation.flops().count();
  }
  CHECK(flops(mixed) == flops(graph) + casts);
  ConvNetSpec spec = small_vgg();
  const double parameters = static_cast<double>(parameter_count(spec));
  CHECK(casts == 2 * parameters + 2 * (3 * 32 * 32 + 1));  // with each image its label
  CHECK(before(mixed, mixed.find("update(1)")).contains("cast_dW(1)"));
  CHECK(before(mixed, mixed.find("conv_forward(1)")).contains("cast_W(1)"));
  // Activations shrink by half; parameters and gradients keep their bytes.
  for (const TensorId tensor : mixed.tensors().ids()) {
    const std::string name = mixed.tensors().name(tensor);
    for (const TensorId old : graph.tensors().ids()) {
      if (graph.tensors().name(old) != name) continue;
      const bool kept =
          name.starts_with("W") || name.starts_with("dW") || name.starts_with("images");
      CAPTURE(name);
      CHECK(mixed.tensors().bytes(tensor).count() * (kept ? 1 : 2) ==
            graph.tensors().bytes(old).count());
    }
  }
  CHECK_THROWS_AS((MixedPrecision{DataType::fp32, DataType::fp32}), ContractViolation);
}

TEST_CASE(
    "a transformed network can be split: parameters are cast once, gradients of every slice, which "
    "are merged in full width") {
  ConvNetSpec spec = small_vgg();
  spec.transforms.mixed_precision = DataType::bf16;
  spec.transforms.fuse_pointwise = true;
  const TaskGraph whole = conv_net(spec);
  CHECK(count(whole, "bias_add+relu") == 15);
  spec.split = 2;
  const TaskGraph parts = conv_net(spec);
  CHECK(count(parts, "update") == count(whole, "update"));
  CHECK(count(parts, "merge") == count(whole, "update"));
  // 32 parameters once; 32 gradients and the images of each slice
  CHECK(count(whole, "cast") == 32 + 32 + 1);
  CHECK(count(parts, "cast") == 32 + 2 * (32 + 1));
  CHECK(before(parts, parts.find("merge_dW(1)")).contains("cast_dW(1)/1"));
  for (const std::string slice : {"0", "1"}) {
    CHECK(before(parts, parts.find("conv_forward(1)/" + slice)).contains("cast_W(1)"));
  }
  // Narrow copies of parameters exist once too; an update waits for the cast, whose input it
  // overwrites.
  const auto of_name = [&](const std::string& name) {
    std::size_t found = 0;
    for (const TensorId tensor : parts.tensors().ids()) {
      found += parts.tensors().name(tensor) == name ? 1U : 0U;
    }
    return found;
  };
  CHECK(of_name("W(1)_narrow") == 1);
  CHECK(before(parts, parts.find("update(1)")).contains("cast_W(1)"));
}

TEST_CASE("options of workloads ask for transforms, and wrong ones are refused") {
  const std::map<std::string, OptionValue> given{{"batch", std::int64_t{2}},
                                                 {"image", std::int64_t{67}},
                                                 {"fuse_pointwise", true},
                                                 {"remove_dead", true},
                                                 {"mixed_precision", std::string{"fp16"}}};
  const TaskGraph graph = make_workload("alexnet", given);
  CHECK(count(graph, "cast") > 0);
  CHECK(count(graph, "bias_add+relu") > 0);
  auto narrow = given;
  narrow["data_type"] = std::string{"fp16"};
  CHECK_THROWS_WITH_AS(
      (void)make_workload("alexnet", narrow), doctest::Contains("narrower"), InputError);
  auto bare = given;
  bare["include_tensors"] = false;
  CHECK_THROWS_WITH_AS(
      (void)make_workload("alexnet", bare), doctest::Contains("include_tensors"), InfeasibleError);
}

}  // namespace
}  // namespace schedlab
