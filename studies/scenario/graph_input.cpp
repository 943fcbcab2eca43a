// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/graph_input.hpp"

#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "studies/scenario/components.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "workloads/formats/graph_file.hpp"
#include "workloads/traces/foreign_graph.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t looked_at = 4096;  // bytes in which a graph says that it is one

constexpr std::string_view says_what = "\"schedlab\"";

/// JSON that does not say it is something else is a spec.
bool is_spec(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return false;
  const std::string_view head = text.substr(0, looked_at);
  const std::size_t key = head.find(says_what);
  if (key == std::string_view::npos) return true;
  const std::size_t value = head.find_first_not_of(" \t\r\n:", key + says_what.size());
  return value != std::string_view::npos && head.substr(value).starts_with("\"spec\"");
}

/// Of a spec that leaves their number open; what is fastest depends on machine and policy.
std::int64_t slices_of(const Spec& spec, const Grid& grid, const Components& components) {
  if (!components.finds_split(0)) return 1;
  if (grid.size() != 1) {
    throw InputError({.file = spec.file,
                      .pointer = "/workload/split",
                      .found = R"("auto")",
                      .expected = "a number of slices",
                      .hint = "to have it found, give each list of the spec one value"});
  }
  return ScenarioSpace(spec, grid).found_split(0)->chosen;
}

GraphInput from_spec(const std::string& path, const std::string& machine) {
  const Spec spec = load_spec(path);
  const Grid grid(spec);
  const Components components(spec, grid);
  if (grid.part_count(Part::workload) != 1) {
    throw InputError({.file = path,
                      .pointer = "/workload",
                      .found = fmt::format("{} workloads", grid.part_count(Part::workload)),
                      .expected = "one",
                      .hint = "give each list of the workload one value"});
  }
  // The policy matters only for a workload that leaves its granularity to it.
  const Granularity granularity =
      grid.part_count(Part::policy) == 1 ? components.policy(0)->granularity() : Granularity::fine;
  GraphInput input;
  input.title = spec.name;
  input.graph = components.graph(0, granularity, slices_of(spec, grid, components));
  MachineSpec asked = load_machine(machine);  // a misspelt one is refused also where it is not used
  const bool own = grid.part_count(Part::machine) == 1;
  input.machine = own ? components.machine(0) : std::move(asked);
  input.costs =
      CostTable(input.graph, input.machine.platform, *components.cost_model(0, input.machine));
  return input;
}

}  // namespace

GraphInput load_graph_input(const std::string& path, const std::string& machine) {
  const std::string text = read_file_or_gzip(path);
  if (is_spec(text) && foreign_format(text, path) == ForeignFormat::none) {
    return from_spec(path, machine);
  }
  GraphInput input;
  input.title = std::filesystem::path{path}.filename().string();
  input.graph = read_graph_file(path);
  input.machine = load_machine(machine);
  input.costs = CostTable(
      input.graph,
      input.machine.platform,
      *make_cost_model(default_cost_model_of(input.machine.platform.devices[DeviceId{0}])));
  return input;
}

}  // namespace schedlab
