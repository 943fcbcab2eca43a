// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace schedlab {

/// Law of a factor with mean 1 that durations are multiplied by.
enum class NoiseLaw : std::uint8_t {
  lognormal,  ///< exp(N(-s^2/2, s^2)) with s^2 = ln(1 + cv^2): never negative, skewed to the right
  normal,     ///< N(1, cv^2); draws of 0 and below are drawn again
};

template <>
struct EnumNames<NoiseLaw> {
  static constexpr auto names = name_list("lognormal", "normal");
};

/// How a machine scatters from run to run. All zero: it does not, every run is the same.
///
/// Every draw depends on the seed, the number of the sample and on what it is for (a task, a
/// device, a host thread), and on nothing else: not on the plan, the policy or the order of
/// drawing. Two policies for one graph therefore meet the same tasks, equally long, in the same
/// sample (common random numbers), and the difference between them shows with fewer samples.
struct Variability {
  NoiseLaw law = NoiseLaw::lognormal;
  /// Coefficient of variation (standard deviation over mean) of a task's duration, by TaskKind;
  /// independent from task to task.
  std::array<double, task_kind_count> cv{};
  double host_cv = 0;                ///< of all call costs of a host thread; one factor a run
  double straggler_probability = 0;  ///< that a device is slow in a run
  double straggler_factor = 1;       ///< by which everything on a slow device takes longer
  std::uint64_t seed = 1;

  friend bool operator==(const Variability&, const Variability&) = default;
};

/// One draw of `law` with mean 1; `key`: what the draw is for, any 64 bits.
[[nodiscard]] double noise_factor(NoiseLaw law, double cv, std::uint64_t key);

/// Every cost of a host multiplied by `factor`, rounded to whole picoseconds.
[[nodiscard]] HostCosts scaled(const HostCosts& costs, double factor);

/// Is this device a straggler in this sample?
[[nodiscard]] bool is_straggler(const Variability& variability,
                                std::uint64_t sample,
                                DeviceId device);

/// `varied` becomes `nominal` with the durations of one sample, rounded to whole picoseconds; its
/// memory is used again. `graph`: the one that `nominal` was made for. What a kernel wants of units
/// and bandwidth while it runs stays as it is.
/// Cost   O(tasks * devices), about 30 ns a task.
void vary_costs(const Variability& variability,
                std::uint64_t sample,
                const TaskGraph& graph,
                const Platform& platform,
                const CostTable& nominal,
                CostTable& varied);

/// The platform of one sample: host calls cost more or less.
[[nodiscard]] Platform vary_platform(const Variability& variability,
                                     std::uint64_t sample,
                                     const Platform& nominal);

}  // namespace schedlab
