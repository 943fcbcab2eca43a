// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/cost_export.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/sweep/field_table.hpp"
#include "studies/explanation/explained_run.hpp"
#include "studies/explanation/input_content.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "workloads/traces/kineto.hpp"
#include "workloads/traces/launch_index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace schedlab {
namespace {

std::string shape_of(const Kernel& kernel) {
  const AttentionShape& a = kernel.attention;
  if (a.heads > 0) {
    return fmt::format(
        "{}x{}x{}x{}x{}x{}", a.sequences, a.queries, a.keys, a.heads, a.kv_heads, a.head);
  }
  if (kernel.kind == TaskKind::gemm) return fmt::format("{}x{}x{}", kernel.m, kernel.n, kernel.k);
  return fmt::format("{} B", (kernel.bytes_read + kernel.bytes_written).count());
}

/// What all kernels say, each once.
template <class Say>
std::string said_of(const Operation& operation, const Say& say) {
  std::vector<std::string> words;
  for (const Kernel& kernel : operation.kernels) {
    std::string word{say(kernel)};
    if (words.empty() || words.back() != word) words.push_back(std::move(word));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::optional<CostEvidence> evidence_of(const Operation& operation, const Device& device) {
  if (operation.kernels.empty()) return std::nullopt;
  CostEvidence least = CostEvidence::measured;
  for (const Kernel& kernel : operation.kernels) {
    least = std::min(least, cost_evidence(kernel, device));
  }
  return least;
}

Duration median_of(std::vector<Duration>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Costs of calls by what is called: name, shape, type.
using Calls = std::map<std::tuple<std::string, std::string, std::string>, std::vector<Duration>>;

void add_rows(Calls& calls, const char* kind, std::vector<OperationCost>& rows) {
  for (auto& [key, times] : calls) {
    const auto& [name, shape, type] = key;
    rows.push_back({.operation = name,
                    .kind = kind,
                    .shape = shape,
                    .type = type,
                    .count = static_cast<std::uint32_t>(times.size()),
                    .cost = median_of(times),
                    .evidence = CostEvidence::measured});
  }
}

const Fields<OperationCost>& cost_fields() {
  using C = OperationCost;
  static const Fields<C> fields{{"operation", &C::operation},
                                {"kind", &C::kind},
                                {"shape", &C::shape},
                                {"type", &C::type},
                                {"count", &C::count},
                                {"cost_us", &C::cost},
                                {"cost_evidence", &C::evidence}};
  return fields;
}

/// A spec is JSON that does not say what it is, as profiles are.
bool is_spec(const std::filesystem::path& file) {
  constexpr std::uintmax_t largest = 1 << 20;
  if (std::filesystem::file_size(file) > largest) return false;
  return is_spec_text(read_file(file));
}

std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result;
}

}  // namespace

std::vector<OperationCost> operation_costs(const Problem& problem) {
  std::vector<OperationCost> rows;
  std::map<std::tuple<std::string, std::string, std::string, Duration>, std::size_t> places;
  for (const TaskId task : problem.graph.tasks()) {
    const Operation& operation = problem.graph.operation(task);
    if (operation.kind == TaskKind::host) continue;
    const std::string shape = said_of(operation, [](const Kernel& k) { return shape_of(k); });
    const std::string type = said_of(operation, [](const Kernel& k) { return to_string(k.type); });
    const Duration cost = problem.costs.duration(task);
    const auto [place, added] =
        places.try_emplace({operation.name, shape, type, cost}, rows.size());
    if (added) {
      rows.push_back({.operation = operation.name,
                      .kind = std::string{to_string(operation.kind)},
                      .shape = shape,
                      .type = type,
                      .count = 0,
                      .cost = cost,
                      .evidence = evidence_of(operation, problem.platform.devices[DeviceId{0}])});
    }
    ++rows[place->second].count;
  }
  return rows;
}

std::vector<OperationCost> operation_costs(const ImportedTrace& trace) {
  std::unordered_map<std::int64_t, std::uint32_t> operators;  // by external id
  for (std::uint32_t i = 0; i < trace.operators.size(); ++i) {
    const OperatorRow& row = trace.operators[i];
    if (row.kind == OperatorKind::cpu_operator && row.external_id >= 0) {
      operators.emplace(row.external_id, i);
    }
  }
  const LaunchIndex index(trace.calls);
  std::unordered_map<std::uint32_t, Duration> spent;  // by operator
  Calls kernels;
  for (const DeviceRow& row : trace.device_rows) {
    if (row.assumed) continue;
    std::int64_t external = row.external_id;
    if (const auto call = index.find(row.correlation); external < 0 && call) {
      external = trace.calls[*call].external_id;
    }
    const auto found = operators.find(external);
    if (found != operators.end()) {
      spent[found->second] += row.ended - row.started;
      continue;
    }
    const auto& grid = row.grid;
    kernels[{std::string{trace.texts[row.name]},
             grid[0] == 0 ? std::string{} : fmt::format("{}x{}x{}", grid[0], grid[1], grid[2]),
             ""}]
        .push_back(row.ended - row.started);
  }
  Calls calls;
  for (const auto& [which, time] : spent) {
    const OperatorRow& row = trace.operators[which];
    calls[{std::string{trace.texts[row.name]},
           std::string{trace.texts[row.shapes]},
           std::string{trace.texts[row.types]}}]
        .push_back(time);
  }
  std::vector<OperationCost> rows;
  add_rows(calls, "operator", rows);
  add_rows(kernels, "kernel", rows);
  return rows;
}

std::vector<OperationCost> load_operation_costs(const std::filesystem::path& input,
                                                const StopFlag* stop) {
  if (std::filesystem::is_directory(input)) {
    return operation_costs(load_explained_run(input).problem());
  }
  if (!is_spec(input) && input_content(input.string()) == InputContent::profile) {
    return operation_costs(read_kineto(input));
  }
  const Spec spec = load_spec(input.string());
  const Grid grid(spec);
  if (grid.size() != 1) {
    throw InputError({.file = spec.file,
                      .pointer = {},
                      .found = fmt::format("{} scenarios", grid.size()),
                      .expected = "a spec of one scenario, a run or a profile",
                      .hint = "costs are those of one machine and cost model"});
  }
  ScenarioSpace space(spec, grid);
  return operation_costs(space.scenario(0, {}, stop).problem->problem());
}

Table costs_table(const std::vector<OperationCost>& costs) {
  return table_of(cost_fields(), costs);
}

std::string xla_costs(const std::vector<OperationCost>& costs) {
  struct Mean {
    double us = 0;
    double count = 0;
    CostEvidence least = CostEvidence::measured;
    bool given = false;
  };
  std::map<std::string, Mean> names;
  for (const OperationCost& cost : costs) {
    Mean& mean = names[cost.operation];
    mean.us += to_us(cost.cost) * cost.count;
    mean.count += cost.count;
    mean.given = mean.given || !cost.evidence;
    mean.least = std::min(mean.least, cost.evidence.value_or(CostEvidence::measured));
  }
  std::string text = "# schedlab: ProfiledInstructionsProto; evidence of each cost behind it\n";
  for (const auto& [name, mean] : names) {
    text += fmt::format("costs {{ name: \"{}\" cost_us: {:.9g} }}  # {}\n",
                        quoted(name),
                        mean.us / mean.count,
                        mean.given ? "given" : to_string(mean.least));
  }
  return text;
}

}  // namespace schedlab
