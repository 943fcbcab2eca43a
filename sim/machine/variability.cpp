// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/variability.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace schedlab {
namespace {

/// What a draw is for.
enum class Subject : std::uint64_t { task = 1, device = 2, host = 3 };

/// HostCosts has nothing but durations, of which each scatters.
using AllCosts = std::array<Duration, sizeof(HostCosts) / sizeof(Duration)>;
static_assert(sizeof(AllCosts) == sizeof(HostCosts));

/// Mixes so that neighbouring numbers share nothing.
std::uint64_t mixed(std::uint64_t value) {
  return Rng{value}.next();
}

std::uint64_t key_of(const Variability& variability, std::uint64_t sample, Subject subject) {
  return mixed(mixed(mixed(variability.seed) + sample) + static_cast<std::uint64_t>(subject));
}

std::uint64_t key_of(std::uint64_t group, std::uint32_t index) {
  return group ^ mixed(index);
}

/// Box and Muller, Annals of Mathematical Statistics 29, 1958, doi 10.1214/aoms/1177706645.
double standard_normal(Rng& rng) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * rng.uniform());
}

Duration scaled(Duration duration, double factor) {
  return Duration{std::llround(static_cast<double>(duration.count()) * factor)};
}

}  // namespace

double noise_factor(NoiseLaw law, double cv, std::uint64_t key) {
  SCHEDLAB_EXPECTS(cv >= 0, fmt::format("coefficient of variation {}", cv));
  if (cv == 0) return 1.0;
  Rng rng{key};
  if (law == NoiseLaw::lognormal) {
    const double variance = std::log1p(cv * cv);
    return std::exp(std::sqrt(variance) * standard_normal(rng) - variance / 2);
  }
  while (true) {
    const double factor = 1.0 + cv * standard_normal(rng);
    if (factor > 0) return factor;
  }
}

HostCosts scaled(const HostCosts& costs, double factor) {
  auto all = std::bit_cast<AllCosts>(costs);
  for (Duration& cost : all) cost = scaled(cost, factor);
  return std::bit_cast<HostCosts>(all);
}

bool is_straggler(const Variability& variability, std::uint64_t sample, DeviceId device) {
  Rng rng{key_of(key_of(variability, sample, Subject::device), device.value())};
  return rng.uniform() < variability.straggler_probability;
}

void vary_costs(const Variability& variability,
                std::uint64_t sample,
                const TaskGraph& graph,
                const Platform& platform,
                const CostTable& nominal,
                CostTable& varied) {
  SCHEDLAB_EXPECTS(graph.task_count() == nominal.task_count(), "graph and costs of one problem");
  const std::size_t tasks = graph.task_count();
  const std::size_t devices = platform.devices.size();
  std::vector<Duration> durations = varied.release_task_durations();
  durations.resize(tasks * devices);
  // Where the graph says which rank does what, every rank is a straggler or not by itself.
  const bool by_rank = graph.has_ranks();
  std::vector<double> factor_of_rank(by_rank ? graph.rank_count() : 1, 1.0);
  for (std::uint32_t rank = 0; by_rank && rank < graph.rank_count(); ++rank) {
    if (is_straggler(variability, sample, DeviceId{rank})) {
      factor_of_rank[rank] = variability.straggler_factor;
    }
  }
  const std::uint64_t group = key_of(variability, sample, Subject::task);
  for (const TaskId task : graph.tasks()) {
    const double cv = variability.cv[static_cast<std::size_t>(graph.operation(task).kind)];
    const double factor = noise_factor(variability.law, cv, key_of(group, task.value())) *
                          factor_of_rank[graph.rank(task)];
    for (const DeviceId device : platform.devices.ids()) {
      durations[device.value() * tasks + task.value()] =
          scaled(nominal.duration(task, device), factor);
    }
  }
  for (const DeviceId device : platform.devices.ids()) {
    if (by_rank || !is_straggler(variability, sample, device)) continue;
    const auto first = durations.begin() + static_cast<std::ptrdiff_t>(device.value() * tasks);
    std::transform(first, first + static_cast<std::ptrdiff_t>(tasks), first, [&](Duration d) {
      return scaled(d, variability.straggler_factor);
    });
  }
  varied = nominal;
  varied.set_device_durations(std::move(durations));
}

Platform vary_platform(const Variability& variability,
                       std::uint64_t sample,
                       const Platform& nominal) {
  Platform platform = nominal;
  if (variability.host_cv == 0) return platform;
  while (platform.hosts.size() < platform.ranks) {  // each rank's host has a factor of its own
    platform.hosts.push_back(*(nominal.hosts.end() - 1));
  }
  const std::uint64_t group = key_of(variability, sample, Subject::host);
  for (const HostId host : platform.hosts.ids()) {
    const double factor =
        noise_factor(variability.law, variability.host_cv, key_of(group, host.value()));
    platform.hosts[host].costs = scaled(platform.hosts[host].costs, factor);
  }
  return platform;
}

}  // namespace schedlab
