// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

namespace schedlab::test {

/// What a plan of one host thread means, written down as a definition and not as a procedure: the
/// end of every host call and the start of every task is a maximum over what comes before it in the
/// host's program, in its stream, in its connection and in the events it waits for, evaluated by
/// recursion with a memory. It shares no code with the engines (only the types of their answers).
///
/// Valid for unlimited units; on limited units it is a lower bound of every start as long as the
/// host never looks at the devices. Tasks and host calls are filled in, flows are not.
/// Cost  quadratic in the calls, and as deep a recursion: for plans of up to some thousand calls.
[[nodiscard]] Trace trace_by_definition(const Problem& problem, const Plan& plan);

}  // namespace schedlab::test
