// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/variability.hpp"

#include "sim/base/statistics.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments result;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  return result;
}

double normal_distribution(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

std::vector<double> draws(NoiseLaw law, double cv, std::uint64_t count) {
  std::vector<double> values;
  for (std::uint64_t key = 0; key < count; ++key) values.push_back(noise_factor(law, cv, key));
  return values;
}

/// `devices` devices with unlimited units and a free host.
Platform machine(std::uint32_t devices) {
  Platform platform = ideal_platform();
  platform.devices.resize(devices, *platform.devices.begin());
  return platform;
}

/// `count` tasks of 10 us, one after the other or independent.
TaskGraph tasks(std::uint32_t count, bool chain, TaskKind kind = TaskKind::fixed) {
  TaskGraphBuilder b;
  const OperationId op =
      b.add_operation({.name = "t", .kind = kind, .fixed_duration = std::chrono::microseconds{10}});
  for (std::uint32_t i = 0; i < count; ++i) {
    b.add_task(op);
    if (chain && i > 0) b.add_edge(TaskId{i - 1}, TaskId{i});
  }
  return std::move(b).build();
}

/// Task i on a stream of its own, on device i modulo the number of devices; a chain on one stream.
Plan spread(const Problem& problem, bool chain) {
  PlanBuilder plan{problem};
  const auto devices = static_cast<std::uint32_t>(problem.platform.devices.size());
  StreamId stream;
  for (const TaskId task : problem.graph.tasks()) {
    if (!chain || task.value() == 0) {
      stream = plan.add_stream({.device = DeviceId{task.value() % devices}});
    }
    plan.place(task, stream);
  }
  return std::move(plan).build("spread");
}

/// Makespans in units of 10 us, the length of one task.
std::vector<double> sampled(const Variability& variability,
                            const TaskGraph& graph,
                            const Platform& platform,
                            bool chain,
                            std::uint64_t samples) {
  const CostTable costs{graph, platform};
  const Plan plan = spread({graph, platform, costs}, chain);
  CostTable varied;
  std::vector<double> makespans;
  for (std::uint64_t i = 0; i < samples; ++i) {
    vary_costs(variability, i, graph, platform, costs, varied);
    const Platform drawn = vary_platform(variability, i, platform);
    makespans.push_back(to_us(simulate({graph, drawn, varied}, plan).makespan()) / 10);
  }
  return makespans;
}

Variability noise(double cv) {
  Variability variability;
  variability.cv.fill(cv);
  return variability;
}

}  // namespace

TEST_CASE("factors have mean 1 and the coefficient of variation asked for") {
  constexpr std::uint64_t count = 200'000;
  for (const NoiseLaw law : {NoiseLaw::lognormal, NoiseLaw::normal}) {
    for (const double cv : {0.02, 0.1, 0.3}) {
      CAPTURE(to_string(law));
      CAPTURE(cv);
      const Moments found = moments(draws(law, cv, count));
      CHECK(std::abs(found.mean - 1) < 4 * cv / std::sqrt(count));
      CHECK(found.deviation == doctest::Approx(cv).epsilon(0.02));
    }
  }
  CHECK(noise_factor(NoiseLaw::lognormal, 0, 7) == 1.0);
}

TEST_CASE("factors follow their law over the whole range") {
  constexpr std::uint64_t count = 20'000;
  constexpr double cv = 0.25;
  const double sigma = std::sqrt(std::log(1 + cv * cv));
  for (const NoiseLaw law : {NoiseLaw::lognormal, NoiseLaw::normal}) {
    CAPTURE(to_string(law));
    std::vector<double> values = draws(law, cv, count);
    std::sort(values.begin(), values.end());
    double distance = 0;  // Kolmogorov and Smirnov
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double z = law == NoiseLaw::lognormal
                           ? (std::log(values[i]) + sigma * sigma / 2) / sigma
                           : (values[i] - 1) / cv;
      const double expected = normal_distribution(z);
      distance = std::max({distance,
                           std::abs(expected - static_cast<double>(i) / count),
                           std::abs(expected - static_cast<double>(i + 1) / count)});
    }
    CHECK(distance < 1.63 / std::sqrt(count));  // 1 % of seeds would fail; the seed is fixed
    CHECK(values.front() > 0);
  }
}

TEST_CASE("tasks, samples and seeds are drawn independently of each other") {
  const TaskGraph graph = tasks(20'000, false);
  const Platform platform = machine(1);
  const CostTable costs{graph, platform};
  Variability variability = noise(0.1);
  const auto factors = [&](std::uint64_t sample) {
    CostTable varied;
    vary_costs(variability, sample, graph, platform, costs, varied);
    std::vector<double> values;
    for (const TaskId task : graph.tasks()) values.push_back(to_us(varied.duration(task)) / 10 - 1);
    return values;
  };
  const std::vector<double> one = factors(0);
  const std::vector<double> next = factors(1);
  variability.seed = 2;
  const std::vector<double> other = factors(0);
  const auto correlation = [&](std::size_t shift, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i + shift < one.size(); ++i) sum += one[i] * b[i + shift];
    return sum / (0.01 * static_cast<double>(one.size()));
  };
  const double four_sigma = 4 / std::sqrt(20'000.0);
  CHECK(std::abs(correlation(1, one)) < four_sigma);
  CHECK(std::abs(correlation(0, next)) < four_sigma);
  CHECK(std::abs(correlation(1, next)) < four_sigma);
  CHECK(std::abs(correlation(0, other)) < four_sigma);
  CHECK(correlation(0, one) == doctest::Approx(1).epsilon(0.05));  // with itself
}

TEST_CASE("a draw does not depend on anything but seed, sample and task") {
  TaskGraphBuilder b;
  const OperationId gemm =
      b.add_operation({.name = "g", .kind = TaskKind::gemm, .fixed_duration = 10us});
  const OperationId cell =
      b.add_operation({.name = "c", .kind = TaskKind::pointwise, .fixed_duration = 7us});
  for (int i = 0; i < 50; ++i) b.add_task(i % 2 == 0 ? gemm : cell);
  const TaskGraph graph = std::move(b).build();
  const Platform platform = machine(1);
  const CostTable costs{graph, platform};
  Variability only_gemm;
  only_gemm.cv[static_cast<std::size_t>(TaskKind::gemm)] = 0.1;
  CostTable both;
  CostTable some;
  vary_costs(noise(0.1), 3, graph, platform, costs, both);
  vary_costs(only_gemm, 3, graph, platform, costs, some);
  for (const TaskId task : graph.tasks()) {
    CAPTURE(task.value());
    const bool is_gemm = task.value() % 2 == 0;
    CHECK(some.duration(task) == (is_gemm ? both.duration(task) : costs.duration(task)));
    CHECK(both.duration(task) != costs.duration(task));
  }
  vary_costs(noise(0.1), 3, graph, platform, costs, some);  // again, in used memory
  for (const TaskId task : graph.tasks()) CHECK(some.duration(task) == both.duration(task));
  vary_costs(Variability{}, 3, graph, platform, costs, some);
  for (const TaskId task : graph.tasks()) CHECK(some.duration(task) == costs.duration(task));
}

TEST_CASE("the expected length of a chain is the sum of its tasks, its variance too") {
  constexpr std::uint32_t length = 25;
  constexpr std::uint64_t samples = 4000;
  constexpr double cv = 0.2;
  const std::vector<double> makespans =
      sampled(noise(cv), tasks(length, true), machine(1), true, samples);
  const Moments found = moments(makespans);
  const double deviation = cv * std::sqrt(length);
  CHECK(std::abs(found.mean - length) < 4 * deviation / std::sqrt(samples));
  CHECK(found.deviation == doctest::Approx(deviation).epsilon(0.05));
  const SampleSummary summary = summarize_samples(makespans);
  CHECK(summary.mean_low < length);
  CHECK(summary.mean_high > length);
}

TEST_CASE("two tasks side by side take as long as the longer one") {
  // Of two independent log-normal factors with mean 1 the larger has mean 2 Phi(s / sqrt 2)
  // (Clark, Operations Research 9, 1961, doi 10.1287/opre.9.2.145, on a logarithmic scale).
  constexpr double cv = 0.3;
  constexpr std::uint64_t samples = 20'000;
  const double sigma = std::sqrt(std::log(1 + cv * cv));
  const double expected = 2 * normal_distribution(sigma / std::sqrt(2.0));
  const Moments found = moments(sampled(noise(cv), tasks(2, false), machine(1), false, samples));
  CHECK(expected > 1.15);
  CHECK(std::abs(found.mean - expected) < 4 * found.deviation / std::sqrt(samples));
}

TEST_CASE("a barrier waits for the straggler") {
  // Four devices, one task each: as soon as one is slow, the run takes its factor.
  constexpr std::uint64_t samples = 10'000;
  constexpr double probability = 0.1;
  Variability variability;
  variability.straggler_probability = probability;
  variability.straggler_factor = 1.5;
  const std::vector<double> makespans =
      sampled(variability, tasks(4, false), machine(4), false, samples);
  const std::set<double> different(makespans.begin(), makespans.end());
  CHECK(different == std::set<double>{1.0, 1.5});
  const auto slow = std::count(makespans.begin(), makespans.end(), 1.5);
  const double expected = 1 - std::pow(1 - probability, 4);
  const double deviation = std::sqrt(expected * (1 - expected) / samples);
  CHECK(std::abs(static_cast<double>(slow) / samples - expected) < 4 * deviation);
}

TEST_CASE("a straggler slows its own tasks and no others") {
  const TaskGraph graph = tasks(8, false);
  const Platform platform = machine(3);
  const CostTable costs{graph, platform};
  Variability variability = noise(0.1);
  variability.straggler_probability = 0.5;
  variability.straggler_factor = 3;
  std::size_t slow = 0;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    CostTable varied;
    CostTable steady;
    vary_costs(variability, sample, graph, platform, costs, varied);
    vary_costs(noise(0.1), sample, graph, platform, costs, steady);
    for (const DeviceId device : platform.devices.ids()) {
      const bool straggler = is_straggler(variability, sample, device);
      slow += straggler ? 1 : 0;
      for (const TaskId task : graph.tasks()) {
        CHECK(varied.duration(task, device) == steady.duration(task, device) * (straggler ? 3 : 1));
      }
    }
  }
  CHECK(slow > 15);  // of 60
  CHECK(slow < 45);
}

TEST_CASE("each of many equal ranks is a straggler, and has a host, by itself") {
  constexpr std::uint32_t ranks = 40;
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "work", .fixed_duration = 10us});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.set_rank(builder.add_task(op), rank);
  const TaskGraph graph = std::move(builder).build();
  Platform platform = machine(1);
  platform.ranks = ranks;
  platform.hosts[HostId{0}].costs = {.launch = 4us};
  const CostTable costs{graph, platform};
  Variability variability;
  variability.straggler_probability = 0.5;
  variability.straggler_factor = 3;
  variability.host_cv = 0.2;
  CostTable varied;
  vary_costs(variability, 0, graph, platform, costs, varied);
  std::uint32_t slow = 0;
  for (const TaskId task : graph.tasks()) {
    const bool straggler = is_straggler(variability, 0, DeviceId{graph.rank(task)});
    slow += straggler ? 1 : 0;
    CHECK(varied.duration(task, DeviceId{0}) == Duration{10us} * (straggler ? 3 : 1));
  }
  CHECK(slow > 8);
  CHECK(slow < 32);
  const Platform drawn = vary_platform(variability, 0, platform);
  REQUIRE(drawn.hosts.size() == ranks);
  CHECK(drawn.host(HostId{7}).costs.launch != drawn.host(HostId{8}).costs.launch);
}

TEST_CASE("host noise changes all call costs of a thread by one factor") {
  Platform platform = machine(1);
  platform.hosts.resize(2);
  for (Host& host : platform.hosts) host.costs = {.launch = 4us, .record = 1us, .receive = 2us};
  Variability variability;
  variability.host_cv = 0.2;
  const Platform drawn = vary_platform(variability, 0, platform);
  const HostCosts& one = drawn.hosts[HostId{0}].costs;
  const double factor = to_us(one.launch) / 4;
  CHECK(factor != 1.0);
  CHECK(to_us(one.record) == doctest::Approx(factor).epsilon(1e-6));
  CHECK(to_us(one.receive) == doctest::Approx(2 * factor).epsilon(1e-6));
  CHECK(one.query == Duration{0});
  CHECK(drawn.hosts[HostId{1}].costs.launch != one.launch);
  CHECK(vary_platform(variability, 0, platform) == drawn);
  CHECK(vary_platform(variability, 1, platform) != drawn);
  CHECK(vary_platform(Variability{}, 0, platform) == platform);
}

TEST_CASE("a free host and a chain: the engines agree on a machine that scatters") {
  const TaskGraph graph = tasks(30, true);
  const Platform platform = machine(2);
  const CostTable costs{graph, platform};
  const Plan plan = spread({graph, platform, costs}, false);
  CostTable varied;
  Variability variability = noise(0.3);
  variability.straggler_probability = 0.5;
  variability.straggler_factor = 2;
  for (std::uint64_t sample = 0; sample < 10; ++sample) {
    vary_costs(variability, sample, graph, platform, costs, varied);
    const Problem problem{graph, platform, varied};
    Duration sum{0};
    for (const TaskId task : graph.tasks()) {
      sum += varied.duration(task, DeviceId{task.value() % 2});
    }
    CHECK(simulate(problem, plan, {.engine = EngineKind::event}).makespan() == sum);
    CHECK(simulate(problem, plan, {.engine = EngineKind::in_order}).makespan() == sum);
  }
}
