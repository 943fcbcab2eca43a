// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/trace/trace.hpp"
#include "workloads/traces/replay_changes.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What changes are made to: a replay of mode copied_host_work, simulated.
struct ReplayBase {
  explicit ReplayBase(ReplayModel made, const StopFlag* stop = nullptr);

  ReplayModel model;
  Trace trace;
  ReplayErrors errors;  ///< against the profile
};

/// One change, or several at once, that was asked for, simulated.
struct ChangedRun {
  std::string change;  ///< as asked for
  ChangedReplay replay;
  Trace trace;
  Duration span{0};            ///< to the end of the last activity of a device
  Duration compared_with{0};   ///< span of what it is compared with: the replay, or see `note`
  double base_span_error = 0;  ///< of the replay that was changed, against the profile
  std::string note;            ///< what was assumed; may be empty

  /// compared_with / span; 1 where nothing takes time.
  [[nodiscard]] double speed_up() const;
};

/// The forms of a change, for help and messages: {form, what it does}.
struct ChangeForm {
  std::string_view form;
  std::string_view does;
};
[[nodiscard]] const std::vector<ChangeForm>& change_forms();

/// From Time{0} to the end of the last task that is no pause.
[[nodiscard]] Duration device_span(const TaskGraph& graph, const Trace& trace);

/// The parts of "host=0.5,streams=1": a comma parts changes where a form begins behind it.
[[nodiscard]] std::vector<std::string> change_parts(const std::string& change);

/// Simulates one change of a replay, or several at once (change_parts): what changes durations and
/// the host's work first, then launches, then tasks, then streams, then a policy. `trace` is the
/// first rank's, whose annotations a change may name. `dependencies`: what policies plan with (same
/// tasks); null: the model's own graph.
/// Errors   InputError for a change that is none of the forms, names what is not there, or does not
///          go with another one;
///          InfeasibleError for one that cannot be made of this trace.
[[nodiscard]] ChangedRun simulate_change(const ReplayBase& base,
                                         const ImportedTrace& trace,
                                         const std::string& change,
                                         const StopFlag* stop = nullptr,
                                         const TaskGraph* dependencies = nullptr);

/// May a profile that names its device so be of the machine's device? Both names have the model:
/// "A100". Where either has no number in it, that is unknown, and it may.
[[nodiscard]] bool may_be_device(std::string_view profiled, std::string_view machine);

/// How many times faster a machine runs a kernel than another one: by the ratio of their peak rates
/// for matrix kernels, of their memory bandwidths for others, of their links for copies; 1 for
/// collectives. What a kernel is, its name tells: gemm, conv, cutlass, xmma, wgrad, ... and f16,
/// bf16, tf32; of a matrix kernel that does not say it fp32 is assumed.
/// Throws InfeasibleError if a machine does not have the rate.
[[nodiscard]] double machine_speed_up(std::string_view kernel,
                                      TaskKind kind,
                                      const Device& from,
                                      const Device& to);

}  // namespace schedlab
