// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"

#include <string_view>

namespace schedlab {

/// The name of calls that stand for a host that reads memory until a kernel has written it.
inline constexpr std::string_view memory_wait_name = "wait for memory that a kernel writes";

/// Adds a call (`memory_wait_name`, CallKind::synchronize_event, without correlation) wherever no
/// thread makes a call for 1 ms or more, while what was launched last runs, and the next call comes
/// within `unexplained_wait` of its end: nothing that profilers record says that a host polls
/// memory, as libraries for experts do for the number of tokens that a kernel counts. Such a wait
/// is HostStepKind::wait_outside, and no work of the host. The trace is in order before and after.
void add_memory_waits(ImportedTrace& trace);

}  // namespace schedlab
