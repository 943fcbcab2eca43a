// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/components.hpp"

#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/launch/launch.hpp"
#include "studies/spec/auto_split.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/spec/presets.hpp"
#include "workloads/models/recurrent/recurrent_entries.hpp"
#include "workloads/models/transformer/transformer_entries.hpp"
#include "workloads/registry.hpp"
#include "workloads/traces/chakra_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t max_checked = 10'000;

void expect_regular_file(const std::string& path,
                         const std::string& spec_file,
                         const JsonNode& node,
                         std::string hint) {
  if (std::filesystem::is_regular_file(path)) return;
  throw InputError({.file = spec_file,
                    .pointer = node.pointer,
                    .found = fmt::format("\"{}\", which is no file", path),
                    .expected = "the path of a file, relative to the spec",
                    .hint = std::move(hint)});
}

const WorkloadInfo& workload_info(const std::string& kind) {
  const auto& all = workloads();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const WorkloadInfo& info) { return info.name == kind; });
  SCHEDLAB_EXPECTS(found != all.end(), "workload kind " + kind);  // the schema has checked it
  return *found;
}

/// Options that name a file, relative to the spec.
constexpr std::array<const char*, 3> path_options{"path", "partition_path", "routing_path"};

/// The members that are options: neither the label nor what names the component.
void take_options(const JsonNode& node,
                  std::string_view identity,
                  std::map<std::string, OptionValue>& given) {
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& key = node.keys[i];
    if (key != "label" && key != identity) given[key] = node.items[i].scalar;
  }
}

}  // namespace

std::string_view granularity_name(Granularity granularity) {
  switch (granularity) {
    case Granularity::coarse:
      return "coarse";
    case Granularity::fine:
      return "fine";
    case Granularity::matmul:
      return "matmul";
    case Granularity::data_and_weight:
      return "data_and_weight";
    case Granularity::kernel_and_weight:
      return "kernel_and_weight";
  }
  return "fine";
}

Components::Choice Components::workload_choice(std::uint64_t workload) const {
  Choice choice{.name = std::string{preset_kind()},
                .given = {},
                .node = grid_.part_value(Part::workload, workload).value()};
  if (choice.node.kind == JsonKind::string) {
    choice.given = preset(choice.node.text()).options;
  } else if (const JsonNode* name = choice.node.find("preset")) {
    choice.given = preset(name->text()).options;
    take_options(choice.node, "preset", choice.given);
  } else {
    choice.name = choice.node.find("kind")->text();
    take_options(choice.node, "kind", choice.given);
  }
  const WorkloadInfo& info = workload_info(choice.name);
  add_seed(choice, Part::workload, workload, info.options);
  resolve_path(choice);
  return choice;
}

void Components::expect_file(const Choice& choice) const {
  for (const char* key : path_options) {
    const auto path = choice.given.find(key);
    const auto* text =
        path == choice.given.end() ? nullptr : std::get_if<std::string>(&path->second);
    if (text == nullptr) continue;
    if (choice.name == "file" && is_rank_pattern(*text)) continue;  // says itself what is missing
    const JsonNode* member = choice.node.find(key);
    expect_regular_file(*text, spec_.file, member != nullptr ? *member : choice.node, {});
  }
}

bool Components::finds_split(std::uint64_t workload) const {
  return is_auto_split(workload_choice(workload).given);
}

Options Components::workload_options(const Choice& choice) const {
  std::map<std::string, OptionValue> given = choice.given;
  // Until the number is found: whole.
  if (is_auto_split(given)) given[std::string{auto_split_option}] = std::int64_t{1};
  try {
    return resolve_options("workload " + choice.name, workload_info(choice.name).options, given);
  } catch (const InputError& error) {
    rethrow(error, choice.node);
  }
}

Components::Choice Components::named_choice(Part part, std::uint64_t index) const {
  Choice choice{.name = {}, .given = {}, .node = grid_.part_value(part, index).value()};
  if (choice.node.kind == JsonKind::string) {
    choice.name = choice.node.text();
  } else {
    choice.name = choice.node.find("name")->text();
    take_options(choice.node, "name", choice.given);
  }
  resolve_path(choice);
  return choice;
}

void Components::resolve_path(Choice& choice) const {
  for (const char* key : path_options) {
    const auto path = choice.given.find(key);
    if (path == choice.given.end()) continue;
    if (auto* text = std::get_if<std::string>(&path->second)) *text = path_of(*text);
  }
}

void Components::add_seed(Choice& choice,
                          Part part,
                          std::uint64_t index,
                          const std::vector<OptionSpec>& options) const {
  const auto seed = grid_.part_seed(part, index);
  if (!seed || choice.given.contains("seed")) return;
  for (const OptionSpec& option : options) {
    if (option.name == "seed") choice.given["seed"] = *seed;
  }
}

std::string Components::path_of(const std::string& path) const {
  const std::filesystem::path given{path};
  return given.is_absolute() ? path : (spec_.folder / given).string();
}

void Components::rethrow(const InputError& error, const JsonNode& node) const {
  InputProblem problem = error.problem();
  if (!problem.file.empty()) throw error;  // a file of its own: a graph, a machine
  problem.file = spec_.file;
  const std::string key = problem.pointer.empty() ? std::string{} : problem.pointer.substr(1);
  const JsonNode* member = node.find(key);
  problem.pointer = member != nullptr ? member->pointer : node.pointer;
  throw InputError(problem);
}

std::string Components::granularity(std::uint64_t workload, Granularity of_policy) const {
  const Choice choice = workload_choice(workload);
  const auto& options = workload_info(choice.name).options;
  const bool has_granularity = std::any_of(
      options.begin(), options.end(), [](const OptionSpec& o) { return o.name == "granularity"; });
  if (!has_granularity) return {};
  std::string word = workload_options(choice).text("granularity");
  return word == "auto" ? std::string{granularity_name(of_policy)} : word;
}

bool Components::follows_policy(std::uint64_t workload) const {
  return granularity(workload, Granularity::coarse) != granularity(workload, Granularity::fine);
}

Components::Choice Components::decided_choice(std::uint64_t workload,
                                              Granularity granularity) const {
  Choice choice = workload_choice(workload);
  if (follows_policy(workload)) {
    choice.given["granularity"] = std::string{granularity_name(granularity)};
  }
  return choice;
}

std::optional<RecurrentSpec> Components::recurrent_spec(std::uint64_t workload,
                                                        Granularity granularity) const {
  const Choice choice = decided_choice(workload, granularity);
  return schedlab::recurrent_spec(choice.name, workload_options(choice));
}

std::optional<TensorParallel::Options> Components::tensor_parallel(std::uint64_t workload) const {
  const Choice choice = workload_choice(workload);
  return tensor_parallel_options(choice.name, workload_options(choice));
}

TaskGraph Components::graph(std::uint64_t workload,
                            Granularity granularity,
                            std::int64_t slices) const {
  Choice choice = decided_choice(workload, granularity);
  if (is_auto_split(choice.given)) choice.given[std::string{auto_split_option}] = slices;
  const Options options = workload_options(choice);
  try {
    return workload_info(choice.name).make(options);
  } catch (const InputError& error) {
    rethrow(error, choice.node);
  }
}

std::shared_ptr<const MachineSpec> Components::base_machine(const std::string& name) const {
  const auto make = [&] {
    MachineSpec machine = load_machine(name);
    if (!keeps_sources_) {  // a sweep copies the rest many times; execution reads library
                            // parameters
      std::erase_if(machine.sources, [](const NumberSource& one) {
        return !one.pointer.starts_with("/device/clblast/");
      });
    }
    return machine;
  };
  return shared_->machines.get(
      {name, keeps_sources_}, make, [](const MachineSpec&) { return std::size_t{1}; });
}

MachineSpec Components::machine(std::uint64_t index) const {
  const JsonNode node = grid_.part_value(Part::machine, index).value();
  const JsonNode* named = &node;
  std::map<std::string, OptionValue> overrides;
  if (node.kind == JsonKind::object) {
    const JsonNode* base = node.find("base");
    const JsonNode* path = node.find("path");
    if ((base == nullptr) == (path == nullptr)) {
      throw InputError(
          {.file = spec_.file,
           .pointer = node.pointer,
           .found = base == nullptr ? R"(neither "base" nor "path")" : R"(both "base" and "path")",
           .expected = "one of them: the machine that is changed",
           .hint = {}});
    }
    named = base != nullptr ? base : path;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const std::string& key = node.keys[i];
      if (key != "label" && key != "base" && key != "path") {
        overrides[key] = node.items[i].scalar;
      }
    }
  }
  const std::string& name = named->text();
  const bool is_file = node.find("path") != nullptr || name.find('/') != std::string::npos ||
                       name.ends_with(".json");
  if (is_file) {
    expect_regular_file(
        path_of(name),
        spec_.file,
        *named,
        fmt::format("the machines that need no file are {}", fmt::join(machine_names(), ", ")));
  }
  try {
    MachineSpec machine = *base_machine(is_file ? path_of(name) : name);
    apply_overrides(machine, overrides);
    return machine;
  } catch (const InputError& error) {
    rethrow(error, node);
  }
}

std::unique_ptr<CostModel> Components::cost_model(std::uint64_t index) const {
  if (!grid_.part_value(Part::cost_model, index)) return nullptr;
  const Choice choice = named_choice(Part::cost_model, index);
  try {
    return make_cost_model(choice.name, choice.given);
  } catch (const InputError& error) {
    rethrow(error, choice.node);
  }
}

std::unique_ptr<CostModel> Components::cost_model(std::uint64_t index,
                                                  const MachineSpec& machine) const {
  auto given = cost_model(index);
  if (given != nullptr) return given;
  return make_cost_model(default_cost_model_of(machine.platform.devices[DeviceId{0}]));
}

std::unique_ptr<Policy> Components::policy(std::uint64_t index) const {
  Choice choice = named_choice(Part::policy, index);
  add_seed(choice, Part::policy, index, find_policy(choice.name).options);
  try {
    return make_policy(choice.name, choice.given);
  } catch (const InputError& error) {
    rethrow(error, choice.node);
  }
}

LaunchChoice Components::launch(std::uint64_t index) const {
  if (!grid_.part_value(Part::launch, index)) return {};
  const Choice choice = named_choice(Part::launch, index);
  const auto& infos = launch_infos();
  const auto info = std::find_if(
      infos.begin(), infos.end(), [&](const LaunchInfo& i) { return i.name == choice.name; });
  SCHEDLAB_EXPECTS(info != infos.end(), "launch mode " + choice.name);  // the schema has checked it
  try {
    return launch_choice(choice.name,
                         resolve_options("launch " + choice.name, info->options, choice.given));
  } catch (const InputError& error) {
    rethrow(error, choice.node);
  }
}

bool Components::legacy_default_stream(std::uint64_t index) const {
  const auto word = grid_.part_value(Part::default_stream, index);
  return word && word->text() == "legacy";  // the schema allows no third word
}

std::optional<Sampling> Components::sampling(std::uint64_t index) const {
  const auto node = grid_.part_value(Part::variability, index);
  if (!node) return std::nullopt;
  Choice choice{.name = "variability", .given = {}, .node = *node};
  take_options(choice.node, {}, choice.given);
  add_seed(choice, Part::variability, index, variability_options());
  try {
    return make_sampling(resolve_options(choice.name, variability_options(), choice.given));
  } catch (const InputError& error) {
    rethrow(error, choice.node);
  }
}

RanksChoice Components::ranks(std::uint64_t index) const {
  const auto node = grid_.part_value(Part::ranks, index);
  std::map<std::string, OptionValue> given;
  if (!node) {
    given["count"] = std::int64_t{1};
  } else if (node->kind == JsonKind::object) {
    take_options(*node, {}, given);
  } else {
    given["count"] = node->scalar;
  }
  try {
    return ranks_choice(resolve_options("ranks", ranks_options(), given));
  } catch (const InputError& error) {
    rethrow(error, *node);
  }
}

std::string Components::policy_name(std::uint64_t index) const {
  return named_choice(Part::policy, index).name;
}

void Components::check_all() const {
  const auto each = [&](Part part, const auto& check) {
    const std::uint64_t count = std::min(grid_.part_count(part), max_checked);
    for (std::uint64_t i = 0; i < count; ++i) check(i);
  };
  each(Part::workload, [&](std::uint64_t i) {
    const Choice choice = workload_choice(i);
    static_cast<void>(workload_options(choice));
    expect_file(choice);
  });
  each(Part::machine, [&](std::uint64_t i) { static_cast<void>(machine(i)); });
  each(Part::cost_model, [&](std::uint64_t i) { static_cast<void>(cost_model(i)); });
  each(Part::policy, [&](std::uint64_t i) {
    static_cast<void>(policy(i));
    expect_file(named_choice(Part::policy, i));
  });
  each(Part::ranks, [&](std::uint64_t i) { static_cast<void>(ranks(i)); });
  each(Part::launch, [&](std::uint64_t i) { static_cast<void>(launch(i)); });
  each(Part::variability, [&](std::uint64_t i) { static_cast<void>(sampling(i)); });
}

}  // namespace schedlab
