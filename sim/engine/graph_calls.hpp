// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

#include <fmt/format.h>

/// \file
/// Members of EventEngine: loading and launching of graphs.
namespace schedlab::engine {

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::graph_call(std::uint32_t index) {
  throw InfeasibleError(fmt::format("this engine does not run {} calls yet; use eager launches",
                                    to_string(scratch_.hosts[index].call.kind())));
}

}  // namespace schedlab::engine
