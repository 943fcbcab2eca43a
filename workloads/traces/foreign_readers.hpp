// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/graph_draft.hpp"
#include "workloads/traces/traced_operators.hpp"

#include <string>
#include <string_view>

namespace schedlab::detail {

// One format each. `text` is known to be a JSON object of that format, as far as its keys tell.
// Throws InputError for what is no JSON.
/// `profile`: of the same run, if there is one.
void read_execution_trace(std::string_view text,
                          GraphDraft& draft,
                          OperatorProfile* profile = nullptr);
void read_chakra_graph(std::string_view text, GraphDraft& draft);
void read_wfformat(std::string_view text, GraphDraft& draft);
/// One rank; no JSON. Throws InputError for what is cut off.
void read_chakra_binary(std::string_view text,
                        const std::string& file,
                        GraphDraft& draft,
                        Diagnostics& problems);

}  // namespace schedlab::detail
