// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_evidence.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/time_order.hpp"
#include "sim/trace/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace schedlab {

/// How the units of one class were used, as Summary says of all compute units.
struct UnitClassUse {
  double utilization = 0;
  double busy_share = 0;  ///< some task runs on a unit of the class

  friend bool operator==(const UnitClassUse&, const UnitClassUse&) = default;
};

/// The numbers of one run that a sweep keeps. Shares are in [0, 1], of the makespan unless said
/// otherwise; with several devices (or host threads) they are means over all of them.
struct Summary {
  Duration makespan{0};
  CostEvidence cost_evidence = CostEvidence::data_sheet;  ///< of the first device
  /// Compute units in use, time-weighted; on unlimited units the sum of the running tasks' shares,
  /// capped at 1. Copies and host work use none. Where units are shared block by block: the
  /// unit-time of all work over the capacity; units that are held while their blocks wait for
  /// memory do not count.
  double utilization = 0;
  double busy_share = 0;        ///< some task runs
  double mean_concurrency = 0;  ///< tasks running at once, on average over the makespan
  /// Of the class of units that matrix products run on ("sm", "cube"), that point-wise kernels run
  /// on ("sm", "vector"), and that copies to the device do: one class may be two of these. None
  /// where no device limits such units; means over the devices that do.
  std::optional<UnitClassUse> matrix_units{};
  std::optional<UnitClassUse> vector_units{};
  std::optional<UnitClassUse> copy_engines{};
  /// Share of the time of critical tasks in which a non-critical one runs as well.
  double overlap_share = 0;
  /// Share of the summed time of non-critical tasks in which a critical one runs as well.
  double hidden_share = 0;
  /// Share of the summed time of all tasks on devices: matrix products (gemm kernels, or a class
  /// that is one). A task of several kernels counts as a whole.
  double matmul_share = 0;
  /// Host threads make calls (blocked and asleep does not count); of a front end on a thread of its
  /// own and the thread that calls the driver the one that is busier.
  double host_busy_share = 0;
  /// Host time of loading device graphs or sunk models, summed over the hosts.
  Duration load{0};
  /// From the call that launches a device graph or a sunk model to its arrival on the device, all
  /// launches of all hosts.
  Duration head_overhead{0};
  /// How long a rank waits within its collectives for the last rank to start, all collectives
  /// together; mean of the ranks. Nothing in it is transfer.
  Duration collective_wait{0};
  double host_bound_share = 0;  ///< devices idle because the next task was not yet submitted
  Bytes peak_memory{0};         ///< of the fullest device, from the tensors' life times in this run
  /// Bubble of a pipeline (sim/pipeline/pipeline_work.hpp): share of the makespan in which a rank
  /// works on no pass and no update, mean of the ranks. Sums over ranks do not count as work.
  std::optional<double> bubble_share{};
  /// Likewise, of each rank of a replica the peak memory, the largest of all replicas. With one
  /// virtual stage these are the stages.
  std::vector<Bytes> stage_peak_memory{};
  LowerBounds bounds;
  double gap = 0;  ///< makespan over the largest lower bound; 1 is optimal, 0 if there is no bound

  std::uint64_t tasks = 0;
  std::uint64_t launches = 0;  ///< kernels launched: an operation with k kernels counts k
  std::uint64_t host_calls = 0;
  std::uint64_t records = 0;  ///< event records
  std::uint64_t waits = 0;    ///< waits of streams for events
  std::uint64_t queries = 0;  ///< stream queries
  std::uint64_t events = 0;   ///< events of the plan
  std::uint64_t streams = 0;  ///< streams of the plan

  friend bool operator==(const Summary&, const Summary&) = default;
};

/// Computes summaries and re-uses its memory: one object per thread. No state passes from run to
/// run.
class Summarizer {
 public:
  /// `graph_bounds` come from graph_lower_bounds() (once per problem). The trace must be of this
  /// plan. Cost   O(tasks + calls + tensor uses); 3 to 5 us at 200 tasks on a server core.
  /// Allocates only
  ///        while it meets larger runs than before.
  [[nodiscard]] Summary summarize(const Problem& problem,
                                  const Plan& plan,
                                  const Trace& trace,
                                  const LowerBounds& graph_bounds);

 private:
  struct OperationFacts {
    double share = 0;
    double class_share = 0;  // of its own class; 0 on unlimited units
    UnitClassId unit_class = UnitClassId::none();
    std::uint32_t launches = 1;
    Duration calls{0};
    bool critical = false;
    bool matmul = false;
    bool work_only = false;  // its units are shared: it counts with its duration alone
    bool on_device = true;   // host work keeps no device busy
  };
  /// Length of the union of intervals that arrive by rising start.
  struct Union {
    std::int64_t until = 0;
    std::int64_t length = 0;

    void add(std::int64_t start, std::int64_t end);
  };
  struct ClassState {
    Union busy;
    double unit_time = 0;  // sum of the class's share * duration
  };
  /// A time without a gap in which critical tasks run.
  struct CriticalTime {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t before = 0;  // critical time before it
  };
  struct DeviceState {
    std::size_t first_class = 0;  // of classes_
    std::int64_t busy_until = 0;
    std::int64_t busy = 0;
    std::int64_t host_bound = 0;
    double unit_time = 0;   // sum of share * duration
    bool may_cap = false;   // shares can add up to more than 1
    double in_use = 0;      // while sweeping: sum of shares
    std::int64_t last = 0;  // while sweeping: time of the last change
    std::int64_t held = 0;
    std::int64_t peak = 0;
  };

  /// Bytes on `device` that are freed when span `span`, which ran elsewhere, ends.
  struct RemoteFree {
    std::uint32_t span = 0;
    DeviceId device;
    std::int64_t bytes = 0;
  };

  void collect_facts(const Problem& problem);
  void count_calls(const Problem& problem, const Plan& plan, Summary& summary) const;
  void copy_times(const Trace& trace);
  void sweep_starts(const Problem& problem,
                    const Trace& trace,
                    std::span<const std::uint32_t> by_start,
                    Summary& summary);
  void add_critical_time(std::int64_t start, std::int64_t end);
  [[nodiscard]] std::int64_t critical_time_until(std::int64_t at) const;
  void fill_hidden_share(const Problem& problem, const Trace& trace, Summary& summary) const;
  void fill_unit_classes(const Problem& problem, const Trace& trace, Summary& summary) const;
  void fill_collectives(const Problem& problem, const Trace& trace, Summary& summary);
  void mark_life_times(const Problem& problem, const Trace& trace);
  void sweep_changes(const Trace& trace, std::span<const std::uint32_t> by_start);
  void free_after(std::uint32_t index, DeviceState& device);
  static void change_in_use(DeviceState& device, std::int64_t at, double share);
  void start_change(const TaskSpan& span, std::uint32_t index);
  void end_change(const TaskSpan& span, std::uint32_t index);
  void fill_shares(const Trace& trace, Summary& summary) const;
  void fill_pipeline(const Problem& problem, const Trace& trace, Summary& summary) const;
  [[nodiscard]] const OperationFacts& facts(OperationId operation, DeviceId device) const {
    const std::size_t kind = std::min<std::size_t>(device.value(), kind_count_ - 1);
    return facts_[kind * operation_count_ + operation.value()];
  }

  TimeOrder start_order_;
  TimeOrder end_order_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> last_starts_;  // by collective: when its last part starts
  std::vector<double> share_;
  std::vector<std::int64_t> allocates_;   // bytes that come to life when span i starts
  std::vector<std::int64_t> frees_;       // bytes that are freed when span i ends
  std::vector<RemoteFree> remote_frees_;  // by rising span
  std::vector<std::uint32_t> span_of_;    // task -> index in the trace
  std::vector<OperationFacts> facts_;     // [kind of device][operation]
  std::vector<DeviceState> devices_;
  std::vector<ClassState> classes_;           // of one device after another
  std::vector<CriticalTime> critical_times_;  // by rising start
  std::size_t operation_count_ = 0;
  std::size_t kind_count_ = 1;
  bool has_life_times_ = false;
};

}  // namespace schedlab
