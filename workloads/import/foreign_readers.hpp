// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/import/graph_draft.hpp"

#include <string_view>

namespace schedlab::detail {

// One format each. `text` is known to be a JSON object of that format, as far as its keys tell.
// Throws InputError for what is no JSON.
void read_execution_trace(std::string_view text, GraphDraft& draft);
void read_chakra_graph(std::string_view text, GraphDraft& draft);
void read_wfformat(std::string_view text, GraphDraft& draft);

}  // namespace schedlab::detail
