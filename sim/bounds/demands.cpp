// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/demands.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/bounds/task_kinds.hpp"
#include "sim/machine/residency.hpp"

#include <algorithm>
#include <numeric>

namespace schedlab {

namespace {

__extension__ using WideTime = __int128;

/// Of rates that the engines round, and of doubles.
constexpr double rounding = 1.0 - 1e-7;
/// Demands of memory are multiples of this part of the bandwidth (BandwidthShare).
constexpr double demand_step = 0x1p-32;

/// Of a task as it runs: parts of collectives of one operation have its longest in the cost table.
Duration duration_alone(const Problem& problem, TaskId task, DeviceId device) {
  const Duration duration = problem.costs.duration(task, device);
  const CollectiveId collective = problem.graph.collectives().of(task);
  if (!collective.valid() || !problem.costs.task_durations().empty()) return duration;
  return std::min(duration, problem.costs.duration(collective));
}

/// How a kernel's blocks fill the units of its class when it is alone.
struct Alone {
  Residency residency;
  WavesAlone waves;
  std::uint32_t blocks = 1;
  std::uint32_t units = 0;  ///< 0: unlimited
};

Alone alone(const CostTable::Entry& entry, const Device& device) {
  const Estimate& estimate = entry.estimate;
  Alone made{.residency = residency(estimate, device.sm_limits), .waves = {}};
  made.blocks = estimate.blocks != 0 ? estimate.blocks : std::max(1U, entry.units);
  if (entry.unit_class.valid()) made.units = device.unit_classes[entry.unit_class].count;
  if (made.units == 0) {
    made.waves = {.wave = made.blocks, .first = unit_throughput, .whole = unit_throughput};
  } else {
    made.waves = waves_alone(made.residency, made.blocks, made.units);
  }
  return made;
}

Duration min_duration_on(const Problem& problem, TaskId task, DeviceId device) {
  const Duration duration = duration_alone(problem, task, device);
  if (!shares_units(problem.platform.sharing)) return duration;
  const Alone kernel = alone(problem.costs.entry(task, device), problem.platform.device(device));
  if (kernel.units == 0 || !kernel.residency.oversubscribes()) return duration;
  const std::int64_t rounds =
      ceil_div(kernel.blocks, std::int64_t{kernel.units} * kernel.residency.residents);
  const std::int64_t throughput =
      std::int64_t{kernel.blocks} * kernel.residency.throughput / kernel.units;
  const std::int64_t needed = std::max(rounds * unit_throughput, throughput);
  if (needed >= kernel.waves.whole) return duration;
  return Duration{
      static_cast<std::int64_t>(WideTime{duration.count()} * needed / kernel.waves.whole)};
}

/// Where units are shared block by block, kernels reside side by side: what the blocks of a kernel
/// alone take, in unit-picoseconds,
///   blocks * their capacity or throughput * the time of a block at full rate.
/// Beside others a block takes longer, and never less of either.
double taken_by_blocks(const CostTable::Entry& entry,
                       const Device& device,
                       Duration duration,
                       BoundResource resource) {
  const Alone kernel = alone(entry, device);
  const Residency& resides = kernel.residency;
  const auto time = static_cast<double>(duration.count());
  if (resource == BoundResource::units &&
      resides.residents == std::max(1U, entry.estimate.blocks_per_unit)) {
    return entry.mean_share * kernel.units * time;
  }
  const double block_time = time * unit_throughput / static_cast<double>(kernel.waves.whole);
  const double of_a_unit = resource == BoundResource::units
                               ? 1.0 / resides.residents
                               : static_cast<double>(resides.throughput) / unit_throughput;
  return of_a_unit * kernel.blocks * block_time * rounding;
}

/// In picoseconds of the whole bandwidth. A kernel alone never wants more than that: of its waves
/// the first wants most.
double taken_of_memory(const CostTable::Entry& entry,
                       const Device& device,
                       Duration duration,
                       SharingModel sharing) {
  const double bandwidth = device.rates.memory.count() * device.rates.memory_efficiency;
  const Alone kernel = alone(entry, device);
  const double bytes = entry.estimate.bandwidth.count() * to_seconds(entry.estimate.duration);
  const double block_time = static_cast<double>(duration.count()) * unit_throughput /
                            static_cast<double>(kernel.waves.whole);
  const double blocks_time = kernel.blocks * block_time;
  const double slowed = sharing == SharingModel::fluid
                            ? static_cast<double>(kernel.waves.first) / unit_throughput
                            : 1.0;
  const double limit = blocks_time * slowed / kernel.waves.wave;
  const double wanted = std::min(bytes / bandwidth * 1e12, limit) - blocks_time * demand_step;
  return std::max(0.0, wanted * rounding);
}

std::int64_t amount_on(const BoundProblem& on, const Pool& pool, TaskId task, DeviceId device) {
  const Problem& problem = on.problem;
  const CostTable::Entry& entry = problem.costs.entry(task, device);
  const Device& owner = problem.platform.device(device);
  const SharingModel sharing = problem.platform.sharing;
  const Duration duration = duration_alone(problem, task, device);
  switch (pool.resource) {
    case BoundResource::units:
      if (entry.unit_class != pool.unit_class) return 0;
      if (!shares_units(sharing)) return entry.units * duration.count();
      break;
    case BoundResource::throughput:
      if (entry.unit_class != pool.unit_class) return 0;
      break;
    case BoundResource::memory:
      // Parts of a collective end when their collective does, whatever bandwidth they are given.
      if (problem.graph.collectives().of(task).valid()) return 0;
      return static_cast<std::int64_t>(taken_of_memory(entry, owner, duration, sharing));
    case BoundResource::wide_tasks: {
      if (entry.unit_class != pool.unit_class) return 0;
      const std::uint64_t count = owner.unit_classes[pool.unit_class].count;
      return entry.units * (pool.capacity + 1) > count ? duration.count() : 0;
    }
    case BoundResource::streams:
      return min_duration_on(problem, task, device).count();
    case BoundResource::host_calls:
    case BoundResource::front_ends:
    case BoundResource::link:
      return 0;
  }
  return static_cast<std::int64_t>(taken_by_blocks(entry, owner, duration, pool.resource));
}

/// The least of a function of every kind of device that may run the task.
template <class Of>
auto least_of_devices(const Problem& problem, TaskId task, const Of& of) {
  if (problem.graph.has_ranks()) return of(DeviceId{problem.graph.rank(task)});
  auto least = of(DeviceId{0});
  for (const DeviceId device : problem.platform.devices.ids()) {
    if (device != DeviceId{0}) least = std::min(least, of(device));
  }
  return least;
}

template <class Of>
Duration least_of_hosts(const Platform& platform, const Of& of) {
  Duration least = Duration::max();
  for (const Host& host : platform.hosts) least = std::min(least, of(host));
  return least;
}

template <class Of>
Duration least_latency(const Platform& platform, const Of& of) {
  Duration least = Duration::max();
  for (const Device& device : platform.devices) least = std::min(least, of(device));
  return least;
}

std::int64_t link_time(Bytes bytes, Bandwidth bandwidth) {
  return static_cast<std::int64_t>(static_cast<double>(bytes.count()) / bandwidth.count() * 1e12 *
                                   rounding);
}

Duration call_of_task(const BoundProblem& on, TaskId task) {
  const std::int64_t launches = least_of_devices(on.problem, task, [&](DeviceId device) {
    return std::int64_t{on.problem.costs.entry(task, device).launches};
  });
  return least_of_hosts(on.problem.platform,
                        [&](const Host& host) { return launches * host.operator_cost(); });
}

/// The units of a class of all devices; 0 if they are unlimited on one.
std::uint64_t units_of(const Platform& platform, UnitClassId unit_class) {
  std::uint64_t units = 0;
  for (const DeviceId id : platform.device_ids()) {
    const Device& device = platform.device(id);
    if (!device.unit_classes.contains(unit_class)) continue;
    if (device.unit_classes[unit_class].count == 0) return 0;
    units += device.unit_classes[unit_class].count;
  }
  return units;
}

class PoolList {
 public:
  explicit PoolList(const BoundProblem& on) : on_(on), platform_(on.problem.platform) {}

  std::vector<Pool> list() {
    if (on_.problem.graph.has_ranks()) {
      for (const DeviceId device : platform_.device_ids()) add_all(device, 1);
    } else {
      add_all(DeviceId::none(), platform_.device_count());
    }
    add(BoundResource::host_calls, DeviceId::none(), {}, host_threads(on_));
    add(BoundResource::front_ends, DeviceId::none(), {}, host_threads(on_));
    return std::move(pools_);
  }

 private:
  void add(BoundResource resource,
           DeviceId device,
           UnitClassId unit_class,
           std::uint64_t capacity) {
    if (capacity == 0) return;
    Pool& pool = pools_.emplace_back();
    pool.resource = resource;
    pool.device = device;
    pool.unit_class = unit_class;
    pool.capacity = capacity;
  }

  void add_all(DeviceId device, std::size_t devices) {
    if (on_.plans.streams != 0) {
      add(BoundResource::streams, device, {}, std::uint64_t{on_.plans.streams} * devices);
    }
    if (!on_.units) return;
    std::size_t classes = 0;
    bool memory = shares_units(platform_.sharing) && devices == 1;
    for (const DeviceId id : platform_.devices.ids()) {
      if (device.valid() && platform_.kind_of(device) != id) continue;
      classes = std::max(classes, platform_.devices[id].unit_classes.size());
      memory = memory && platform_.devices[id].rates.memory > Bandwidth{0.0};
    }
    for (const UnitClassId unit_class : IdRange<UnitClassId>{classes}) {
      add_class(device, unit_class);
    }
    if (memory) add(BoundResource::memory, device, {}, 1);
  }

  void add_class(DeviceId device, UnitClassId unit_class) {
    const std::uint64_t units = device.valid()
                                    ? platform_.device(device).unit_classes[unit_class].count
                                    : units_of(platform_, unit_class);
    // Under `blocks` capacity is several resources, and none counts.
    if (platform_.sharing != SharingModel::blocks) {
      add(BoundResource::units, device, unit_class, units);
    }
    if (shares_units(platform_.sharing)) {
      add(BoundResource::throughput, device, unit_class, units);
    } else if (device.valid() || platform_.device_count() == 1) {
      constexpr std::uint64_t most_side_by_side = 3;
      for (std::uint64_t k = 1; k <= most_side_by_side && k < units; ++k) {
        add(BoundResource::wide_tasks, device, unit_class, k);
      }
    }
  }

  const BoundProblem& on_;
  const Platform& platform_;
  std::vector<Pool> pools_;
};

}  // namespace

Duration min_duration(const Problem& problem, TaskId task) {
  return least_of_devices(
      problem, task, [&](DeviceId device) { return min_duration_on(problem, task, device); });
}

Duration min_launch_latency(const Platform& platform) {
  return least_latency(platform, [](const Device& device) { return device.launch_latency; });
}

MinDelays::MinDelays(const BoundProblem& on) : graph_(on.problem.graph), task_of_(on.task_of) {
  const Platform& platform = on.problem.platform;
  const bool graphs = on.plans.device_graphs;
  by_host_ = min_launch_latency(platform) + least_of_hosts(platform, [&](const Host& host) {
               const HostCosts& costs = host.costs;
               return graphs ? std::min(costs.launch, costs.graph_launch) : costs.launch;
             });
  kernels_ = least_latency(platform, [&](const Device& device) {
    return graphs ? std::min(device.stream_gap, device.graph_node_gap) : device.stream_gap;
  });
  tasks_ = std::min({by_host_, kernels_, least_latency(platform, [](const Device& device) {
                       return device.event_latency;
                     })});
  if (on.plans.programmatic) {
    tasks_ = std::min(tasks_, least_latency(platform, [&](const Device& device) {
                        return device.programmatic_gap.value_or(tasks_);
                      }));
  }
  if (!graph_.has_ranks()) return;
  send_ = least_of_hosts(platform, [](const Host& host) { return host.costs.send; });
  messages_ = rank_messages(graph_);
  routes_ = Routes{platform.network, graph_.rank_count()};
}

Duration MinDelays::operator()(TaskId from, TaskId to) const {
  if (task_of_ != nullptr && (*task_of_)[from] == (*task_of_)[to]) return kernels_;
  if (messages_.empty() || graph_.rank(from) == graph_.rank(to)) return tasks_;
  return send_ + by_message(from, graph_.rank(to)) + by_host_;
}

Duration MinDelays::by_message(TaskId from, std::uint32_t to) const {
  const std::uint32_t rank = graph_.rank(from);
  const auto message = std::lower_bound(
      messages_.begin(), messages_.end(), from, [&](const RankMessage& m, TaskId task) {
        return m.producer != task ? m.producer < task : m.to < to;
      });
  const Bandwidth narrowest = routes_.narrowest(rank, to);
  const Duration moving =
      narrowest.count() > 0 ? Duration{link_time(message->bytes, narrowest)} : Duration{0};
  return routes_.latency(rank, to) + moving;
}

std::vector<LinkUse> link_uses(const BoundProblem& on) {
  const TaskGraph& graph = on.problem.graph;
  if (!graph.has_ranks() || on.problem.platform.network.topology == Topology::none) return {};
  const Routes routes{on.problem.platform.network, graph.rank_count()};
  std::vector<LinkUse> uses;
  std::vector<LinkId> way;
  for (const RankMessage& message : rank_messages(graph)) {
    way.clear();
    routes.route(graph.rank(message.producer), message.to, way);
    for (const LinkId link : way) {
      const std::int64_t time = link_time(message.bytes, routes.bandwidth(link));
      uses.push_back({.link = link, .producer = message.producer, .to = message.to, .time = time});
    }
  }
  std::stable_sort(
      uses.begin(), uses.end(), [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
  return uses;
}

Duration launch_time(const BoundProblem& on, TaskId task) {
  const Duration call = call_of_task(on, task);
  if (!on.plans.device_graphs) return call;
  return std::min(call, least_of_hosts(on.problem.platform, [](const Host& host) {
                    return host.costs.graph_launch_node;
                  }));
}

Duration preparation_time(const BoundProblem& on, TaskId task) {
  if (on.plans.device_graphs) return Duration{0};
  const std::int64_t launches = least_of_devices(on.problem, task, [&](DeviceId device) {
    return std::int64_t{on.problem.costs.entry(task, device).launches};
  });
  return least_of_hosts(on.problem.platform, [&](const Host& host) {
    return host.front_end_thread ? launches * host.costs.preparation() : Duration{0};
  });
}

Duration min_start(const BoundProblem& on, TaskId task) {
  Duration call = preparation_time(on, task) + call_of_task(on, task);
  if (on.plans.device_graphs) {
    call = std::min(call, least_of_hosts(on.problem.platform, [](const Host& host) {
                      return host.costs.graph_launch + host.costs.graph_launch_node;
                    }));
  }
  return call + min_launch_latency(on.problem.platform);
}

std::uint32_t host_threads(const BoundProblem& on) {
  if (on.plans.host_threads != 0) return on.plans.host_threads;
  return static_cast<std::uint32_t>(on.problem.platform.device_count());
}

std::vector<Pool> pools_of(const BoundProblem& on) {
  return PoolList{on}.list();
}

Duration use_head(const BoundProblem& on, const Pool& pool, TaskId task, Duration head) {
  if (pool.resource == BoundResource::host_calls) return preparation_time(on, task);
  return pool.resource == BoundResource::front_ends ? Duration{0} : head;
}

Duration use_tail(const BoundProblem& on, const Pool& pool, TaskId task, Duration tail) {
  if (!serves_before_start(pool)) return tail;
  const Duration after =
      min_launch_latency(on.problem.platform) + min_duration(on.problem, task) + tail;
  return pool.resource == BoundResource::host_calls ? after : launch_time(on, task) + after;
}

bool serves_before_start(const Pool& pool) {
  return pool.resource == BoundResource::host_calls || pool.resource == BoundResource::front_ends;
}

bool lasts_exactly(const BoundProblem& on) {
  return !shares_units(on.problem.platform.sharing) && on.problem.platform.devices.size() == 1 &&
         on.problem.graph.collectives().empty();
}

std::int64_t amount(const BoundProblem& on, const Pool& pool, TaskId task) {
  if (pool.resource == BoundResource::host_calls) return launch_time(on, task).count();
  if (pool.resource == BoundResource::front_ends) return preparation_time(on, task).count();
  if (pool.device.valid() && on.problem.graph.rank(task) != pool.device.value()) return 0;
  return least_of_devices(
      on.problem, task, [&](DeviceId device) { return amount_on(on, pool, task, device); });
}

bool held_throughout(const BoundProblem& on, const Pool& pool) {
  switch (pool.resource) {
    case BoundResource::units:
    case BoundResource::wide_tasks:
      return !shares_units(on.problem.platform.sharing) && on.problem.platform.devices.size() == 1;
    case BoundResource::streams:
      return on.problem.platform.devices.size() == 1;
    case BoundResource::throughput:
    case BoundResource::memory:
    case BoundResource::host_calls:
    case BoundResource::front_ends:
    case BoundResource::link:
      return false;
  }
  return false;
}

Duration time_step(const BoundProblem& on) {
  return on.problem.graph.has_ranks() ? Duration{1} : time_step(on, TaskKinds{on.problem});
}

Duration time_step(const BoundProblem& on, const TaskKinds& kinds) {
  if (on.problem.graph.has_ranks()) return Duration{1};
  const MinDelays delay{on};
  std::int64_t step = std::gcd(delay.between_tasks().count(), delay.between_kernels().count());
  step = std::gcd(step, min_launch_latency(on.problem.platform).count());
  for (const TaskId task : kinds.examples()) {
    const Duration launch = launch_time(on, task);
    const Duration preparation = preparation_time(on, task);
    // Of several threads each has a part.
    if (host_threads(on) > 1 && launch + preparation > Duration{0}) return Duration{1};
    for (const Duration time :
         {min_duration(on.problem, task), min_start(on, task), launch, preparation}) {
      if (step == 1) return Duration{1};
      step = std::gcd(step, time.count());
    }
  }
  return Duration{std::max<std::int64_t>(1, step)};
}

}  // namespace schedlab
