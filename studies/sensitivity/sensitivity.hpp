// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "notebooks_export/report.hpp"
#include "notebooks_export/report_document.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// Where the fastest policy stops being the fastest if one number alone changes.
struct OrderChange {
  double factor = 1;   ///< of the number
  double value = 0;    ///< the number there
  std::string policy;  ///< the fastest from there on
  /// Is that within what the machine file says of the number's 95 % interval?
  bool within_interval = false;
};

/// What one number of a machine means for a case.
struct NumberSensitivity {
  NumberSource number;
  /// By policy: per cent that the makespan changes by for a number that is 1 % larger; central
  /// differences over the step.
  std::vector<double> elasticity;
  std::optional<OrderChange> below;  ///< the nearest, of smaller numbers
  std::optional<OrderChange> above;  ///< of larger ones

  [[nodiscard]] double largest() const;  ///< absolute elasticity of any policy
};

/// What one kind of task means for the fastest policy.
struct OperationShare {
  std::string operation;
  std::uint64_t tasks = 0;  ///< on the critical path
  Duration running{0};      ///< of these
  double share = 0;         ///< of the makespan: what it gains per cent that the operation gains
};

/// How much a case depends on each number of its machine and each kind of task.
struct Sensitivity {
  std::string name;
  std::string machine;
  double step = 0.01;
  double range = 2;  ///< numbers were divided and multiplied by up to so much for order changes
  std::optional<std::size_t> sought{};  ///< of so many numbers alone; nullopt: of all
  std::vector<std::string> policies;
  std::vector<Duration> makespans;         ///< by policy
  std::size_t fastest = 0;                 ///< a policy
  std::vector<NumberSensitivity> numbers;  ///< that matter to some policy, most first
  std::uint64_t without_effect = 0;        ///< numbers that matter to none
  std::vector<OperationShare> operations;  ///< on the critical path of the fastest, longest first
};

struct SensitivityRequest {
  double step = 0.01;
  double range = 2;
  /// Order changes are sought for so many numbers: those at which, by their elasticities, they are
  /// nearest. nullopt: for all, also where elasticities tell nothing.
  std::optional<std::size_t> most_delicate{};
  const StopFlag* stop = nullptr;
  /// Called with the numbers that are done, and how many there are.
  std::function<void(std::uint64_t, std::uint64_t)> observer{};
};

/// Runs that are compared on machines that differ in one number.
struct ComparedRuns {
  std::string name;
  MachineSpec machine;
  std::vector<std::string> policies;  ///< what tells them apart
  /// Of each of them on a machine; nullopt: one cannot run there. Throws InputError for a machine
  /// that cannot be.
  std::function<std::optional<std::vector<Duration>>(const MachineSpec&)> makespans;
};

/// Runs them again with one number of the machine changed at a time, as below; without operations.
[[nodiscard]] Sensitivity sensitivity(const ComparedRuns& runs, const SensitivityRequest& request);

/// Simulates the case of a spec again with one number of its machine file changed at a time; an
/// axis is allowed in "policy" alone. Every number of the file takes part, fitted parameters too;
/// whole numbers change by one at least. Order changes are sought at factors up to `range` and
/// bisected to 0.1 %: of several on one side the nearest one seen is told.
///
/// Cost    2 runs per number and policy, and some 20 for numbers that turn the order.
/// Throws  InputError for a spec of several cases, InfeasibleError for a case that cannot run,
///         Interrupted.
[[nodiscard]] Sensitivity sensitivity(const Spec& spec, const SensitivityRequest& request);
/// Of scenarios of a larger grid that have one machine; they are named by what tells them apart.
[[nodiscard]] Sensitivity sensitivity(const Spec& spec,
                                      const Grid& grid,
                                      const std::vector<std::uint64_t>& scenarios,
                                      const SensitivityRequest& request);

/// The fields of sensitivity.json.
[[nodiscard]] const Fields<Sensitivity>& sensitivity_fields();
/// Which numbers matter, what turns the order, and what the critical path consists of.
[[nodiscard]] ReportDocument sensitivity_report(const Sensitivity& result);
/// The numbers of the machine that matter most, as a table of another report.
[[nodiscard]] ReportTable sensitivity_table(const Sensitivity& result,
                                            std::size_t max_numbers = 10);
/// The same as a section of a page; `of` says which case it is ("The closest case, a: ").
void add_sensitivity(ReportDocument& page,
                     const Sensitivity& result,
                     const std::string& of,
                     std::size_t max_numbers = 10);

/// Reports leave out cases of more tasks: several hundred runs are made.
inline constexpr std::size_t max_sensitivity_tasks = 2000;
/// Order changes in reports are sought for so many numbers.
inline constexpr std::size_t most_delicate_numbers = 3;

}  // namespace schedlab
