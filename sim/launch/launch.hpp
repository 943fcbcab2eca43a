// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/options.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How the host brings tasks to the device (docs/launch_modes.md).
enum class LaunchMode : std::uint8_t {
  eager,             ///< operator by operator, one thread does everything
  eager_two_thread,  ///< operator by operator; a thread prepares, another one launches
  graph_mode,        ///< operator by operator of a compiled graph: allocation and launch are left
  graph_launch,      ///< the eager plan captured into device graphs that one call launches
  sink,              ///< the whole model on the device's streams, run by one task
};

/// Does the mode turn the policy's plan into device graphs?
[[nodiscard]] constexpr bool captures(LaunchMode mode) {
  return mode == LaunchMode::graph_launch || mode == LaunchMode::sink;
}

/// What changes between two runs of a sunk model, and what of it the host must do again.
struct SinkRun {
  std::optional<std::int64_t> io_tensors;  ///< inputs and outputs; nullopt: counted in the graph
  std::int64_t changed_operators = 0;      ///< operators with an input or output that has moved
  bool feature_map_changed = false;        ///< intermediate results have moved: all operators
  std::int64_t copied_inputs = 0;          ///< inputs that are not zero-copy ...
  Bytes copied{0};                         ///< ... and their bytes in all
  /// Operations that cannot be sunk (a shape that depends on values, an operator of the host):
  /// their tasks are launched eagerly, between sunk parts of the model.
  std::vector<std::string> host_operators{};
  Duration compile{0};  ///< of a model, or of each sunk part, whenever it is loaded
};

/// Which kernels may start while the one before them in their stream drains.
enum class ProgrammaticLaunches : std::uint8_t {
  none,
  own_kernels,  ///< not a library's products and convolutions, which neither trigger nor wait
  all_kernels,  ///< those, too
};
template <>
struct EnumNames<ProgrammaticLaunches> {
  static constexpr auto names = name_list("none", "own_kernels", "all_kernels");
};

/// The scenario key "launch".
struct LaunchChoice {
  LaunchMode mode = LaunchMode::eager;
  ProgrammaticLaunches programmatic = ProgrammaticLaunches::none;
  /// Units of each device that the streams of its most urgent priority have to themselves, and the
  /// others do without; 0: all share all.
  std::uint32_t urgent_units = 0;
  std::uint32_t runs = 1;          ///< one after another, the host waits for each
  bool load = false;               ///< device graphs and sunk models: loaded before the first run
  std::uint32_t max_nodes = 0;     ///< graph_launch: of a device graph; 0: no limit
  std::uint32_t reload_every = 0;  ///< likewise: a new shape after so many runs; 0: never
  /// eager_two_thread: the second thread also infers shapes, tiles and allocates.
  bool second_thread_prepares = false;
  /// graph_mode: shapes are known only while the graph runs, so that they are inferred and kernels
  /// are tiled then.
  bool dynamic_shapes = false;
  SinkRun sink{};

  /// Is the plan that runs another one than a policy makes for one eager run?
  [[nodiscard]] bool changes_plan() const {
    return captures(mode) || runs > 1 || programmatic != ProgrammaticLaunches::none ||
           urgent_units != 0;
  }
};

/// A launch mode with the options that its object form may have.
struct LaunchInfo {
  std::string name;
  std::string summary;  ///< one sentence
  std::vector<OptionSpec> options;
};
/// In the order of LaunchMode.
[[nodiscard]] const std::vector<LaunchInfo>& launch_infos();
/// The mode with its options. ContractViolation for an unknown word: the schema has refused it.
[[nodiscard]] LaunchChoice launch_choice(std::string_view mode, const Options& options);

/// What the mode changes about the host; nothing for eager and graph_launch. Stages that the second
/// of two threads does become part of its launches. Costs of a sunk model depend on the model:
/// apply_sink().
/// Throws InfeasibleError for programmatic launches on a machine without programmatic_gap_us, and
/// for urgent_units that it cannot set aside.
void apply_launch_mode(const LaunchChoice& choice, Platform& platform);

/// Inputs and outputs of the graph: tensors that live before or after the run, without writers
/// or without readers.
[[nodiscard]] std::int64_t io_tensor_count(const TaskGraph& graph);

/// Puts what loading and running `graph` as a sunk model costs into the platform's graph costs:
///   graph_load   = sink_load + compile + sink_load_task * device tasks (of a part: its nodes)
///   graph_launch = tensors * sink_tensor + operators * sink_address + copies * sink_copy
///                  + sink_issue (the host's part of the head overhead)
/// Each part of a model that is sunk in parts pays the head by itself (assumed; io_tensors is then
/// of a part). The tasks of the model follow each other by sink_task_gap.
void apply_sink(const SinkRun& run, const TaskGraph& graph, Platform& platform);

/// Tasks that copy inputs before each run of a sunk model, on each rank: copied_inputs, and one
/// where there are bytes to copy but no number of inputs. with_sunk_copies() adds them to a graph.
[[nodiscard]] std::uint32_t sunk_copies(const SinkRun& run);

/// The eager plan as the mode launches it: captured, loaded where the choice says so, repeated.
/// `tasks`: of one run of the eager plan; run r has the tasks from r * n on (RepeatRuns), where n
/// are `tasks` and those that copy the inputs of a sunk model, which run before it in its graph, on
/// a stream of their own.
/// `graph`: the tasks of the eager plan; needed with host_operators, which names them, and with
/// programmatic launches.
/// Throws InfeasibleError for plans that cannot be captured or repeated, and with sink for plans
/// that wait for the device before their end: a sunk model is one graph, unless operators stay on
/// the host, which excludes copied inputs.
[[nodiscard]] Plan launched_plan(Plan eager,
                                 const LaunchChoice& choice,
                                 std::size_t tasks,
                                 const TaskGraph* graph = nullptr);

/// What the default stream of a program is, for specs: "per_thread" (all streams are independent)
/// or "legacy" (see use_legacy_default_stream()).
[[nodiscard]] const std::vector<std::string>& default_stream_names();

}  // namespace schedlab
