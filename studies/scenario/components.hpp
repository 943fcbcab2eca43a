// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/base/options.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/launch/launch.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/plan/policy.hpp"
#include "studies/scenario/shared_parts.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/ranks.hpp"
#include "studies/spec/spec.hpp"
#include "studies/spec/variability.hpp"
#include "workloads/models/recurrent/recurrent.hpp"
#include "workloads/transforms/tensor_parallel.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab {

inline constexpr std::array<Granularity, 5> all_granularities{Granularity::coarse,
                                                              Granularity::fine,
                                                              Granularity::matmul,
                                                              Granularity::data_and_weight,
                                                              Granularity::kernel_and_weight};
/// As specs say it: "coarse", "fine", ...
[[nodiscard]] std::string_view granularity_name(Granularity granularity);

/// Makes the objects that a scenario is made of from the alternatives of its parts. All errors are
/// InputErrors that point into the user's spec.
class Components {
 public:
  /// Spec and grid must outlive this.
  Components(const Spec& spec,
             const Grid& grid,
             std::shared_ptr<SharedParts> shared = std::make_shared<SharedParts>())
      : spec_(spec), grid_(grid), shared_(std::move(shared)) {}

  /// Whether a sweep runs policies at each other's granularities, too.
  [[nodiscard]] bool compares_like_for_like() const { return spec_.like_for_like; }
  /// True when the workload leaves its granularity to the policy ("auto").
  [[nodiscard]] bool follows_policy(std::uint64_t workload) const;
  /// The word for how finely the workload is cut into tasks: its own, or where it leaves that to
  /// the policy, the policy's. Empty: it has no such option.
  [[nodiscard]] std::string granularity(std::uint64_t workload, Granularity of_policy) const;
  /// True when the number of slices of the workload's batch is to be found ("split": "auto").
  [[nodiscard]] bool finds_split(std::uint64_t workload) const;
  /// `granularity` counts only when follows_policy(), `slices` only when finds_split().
  [[nodiscard]] TaskGraph graph(std::uint64_t workload,
                                Granularity granularity,
                                std::int64_t slices = 1) const;
  /// What the graph was made from, for a workload whose tasks can be computed and not only timed.
  [[nodiscard]] std::optional<RecurrentSpec> recurrent_spec(std::uint64_t workload,
                                                            Granularity granularity) const;
  /// How the parts are joined, for a workload that is one rank's part of a divided model.
  [[nodiscard]] std::optional<TensorParallel::Options> tensor_parallel(
      std::uint64_t workload) const;
  /// Without the sources of its numbers, unless they are kept.
  [[nodiscard]] MachineSpec machine(std::uint64_t index) const;
  /// To be called before any machine is asked for.
  void keep_sources() { keeps_sources_ = true; }
  /// nullptr: the spec does not say; default_cost_model_of the device is meant.
  [[nodiscard]] std::unique_ptr<CostModel> cost_model(std::uint64_t index) const;
  /// With what is meant where the spec does not say.
  [[nodiscard]] std::unique_ptr<CostModel> cost_model(std::uint64_t index,
                                                      const MachineSpec& machine) const;
  [[nodiscard]] std::unique_ptr<Policy> policy(std::uint64_t index) const;
  /// eager, one run, if the spec does not say.
  [[nodiscard]] LaunchChoice launch(std::uint64_t index) const;
  /// Is stream 0 the legacy default stream? No if the spec does not say.
  [[nodiscard]] bool legacy_default_stream(std::uint64_t index) const;
  /// nullopt: the machine does not scatter.
  [[nodiscard]] std::optional<Sampling> sampling(std::uint64_t index) const;
  /// One rank where the spec says nothing of ranks.
  [[nodiscard]] RanksChoice ranks(std::uint64_t index) const;
  /// The registered name of the policy, whatever its label.
  [[nodiscard]] std::string policy_name(std::uint64_t index) const;

  /// Resolves the options of every alternative (of the first 10,000 of each part) without making
  /// graphs, so that a mistake is reported before anything runs.
  void check_all() const;

 private:
  /// A name with the values given for its options.
  struct Choice {
    std::string name;
    std::map<std::string, OptionValue> given;
    JsonNode node;
  };

  [[nodiscard]] Choice workload_choice(std::uint64_t workload) const;
  [[nodiscard]] Options workload_options(const Choice& choice) const;
  /// With the granularity that the policy wants, where that is left to it.
  [[nodiscard]] Choice decided_choice(std::uint64_t workload, Granularity granularity) const;
  void expect_file(const Choice& choice) const;
  [[nodiscard]] Choice named_choice(Part part, std::uint64_t index) const;
  void add_seed(Choice& choice,
                Part part,
                std::uint64_t index,
                const std::vector<OptionSpec>& options) const;
  /// The option "path", if there is one, becomes relative to where the program runs.
  void resolve_path(Choice& choice) const;
  /// A path of the spec is relative to the spec's folder.
  [[nodiscard]] std::string path_of(const std::string& path) const;
  /// The same error with the spec's name and the pointer of the value at fault.
  [[noreturn]] void rethrow(const InputError& error, const JsonNode& node) const;

  /// Reads each machine once: overrides work on copies.
  [[nodiscard]] std::shared_ptr<const MachineSpec> base_machine(const std::string& name) const;

  const Spec& spec_;
  const Grid& grid_;
  bool keeps_sources_ = false;
  std::shared_ptr<SharedParts> shared_;
};

}  // namespace schedlab
