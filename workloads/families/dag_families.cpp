// SPDX-License-Identifier: Apache-2.0
#include "workloads/families/dag_families.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr double max_items = 1e8;        // assumed: 10 GB of graph
constexpr double max_duration = 2.3e18;  // ps; sums of times must fit into 63 bits

void check(std::string_view family, const DagWeights& weights, double tasks, double edges) {
  SCHEDLAB_EXPECTS(weights.mean >= Duration{0},
                   fmt::format("{}: mean is {} ps", family, weights.mean.count()));
  SCHEDLAB_EXPECTS(weights.heterogeneity >= 0 && weights.heterogeneity <= 1,
                   fmt::format("{}: heterogeneity is {}", family, weights.heterogeneity));
  SCHEDLAB_EXPECTS(weights.ccr >= 0, fmt::format("{}: ccr is {}", family, weights.ccr));
  const double longest =
      2 * static_cast<double>(weights.mean.count()) * (tasks + weights.ccr * edges);
  if (longest > max_duration) {
    throw InfeasibleError(fmt::format(
        "{}: all tasks together may take more than 26 days; use a shorter mean duration "
        "or a smaller size",
        family));
  }
  const double total = weights.ccr > 0 ? tasks + 2 * edges : std::max(tasks, edges);
  if (total <= max_items) return;
  throw InfeasibleError(fmt::format("{}: {:.3g} tasks and {:.3g} edges are too many; use a smaller "
                                    "size",
                                    family,
                                    tasks,
                                    edges),
                        "items",
                        fmt::format("{:.3g}", total),
                        fmt::format("{:.3g}", max_items));
}

void check_size(std::string_view name, std::int64_t value, std::int64_t minimum) {
  SCHEDLAB_EXPECTS(value >= minimum, fmt::format("{} is {}", name, value));
}

Tags place(std::int64_t layer, std::int64_t step) {
  // More layers than a tag can hold are not numbered.
  const bool fits = layer <= std::numeric_limits<std::int16_t>::max() &&
                    step <= std::numeric_limits<std::int32_t>::max();
  if (!fits) return {};
  return {.layer = static_cast<std::int16_t>(layer), .step = static_cast<std::int32_t>(step)};
}

/// Tasks in a topological order; every task is added after its predecessors.
class Family {
 public:
  explicit Family(const DagWeights& weights)
      : weights_(weights), edges_random_(weights.seed), weights_random_(~weights.seed) {}

  OperationId operation(std::string_view name, double weight) {
    const OperationId added = builder_.add_operation({.name = std::string{name}, .kernels = {}});
    weight_.resize(added.value() + 1U);
    weight_[added.value()] = weight;
    return added;
  }
  TaskId task(OperationId operation, Tags tags, const std::vector<TaskId>& after) {
    // A transfer lies between its ends in id order too.
    std::vector<TaskId> arrived;
    arrived.reserve(after.size());
    for (const TaskId before : after) {
      arrived.push_back(weights_.ccr > 0 ? transfer(before) : before);
    }
    const TaskId task = builder_.add_task(operation, tags);
    builder_.set_duration(task, draw(weight_[operation.value()]));
    for (const TaskId before : arrived) builder_.add_edge(before, task);
    return task;
  }
  /// For what depends on chance besides weights: equal edges whatever the weights.
  [[nodiscard]] Rng& random() { return edges_random_; }
  [[nodiscard]] TaskGraph build() && { return std::move(builder_).build(); }

 private:
  Duration draw(double weight) {
    const double spread = (2 * weights_random_.uniform() - 1) * weights_.heterogeneity;
    return Duration{
        std::llround(static_cast<double>(weights_.mean.count()) * weight * (1 + spread))};
  }
  TaskId transfer(TaskId before) {
    if (!transfer_.valid()) {
      transfer_ = builder_.add_operation(
          {.name = "transfer", .task_class = TaskClass::transfer, .kernels = {}});
    }
    const TaskId task = builder_.add_task(transfer_);
    builder_.set_duration(task, draw(weights_.ccr));
    builder_.add_edge(before, task);
    return task;
  }

  DagWeights weights_;
  Rng edges_random_;
  Rng weights_random_;
  TaskGraphBuilder builder_;
  std::vector<double> weight_;  // by operation; that of transfers is not used
  OperationId transfer_;
};

}  // namespace

TaskGraph erdos_renyi(std::int64_t tasks, double probability, const DagWeights& weights) {
  check_size("erdos_renyi: tasks", tasks, 1);
  SCHEDLAB_EXPECTS(probability >= 0 && probability <= 1,
                   fmt::format("erdos_renyi: probability is {}", probability));
  const auto n = static_cast<double>(tasks);
  check("erdos_renyi", weights, n, n * (n - 1) / 2 * probability);
  Family family{weights};
  const OperationId operation = family.operation("task", 1);
  // The next edge in the order (1,0), (2,0), (2,1), (3,0) ...: a geometric number of pairs ahead.
  const double log_rest = std::log1p(-probability);
  const auto skip = [&]() -> double {
    if (probability >= 1) return 0;
    if (probability <= 0) return n * n;
    return std::floor(std::log1p(-family.random().uniform()) / log_rest);
  };
  double ahead = skip();
  std::vector<TaskId> ids;
  std::vector<TaskId> after;
  for (std::int64_t i = 0; i < tasks; ++i) {
    after.clear();
    const auto row = static_cast<double>(i);
    double column = ahead;
    for (; column < row; column += 1 + skip())
      after.push_back(ids[static_cast<std::size_t>(column)]);
    ahead = column - row;
    ids.push_back(family.task(operation, {}, after));
  }
  return std::move(family).build();
}

TaskGraph fork_join(std::int64_t stages, std::int64_t width, const DagWeights& weights) {
  check_size("fork_join: stages", stages, 1);
  check_size("fork_join: width", width, 1);
  const double branches = static_cast<double>(stages) * static_cast<double>(width);
  check("fork_join", weights, branches + static_cast<double>(stages) + 1, 2 * branches);
  Family family{weights};
  const OperationId fork = family.operation("fork", 1);
  const OperationId branch = family.operation("branch", 1);
  std::vector<TaskId> branch_ids;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const TaskId begin = family.task(fork, place(stage, 0), branch_ids);
    branch_ids.clear();
    for (std::int64_t i = 0; i < width; ++i) {
      branch_ids.push_back(family.task(branch, place(stage, i), {begin}));
    }
  }
  family.task(family.operation("join", 1), place(stages, 0), branch_ids);
  return std::move(family).build();
}

TaskGraph cholesky(std::int64_t tiles, const DagWeights& weights) {
  check_size("cholesky: tiles", tiles, 1);
  const auto n = static_cast<double>(tiles);
  const double panels = n * (n - 1) / 2;
  const double products = n * (n - 1) * (n - 2) / 6;
  check("cholesky", weights, n + 2 * panels + products, 3 * panels + 3 * products);
  Family family{weights};
  const OperationId potrf = family.operation("potrf", 1.0 / 6);  // n^3 / 3 FLOP of 2 n^3
  const OperationId trsm = family.operation("trsm", 0.5);
  const OperationId syrk = family.operation("syrk", 0.5);
  const OperationId gemm = family.operation("gemm", 1);
  // The last task that wrote tile (i, j).
  std::vector<TaskId> tile(static_cast<std::size_t>(tiles * tiles));
  const auto at = [&](std::int64_t i, std::int64_t j) -> TaskId& {
    return tile[static_cast<std::size_t>(i * tiles + j)];
  };
  const auto add = [&](OperationId op,
                       std::int64_t k,
                       std::int64_t i,
                       std::int64_t j,
                       std::vector<TaskId> after) {
    if (at(i, j).valid()) after.push_back(at(i, j));
    at(i, j) = family.task(op, place(k, i * tiles + j), after);
  };
  for (std::int64_t k = 0; k < tiles; ++k) {
    add(potrf, k, k, k, {});
    for (std::int64_t i = k + 1; i < tiles; ++i) add(trsm, k, i, k, {at(k, k)});
    for (std::int64_t i = k + 1; i < tiles; ++i) {
      for (std::int64_t j = k + 1; j < i; ++j) add(gemm, k, i, j, {at(i, k), at(j, k)});
      add(syrk, k, i, i, {at(i, k)});
    }
  }
  return std::move(family).build();
}

TaskGraph gaussian_elimination(std::int64_t size, const DagWeights& weights) {
  check_size("gaussian_elimination: size", size, 2);
  const auto m = static_cast<double>(size);
  check("gaussian_elimination",
        weights,
        (m * m + m - 2) / 2,
        m * (m - 1) / 2 + (m - 1) * (m - 2) / 2 + m - 2);
  Family family{weights};
  const OperationId pivot = family.operation("pivot", 1);
  const OperationId update = family.operation("update", 1);
  std::vector<TaskId> column(static_cast<std::size_t>(size));  // who changed it last
  for (std::int64_t k = 0; k + 1 < size; ++k) {
    TaskId& own = column[static_cast<std::size_t>(k)];
    const TaskId first = family.task(
        pivot, place(k, k), own.valid() ? std::vector<TaskId>{own} : std::vector<TaskId>{});
    for (std::int64_t j = k + 1; j < size; ++j) {
      TaskId& changed = column[static_cast<std::size_t>(j)];
      std::vector<TaskId> after{first};
      if (changed.valid()) after.push_back(changed);
      changed = family.task(update, place(k, j), after);
    }
  }
  return std::move(family).build();
}

TaskGraph fft(std::int64_t points, const DagWeights& weights) {
  check_size("fft: points", points, 2);
  SCHEDLAB_EXPECTS(std::has_single_bit(static_cast<std::uint64_t>(points)),
                   fmt::format("fft: points is {}", points));
  const auto m = static_cast<double>(points);
  const double butterflies = m * std::log2(m);
  check("fft", weights, 2 * m - 1 + butterflies, 2 * (m - 1) + 2 * butterflies);
  Family family{weights};
  const OperationId call = family.operation("call", 1);
  const OperationId butterfly = family.operation("butterfly", 1);
  std::vector<TaskId> row{family.task(call, place(0, 0), {})};
  std::int64_t layer = 1;
  for (; static_cast<std::int64_t>(row.size()) < points; ++layer) {
    std::vector<TaskId> next;
    for (const TaskId caller : row) {
      for (int half = 0; half < 2; ++half) {
        next.push_back(
            family.task(call, place(layer, static_cast<std::int64_t>(next.size())), {caller}));
      }
    }
    row = std::move(next);
  }
  for (std::size_t distance = 1; distance < row.size(); distance *= 2, ++layer) {
    std::vector<TaskId> next;
    for (std::size_t i = 0; i < row.size(); ++i) {
      next.push_back(family.task(
          butterfly, place(layer, static_cast<std::int64_t>(i)), {row[i], row[i ^ distance]}));
    }
    row = std::move(next);
  }
  return std::move(family).build();
}

}  // namespace schedlab
