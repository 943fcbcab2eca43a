// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/stg.hpp"

#include "sim/base/error.hpp"
#include "workloads/formats/graph_totals.hpp"
#include "workloads/formats/text_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t heaviest = detail::GraphTotals::longest_duration / 1'000'000;  // us
constexpr std::int64_t heaviest_total = 1'000'000'000'000;  // us, of all tasks; 11 days

void read_task(detail::TextScanner& scan,
               std::int64_t id,
               std::int64_t count,
               OperationId operation,
               TaskGraphBuilder& builder,
               std::int64_t& total,
               std::int64_t& highest) {
  const std::int64_t given = scan.integer(0, count - 1, "task id");
  if (given != id) {
    scan.refuse(fmt::format("task {}", given), fmt::format("task {}: ids count from 0", id));
  }
  const std::int64_t weight = scan.integer(0, heaviest, "weight");
  total += weight;
  if (total > heaviest_total) {
    scan.refuse(fmt::format("a total weight of {}", total),
                fmt::format("at most {}", heaviest_total));
  }
  const TaskId task = builder.add_task(operation);
  builder.set_duration(task, Duration{weight * 1'000'000});
  const std::int64_t predecessors = scan.integer(0, count - 1, "number of predecessors");
  for (std::int64_t i = 0; i < predecessors; ++i) {
    const std::int64_t before = scan.integer(0, count - 1, "predecessor");
    highest = std::max(highest, before);
    builder.add_edge(TaskId{static_cast<std::uint32_t>(before)}, task);
  }
  if (!scan.at_line_end() && scan.peek() != '#') {
    scan.refuse(fmt::format("more than the {} predecessors announced", predecessors),
                "the end of the line",
                "files with communication costs are not read: make a task of each transfer");
  }
  if (scan.peek() == '#') (void)scan.rest_of_line();
  scan.next_line();
}

}  // namespace

TaskGraph read_stg(std::string_view text, const std::string& file) {
  detail::TextScanner scan{text, file};
  scan.skip_empty_lines();
  // Each task needs a line of at least 6 characters, so a larger count cannot be true.
  const auto most = static_cast<std::int64_t>(scan.remaining());
  const std::int64_t count = scan.integer(0, most, "number of tasks") + 2;
  scan.next_line();

  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task", .kernels = {}});
  std::int64_t total = 0;
  std::int64_t highest = 0;
  for (std::int64_t id = 0; id < count; ++id) {
    scan.skip_empty_lines();
    if (scan.at_end() || scan.peek() == '#') {
      // The files of the set's application programs count the entry and the exit.
      if (id == count - 2 && highest < id) break;
      scan.refuse(
          fmt::format("the end of the tasks after {}", id),
          fmt::format("{} tasks: the {} announced, an entry and an exit", count, count - 2));
    }
    read_task(scan, id, count, operation, builder, total, highest);
  }
  scan.skip_empty_lines();
  if (!scan.at_end() && scan.peek() != '#') {
    scan.refuse(fmt::format("more than {} tasks", count), "comments (#) or the end of the file");
  }
  try {
    return std::move(builder).build();
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    problem.file = file;
    throw InputError(problem);
  }
}

}  // namespace schedlab
