// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: do collectives ever come together?
#pragma once

#include "sim/plan/check/plan_check_index.hpp"
#include "sim/plan/check/plan_check_report.hpp"

namespace schedlab::checker {

/// Reports collectives that wait for each other for ever, whatever the times: parts that stand in
/// unlike orders in the streams of their ranks, directly or by way of events, synchronizes and
/// messages. Nothing to do for graphs without collectives. Plans with device graphs are not looked
/// at: the simulator reports what stands still there.
///
/// It lets the hosts and streams run without time. What is done never hinders anything, so the end
/// does not depend on the order, and what stands still then stands still in every run. Units and
/// connections are not looked at: a device that is too full for both of two collectives can stop a
/// plan that passes here.
///
/// Cost O(calls + parts of collectives).
void check_collectives(const PlanIndex& index, FindingList& findings);

}  // namespace schedlab::checker
