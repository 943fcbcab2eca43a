// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

/// Does a device run the operation as several kernels, each with an estimate of its own?
[[nodiscard]] bool several_kernels(const Operation& operation);
/// One of its kernels as an operation.
[[nodiscard]] Operation step_of(const Operation& operation, const Kernel& kernel);

/// What a cost model says of the kernels of operations one by one (KernelSteps).
class StepCosts final : public CostModel {
 public:
  /// `costs` are those of `graph` by `model`. All must outlive this. Throws what `model` throws.
  StepCosts(const TaskGraph& graph,
            const Platform& platform,
            const CostTable& costs,
            const CostModel& model);

  /// Costs of a graph that has the steps of all operations in their order. They follow each other
  /// by `gap` of their device: what the estimate of an operation counts more or less for the pauses
  /// between its kernels goes to these, so that the steps together take as long as the operation.
  /// The first step of several has the launches of all.
  [[nodiscard]] CostTable table(const TaskGraph& steps, Duration Device::*gap);

  [[nodiscard]] std::string_view name() const override { return model_.name(); }
  /// `step`: of the graph of which table() is made.
  [[nodiscard]] Estimate estimate(const Operation& step, const Device& device) const override;
  [[nodiscard]] Estimate estimate_collective(const Operation& operation,
                                             const CollectiveSpec& spec,
                                             std::span<const std::uint32_t> ranks,
                                             const Platform& platform,
                                             DeviceId kind) const override {
    return model_.estimate_collective(operation, spec, ranks, platform, kind);
  }
  [[nodiscard]] std::vector<LinkShare> collective_links(const Operation& operation,
                                                        const CollectiveSpec& spec,
                                                        std::span<const std::uint32_t> ranks,
                                                        const Platform& platform) const override {
    return model_.collective_links(operation, spec, ranks, platform);
  }

 private:
  struct Steps {
    std::vector<Estimate> each;
    Duration pauses{0};  ///< what the operation's estimate counts for those between them, in all
  };
  [[nodiscard]] Steps steps_of(const Operation& operation,
                               const CostTable::Entry& whole,
                               const Device& device) const;

  const Platform& platform_;
  const CostModel& model_;
  std::vector<std::vector<Steps>> operations_;  // [kind of device][operation]
  const Operation* first_ = nullptr;            // step of the table under construction
  std::vector<std::vector<Estimate>> current_;  // [kind of device][step], likewise
};

}  // namespace schedlab
