// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"

#include <cstddef>
#include <span>

namespace schedlab {

/// An online policy that can tell in advance what it does without asking, and how it passes the
/// time while all streams are busy, so that it need not be asked call by call. What it decides is
/// the same, whether it is asked for these or not.
class PollingPolicy : public OnlinePolicy {
 public:
  /// Launches, records and waits that next() would return one after another, the first of them now,
  /// whatever happens meanwhile; maybe not all of them. Empty: ask polls() or next(). Valid until
  /// the next call of a member. `view` is what next() would be given.
  [[nodiscard]] virtual std::span<const HostCall> decided(const HostView& view) = 0;
  /// The first `count` of the last decided() have been made.
  virtual void made(std::size_t count) = 0;

  /// Queries, answered "busy", and sleeps that next() would return one after another, the first of
  /// them now, as long as every query finds its stream busy; of streams that exist. Empty: ask
  /// next(). Valid until the next call of a member. `view` is what next() would be given.
  [[nodiscard]] virtual std::span<const HostCall> polls(const HostView& view) = 0;
  /// The first `count` of the last polls() have been made, `count` > 0. All queries but the last
  /// were answered "busy"; the answer of the last call, if it was a query, is in the view of the
  /// next call of a member.
  virtual void polled(std::size_t count) = 0;
};

}  // namespace schedlab
