// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/reconstruct.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace schedlab {

/// What the host did between the calls of a trace, and what it can be expected to do: the time of
/// its own that each step of the host takes. Of a launch that is up to the return of its call; of a
/// call that holds the host up to its begin, as the rest is waiting.
class HostModel {
 public:
  HostModel(const ImportedTrace& trace, const ReconstructedTrace& order);

  /// As recorded. `step`: in ReconstructedTrace::host.
  [[nodiscard]] Duration recorded(std::size_t step) const { return recorded_[step]; }

  /// Learns from the steps whose calls returned before `until`.
  void learn(Time until);
  /// Mean over the learned steps of the same sort behind a step of the same sort; where there are
  /// none over those of the same sort, of the same kind of call, over all. The sort of a launch is
  /// the name of its call and of its activity.
  [[nodiscard]] Duration expected(std::size_t step) const;
  /// Steps that were learned from.
  [[nodiscard]] std::size_t learned() const { return learned_; }

  /// Does the host, once it made this step's call, wait for the step's item?
  [[nodiscard]] bool waits(std::size_t step) const;

 private:
  using Sort = std::uint32_t;
  using Key = std::tuple<int, Sort, Sort>;  // level, sort before, sort
  [[nodiscard]] Key key(int level, std::size_t step) const;

  const ImportedTrace& trace_;
  const ReconstructedTrace& order_;
  std::vector<Duration> recorded_;
  std::vector<Sort> sorts_;
  std::map<Key, Duration> expected_;
  std::size_t learned_ = 0;
};

/// Where a trace is divided into a part to learn from and one to predict: the begin of the middle
/// one of its iterations (`ProfilerStep` annotations, or launches whose sequence of names repeats),
/// else of the launch in the middle.
struct ReplaySplit {
  Time when{};
  std::uint32_t iterations = 0;  ///< 0: the trace shows no repetition
  bool annotated = false;        ///< the trace names its iterations
};
/// Throws InputError if the trace has fewer than two launches.
[[nodiscard]] ReplaySplit find_split(const ImportedTrace& trace, const ReconstructedTrace& order);

}  // namespace schedlab
