// SPDX-License-Identifier: Apache-2.0
#include "workloads/common_transforms.hpp"

#include "workloads/transforms/critical_partition.hpp"
#include "workloads/transforms/overlap_iterations.hpp"

#include <string>

namespace schedlab {
namespace {

constexpr double max_iterations = 10'000;

}  // namespace

const std::vector<OptionSpec>& common_transform_options() {
  static const std::vector<OptionSpec> options{
      {.name = "critical_partition",
       .default_value = false,
       .doc = "decide what is critical and join what gains nothing apart, as S1 does for LSTMs"},
      {.name = "partition_negligible",
       .default_value = CriticalPartition::default_negligible,
       .doc = "of critical_partition: share of its longest neighbour's time up to which a task "
              "joins another",
       .minimum = 0,
       .maximum = 1},
      {.name = "iterations",
       .default_value = std::int64_t{1},
       .doc = "training steps, each as early as the parameters it reads allow",
       .minimum = 1,
       .maximum = max_iterations}};
  return options;
}

TaskGraph with_common_transforms(TaskGraph graph, const Options& options) {
  const std::int64_t iterations = options.integer("iterations");
  if (iterations > 1) {
    graph = OverlapIterations{static_cast<std::uint32_t>(iterations)}.apply(graph);
  }
  if (options.flag("critical_partition")) {
    graph = CriticalPartition{options.number("partition_negligible")}.apply(graph);
  }
  return graph;
}

bool changes_tasks(const Options& options) {
  return options.flag("critical_partition") || options.integer("iterations") > 1;
}

}  // namespace schedlab
