// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <span>

namespace schedlab {

/// A launch, record or wait that the worker of a stream makes for itself.
struct DispatchedCall {
  HostCall call;
  Time at{};  ///< when it takes effect in virtual time; a real run makes it at once
};

/// Workers that take tasks while the run goes on: each stream is a worker, which asks for more when
/// it has ended all it had. No host thread makes calls, so that nothing is spent on them. The same
/// object runs in virtual time and on the CPU's worker threads, who call it under one lock.
class DispatchingPolicy : public OnlinePolicy {
 public:
  /// The streams of `ended`, by rising id, have nothing left, at `now`; none of them at the start.
  /// Returns what workers take now, of idle streams only; valid until the next call.
  [[nodiscard]] virtual std::span<const DispatchedCall> dispatch(std::span<const StreamId> ended,
                                                                 Time now) = 0;
  /// What was taken, in that order, as a plan that can be checked and run again; where launches,
  /// events and gaps cost nothing it gives the same trace. After a complete run only.
  [[nodiscard]] virtual Plan decided() const = 0;
  /// Throws InfeasibleError: whoever asks is a host thread, and this policy has none.
  [[nodiscard]] std::optional<OnlineStep> next(const HostView& view) final;
};

}  // namespace schedlab
