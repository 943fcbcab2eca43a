// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"

#include <cstdint>

namespace schedlab {

/// The same host calls on fewer streams: on each device the i-th stream becomes stream i modulo
/// `count`. A merged stream has the most urgent priority among those it is made of, and exists from
/// the start; creating and destroying streams is dropped, and so are waits for what is now in the
/// same stream and records that nothing refers to. Other calls keep their order, so that what a
/// wait refers to has always been submitted before: the plan can get slower on the device, not
/// wrong.
///
/// Throws InfeasibleError for a plan of several hosts (calls of one stream would have no order),
/// with device graphs or with a legacy default stream, ContractViolation for a count of 0.
/// Cost O(calls).
[[nodiscard]] Plan merge_streams(const Plan& plan, std::uint32_t count);

/// The same host calls with those of stream `from` in stream `into` of the same device. Throws as
/// merge_streams(), and ContractViolation for streams that are one or of two devices.
[[nodiscard]] Plan join_streams(const Plan& plan, StreamId from, StreamId into);

/// The most streams of any device that tasks are launched on, one by one or as nodes of graphs.
[[nodiscard]] std::uint32_t streams_in_use(const Plan& plan);

}  // namespace schedlab
