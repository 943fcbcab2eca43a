// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/options.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// Core groups of the SW26010-Pro, each of which runs one operator at a time.
inline constexpr std::uint32_t default_core_groups = 6;

/// The operators that may start, as the threads of the core groups see them.
class ReadyOperators {
 public:
  virtual ~ReadyOperators() = default;
  ReadyOperators() = default;
  ReadyOperators(const ReadyOperators&) = delete;
  ReadyOperators& operator=(const ReadyOperators&) = delete;

  /// All predecessors of `task` have ended, the last one on `group` (none(): it has none).
  virtual void arrive(TaskId task, StreamId group) = 0;
  /// What an idle `group` runs next, having run `last` (none() at first); none(): it stays idle.
  /// What is returned is taken.
  [[nodiscard]] virtual TaskId take(StreamId group, TaskId last) = 0;
};

/// When it is decided which core group runs which operator.
enum class Dispatch : std::uint8_t {
  static_,  ///< before the run, by estimated durations: a plan
  dynamic,  ///< while the run goes on, by the threads of the core groups
};

template <>
struct EnumNames<Dispatch> {
  static constexpr auto names = name_list("static", "dynamic");
};

/// How operators are handed to core groups.
struct CoreGroupOptions {
  std::uint32_t max_streams = default_core_groups;
  /// What choosing an operator takes. The groups' threads choose from one pool, one thread at a
  /// time, and only once their group is idle. 0: not counted, and groups do not wait for threads.
  Duration scheduling{0};
  Dispatch dispatch = Dispatch::static_;

  [[nodiscard]] static CoreGroupOptions from(const Options& options);
};

/// Plays the graph on core groups, a stream each ("core group 0", ...): whenever operators have
/// ended, those that became available arrive by rising id, then idle groups take by rising number.
/// A group that has taken an operator waits until no other group adds into its tensors.
///
/// Static: played in estimated time. With a scheduling cost the plan's host thread waits until the
/// group is idle, sleeps for that long and launches, as the run decides; it stands for all threads,
/// of which one chooses at a time. Dynamic: the same decisions as the run goes (CoreGroupRun).
/// Cost O((tasks + edges) log tasks) and what ReadyOperators take.
/// Errors   InfeasibleError if one choice takes longer than a call can sleep (4 s).
class CoreGroupPolicy : public Policy {
 public:
  explicit CoreGroupPolicy(const CoreGroupOptions& options) : options_(options) {}
  [[nodiscard]] std::unique_ptr<OnlinePolicy> online(const Problem& problem) const final;
  [[nodiscard]] Plan plan(const Problem& problem) const final;

 protected:
  [[nodiscard]] virtual std::unique_ptr<ReadyOperators> ready_operators(
      const TaskGraph& graph, std::uint32_t groups) const = 0;

 private:
  CoreGroupOptions options_;
};

/// The knobs of policies for core groups: as many streams as core groups, at least 1, the
/// scheduling cost, and when is decided.
[[nodiscard]] std::vector<OptionSpec> core_group_options();

/// "core group 3": what a stream is called that stands for one.
[[nodiscard]] std::string core_group_name(std::uint32_t group);

}  // namespace schedlab
