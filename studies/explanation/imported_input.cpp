// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/imported_input.hpp"

#include "sim/base/error.hpp"
#include "studies/explanation/input_content.hpp"
#include "studies/sweep/trace_input.hpp"
#include "workloads/formats/graph_file.hpp"
#include "workloads/traces/kineto.hpp"
#include "workloads/traces/own_trace.hpp"

#include <filesystem>
#include <utility>

namespace schedlab {
namespace {

void load_graph(const std::vector<std::string>& files, InputContent content, ImportedInput& input) {
  input.graph_file = files.front();
  if (content == InputContent::graph_file) {
    input.graph.graph = read_graph_file(files.front());
  } else if (files.size() == 1) {
    input.graph = read_foreign_graph(std::filesystem::path{files.front()});
  } else {
    ChakraRanks ranks = read_chakra_ranks(in_order_of_ranks({files.begin(), files.end()}));
    input.graph = std::move(ranks.joined);
    input.plan = std::move(ranks.plan);
    input.graph_files = std::move(ranks.files);
    input.graph_file = input.graph_files.front();
  }
}

/// Profiles, or binary Chakra traces, of several ranks.
InputContent expect_ranks(const std::vector<std::string>& files) {
  const InputContent first = input_content(files.front());
  for (const std::string& file : files) {
    const InputContent content = input_content(file);
    if (content == first &&
        (content == InputContent::profile || content == InputContent::chakra_binary)) {
      continue;
    }
    throw InputError(
        {.file = file,
         .pointer = {},
         .found = "no profile, and no binary Chakra trace like the others",
         .expected = "profiles, or binary Chakra traces, of the ranks of one run where there are "
                     "several files",
         .hint = "import it alone"});
  }
  return first;
}

}  // namespace

ImportedInput load_imported_input(const std::vector<std::string>& files) {
  ImportedInput input;
  const InputContent content =
      files.size() == 1 ? input_content(files.front()) : expect_ranks(files);
  switch (content) {
    case InputContent::profile:
      if (files.size() == 1) {
        input.ranks.push_back(read_kineto(files.front()));
      } else {
        input.ranks = read_kineto_ranks({files.begin(), files.end()});
      }
      break;
    case InputContent::own_trace:
      input.ranks.push_back(imported_from(load_trace(files.front()), files.front()));
      break;
    case InputContent::unknown:
      throw InputError({.file = files.front(),
                        .pointer = {},
                        .found = "nothing that is known",
                        .expected = "a profile of PyTorch, a trace.json, an execution trace, a "
                                    "Chakra or WfFormat graph, DOT, STG, or a graph of ours",
                        .hint = "is it whole, and the right file?"});
    default:
      load_graph(files, content, input);
  }
  return input;
}

void join_with(const std::string& execution_trace, ImportedInput& input) {
  if (input.ranks.size() != 1) {
    throw InputError({.file = "--execution-trace",
                      .pointer = {},
                      .found = input.ranks.empty() ? "a graph to join it with" : "several profiles",
                      .expected = "one profile, of the run that the execution trace is of",
                      .hint = "import one rank at a time"});
  }
  TimedExecutionTrace timed =
      join_execution_trace(std::filesystem::path{execution_trace}, input.ranks.front());
  input.execution_trace = execution_trace;
  input.graph = std::move(timed.foreign);
  input.joined = timed.counts;
}

}  // namespace schedlab
