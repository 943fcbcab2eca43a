// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/collective.hpp"
#include "hw_models/engine_class.hpp"
#include "sim/base/units.hpp"
#include "sim/machine/cost_model.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

/// Where an operator of a core group runs.
enum class Processor : std::uint8_t {
  array,            ///< the computing cores together
  management_core,  ///< the one core that starts them
};
[[nodiscard]] std::string_view to_string(Processor processor);

/// seconds = operators * operator_seconds + moved bytes * seconds_per_byte + FLOPs *
/// seconds_per_flop. All 0: not known, what the machine's file says counts.
struct ClassCost {
  double operator_seconds = 0;
  double seconds_per_byte = 0;
  double seconds_per_flop = 0;

  [[nodiscard]] bool known() const {
    return operator_seconds > 0 || seconds_per_byte > 0 || seconds_per_flop > 0;
  }
  [[nodiscard]] double seconds(const EngineWork& work) const {
    return work.operators * operator_seconds + work.moved_bytes * seconds_per_byte +
           work.flops * seconds_per_flop;
  }
  friend bool operator==(const ClassCost&, const ClassCost&) = default;
};

/// What operators cost on one core group.
struct EngineCosts {
  std::array<ByEngineClass<ClassCost>, 2> of{};  ///< by Processor

  [[nodiscard]] const ClassCost& cost(Processor processor, EngineClass engine_class) const {
    return of[static_cast<std::size_t>(processor)][static_cast<std::size_t>(engine_class)];
  }
  [[nodiscard]] ClassCost& cost(Processor processor, EngineClass engine_class) {
    return of[static_cast<std::size_t>(processor)][static_cast<std::size_t>(engine_class)];
  }
};

/// The terms of ClassCost that a class is costed by. On the array every class is bound by what it
/// moves, as the array computes far faster than its memory delivers, but pooling, which compares
/// element by element; `update` and `data_split` also pay for each operator. On the management core
/// products and pooling are bound by arithmetic.
struct CostTerms {
  bool operators = false;
  bool bytes = false;
  bool flops = false;
};
[[nodiscard]] CostTerms cost_terms(Processor processor, EngineClass engine_class);

/// Many-core chips as an acceleration engine uses them: each operator goes to the array of its core
/// group if that suits it, else to the management core, and costs what its class costs there.
///
///   array       class cost known: ClassCost::seconds / groups
///               else kernel_floor + max(FLOPs / peak, moved bytes / bandwidth) of its groups
///   management  class cost known: ClassCost::seconds, else FLOPs / rate + moved bytes / bandwidth
///   both        and the framework's time for every operator
///   groups      units_per_kernel of the machine, in units of the class it runs on; costs that are
///               known are those of one unit
///
/// Valid for: machines whose units are core groups (sharing exclusive). An operator on the
/// management core holds its group too: the thread that is bound to the group runs it.
/// Source: swFLOWpro (see engine_class); a class's cost is linear in its work by assumption.
class AccelerationEngine final : public NetworkCostModel {
 public:
  struct Options {
    EngineCosts costs{};
    std::int64_t array_from_bytes = default_array_from_bytes;
    bool array = true;  ///< false: everything runs on management cores
    /// Rates of a management core, where its class costs are not known: 0.2 TFLOP/s of six in fp64,
    /// what the chip's peak has beside the computing cores' (Chips and Cheese, China's New(ish)
    /// SW26010-Pro Supercomputer at SC23).
    double management_flop_per_s = 33e9;
    double management_bytes_per_s = 8e9;  // assumed: one core's share of a DDR4 channel
    /// What a framework takes for every operator beside its kernel (finding it, allocating its
    /// results), on the management core whichever processor runs the kernel.
    Duration framework{0};
  };

  explicit AccelerationEngine(Options options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "acceleration_engine"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;
  [[nodiscard]] Processor processor(const Operation& operation) const {
    return options_.array && suits_array(operation, options_.array_from_bytes)
               ? Processor::array
               : Processor::management_core;
  }

 private:
  [[nodiscard]] Estimate without_framework(const Operation& operation, const Device& device) const;

  Options options_;
};

}  // namespace schedlab
