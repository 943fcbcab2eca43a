// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "studies/explanation/explained_run.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One change to a run, and what the simulator says of it.
struct WhatIf {
  std::string name;         ///< "host_twice_as_fast", "fused_4", ...
  std::string description;  ///< for readers
  std::optional<Duration> makespan;
  std::string note;  ///< why there is no makespan, or what else is to be known of it

  /// For readers: what it is and what is to be known of it; why not, if it was not simulated.
  [[nodiscard]] std::string text() const;
};

/// The device time per operator at which host and device cost meet: with shorter operators the
/// device waits for the host, with longer ones the host for the device.
struct BreakEven {
  Duration mean_operator{0};  ///< of this run
  /// Host cost per operator times the operators, each with its stream gap, that run at once on
  /// average on a free host; minus the stream gap.
  Duration closed_form{0};
  /// All durations scaled until the run on a free host takes as long as the host's calls.
  Duration simulated{0};
};

/// What the simulator says of a run and of changes to it.
struct WhatIfTable {
  Duration trace{0};   ///< makespan of the run itself
  Duration replay{0};  ///< simulated again, unchanged: what gains refer to
  std::vector<WhatIf> changes;
  /// For one device and one host, if operators of any size meet the host's time.
  std::optional<BreakEven> break_even;
  std::string note;  ///< why nothing was simulated; empty: it was
  /// Who decides in the replay, if shares of its critical path are more than 5 points from those of
  /// the measured run: gains follow the replay.
  std::string replay_decision;
  std::string warning;  ///< what is wrong with the run's own plan; empty: nothing that is known

  /// replay / trace - 1: how far the replay is from the run. 0 of a simulated run.
  [[nodiscard]] double replay_error() const;
};

/// Simulates the run's plan again, unchanged and changed in one respect at a time:
///   host_twice_as_fast  all call costs halved
///   eager_two_thread, graph_mode, graph_launch, sink
///                       the same plan in another launch mode; graphs and models exist already
///   undivided_units     all units for all streams, if the plan divides them
///   fused_2, _4, _8     so many consecutive operators of one stream launched as one
///   streams_half, _1    the same calls on fewer streams
///   ideal_host          calls cost nothing
/// A policy that decides while it runs is not asked again: its recorded decisions stay. A plan that
/// the checker objects to has no makespan, but the objection; see `warning` where it objects to the
/// run's own. Plans of very many streams are not checked, and say so.
///
/// `changed`: called with the number of changes that are done, of what_if_count.
/// Cost     that of so many simulations. Throws Interrupted.
[[nodiscard]] WhatIfTable what_if(const ExplainedRun& run,
                                  const StopFlag* stop = nullptr,
                                  const std::function<void(std::uint32_t)>& changed = {});
/// Changes, the break-even among them, at most.
inline constexpr std::uint32_t what_if_count = 13;

}  // namespace schedlab
