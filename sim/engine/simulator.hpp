// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/engine/block_placement.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// How a plan is simulated.
enum class EngineKind : std::uint8_t {
  automatic,  ///< the in-order sweep where it applies, else the event engine
  event,      ///< always the event engine
  in_order,   ///< the max-plus sweep; ContractViolation where it does not apply
};

struct SimulationOptions {
  EngineKind engine = EngineKind::automatic;
  bool record_hosts = false;  ///< fill Trace::hosts
  bool record_flows = false;  ///< fill Trace::flows
  const StopFlag* stop = nullptr;
  /// Where blocks are placed on single units (SharingModel::blocks): filled with every placement
  /// and end, in the order of time. The other models leave it empty.
  std::vector<BlockPlacement>* placements = nullptr;
};

/// Runs plans in virtual time. Holds only scratch memory, which later runs re-use: one object per
/// thread, no state is carried from run to run.
class Simulator {
 public:
  Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;
  ~Simulator();

  /// Times are exact integers and depend on nothing but the arguments.
  /// Throws ContractViolation for a malformed plan (see expect_well_formed), InfeasibleError with a
  /// list of all queues when the run cannot go on (deadlock). It does not check dependencies: as on
  /// real hardware, a plan without the needed waits runs, and check() is what finds it.
  [[nodiscard]] Trace run(const Problem& problem,
                          const Plan& plan,
                          const SimulationOptions& options = {});
  /// As run(), but re-uses the memory of `trace`: the first touch of fresh memory can take longer
  /// than the simulation. If it throws, `trace` holds what happened so far.
  void run_into(const Problem& problem,
                const Plan& plan,
                const SimulationOptions& options,
                Trace& trace);

  /// What the policy decided, and how it ran.
  struct Recording {
    Plan plan;
    Trace trace;
  };
  /// Asks the policy for each call in virtual time. Running the recorded plan again gives the same
  /// trace. Throws ContractViolation if the policy makes more than 10^6 + 1000 * tasks calls.
  [[nodiscard]] Recording record(const Problem& problem,
                                 OnlinePolicy& policy,
                                 const SimulationOptions& options = {});
  /// As record(), but re-uses the memory of `recording`. If it throws, that holds what happened so
  /// far.
  void record_into(const Problem& problem,
                   OnlinePolicy& policy,
                   const SimulationOptions& options,
                   Recording& recording);

  /// Bytes of scratch memory held after the last run, the trace apart.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Can the max-plus sweep run this plan exactly? One host thread (front end included), no
/// collectives, no copies of pageable memory, exclusive sharing, and either unlimited units and no
/// limit of resident kernels on every device, or no more than one stream on each and no device
/// graphs, so that no kernel ever finds another one there.
[[nodiscard]] bool in_order_applies(const Problem& problem, const Plan& plan);

/// One run with a fresh Simulator.
[[nodiscard]] Trace simulate(const Problem& problem,
                             const Plan& plan,
                             const SimulationOptions& options = {});

}  // namespace schedlab
