// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/csv.hpp"
#include "sim/base/fields.hpp"
#include "sim/sweep/field_table.hpp"
#include "studies/parallel/parallel_plan.hpp"
#include "workloads/pipeline/layer_workloads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <variant>

namespace schedlab {
namespace {

using Json = schema::Json;
namespace fs = std::filesystem;

Json json_of_option(const OptionValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

bool is_machine_path(const std::string& name) {
  return name.ends_with(".json") || name.find('/') != std::string::npos;
}

Json machine_of(const ParallelSpec& spec, const fs::path& folder) {
  Json machine = Json::parse(spec.machine);
  const auto move = [&](Json& name) {
    const auto text = name.get<std::string>();
    if (is_machine_path(text)) name = detail::moved_path(spec, text, folder);
  };
  if (machine.is_string()) move(machine);
  for (const char* key : {"base", "path"}) {
    if (machine.is_object() && machine.contains(key) && machine[key].is_string()) {
      move(machine[key]);
    }
  }
  return machine;
}

bool has_option(const ParallelSpec& spec, std::string_view name) {
  for (const LayerWorkload& workload : layer_workloads()) {
    if (workload.name != spec.model) continue;
    return std::any_of(workload.options.begin(), workload.options.end(), [&](const OptionSpec& o) {
      return o.name == name;
    });
  }
  return false;
}

using Row = PartOf<ParallelPlan, ParallelRow>;

const Fields<Row>& row_fields() {
  using C = ParallelChoice;
  using R = ParallelRow;
  static const Fields<Row> fields{
      inlined<Row>([](const Row& row) -> const C& { return row.part.choice; },
                   {{"devices", [](const C& c) { return c.devices(); }},
                    {"replicas", &C::replicas},
                    {"stages", &C::stages},
                    {"virtual_stages", &C::virtual_stages},
                    {"tensor_parallel", &C::tensor_parallel},
                    {"expert_parallel", &C::expert_parallel},
                    {"microbatches", &C::microbatches},
                    {"samples", &C::samples, {.doc = "of a microbatch"}},
                    {"recompute", &C::recompute},
                    {"placement", &C::placement},
                    {"zero", &C::zero}}),
      {"policy", [](const Row& row) { return row.whole.spec->policies[row.part.policy].name; }},
      {"layers_per_stage", [](const Row& row) { return row.part.layers_per_stage; }},
      inlined<Row>([](const Row& row) -> const R& { return row.part; },
                   {time_fields<R>("time", &R::time, {.doc = "of an iteration", .from_zero = true}),
                    {"bound_us",
                     in_us(&R::bound),
                     {.doc = "no schedule of this cut is faster", .from_zero = true}},
                    {"passes_us",
                     in_us(&R::passes),
                     {.doc = "passes and updates, mean of the ranks", .from_zero = true}},
                    {"idle_us", in_us(&R::idle), from_zero},
                    {"bubble_share", &R::bubble_share, from_zero},
                    {"gradient_sums_us",
                     in_us(&R::sums),
                     {.doc = "over the replicas, of the stage with most", .from_zero = true}},
                    {"memory_bytes", &R::memory, {.doc = "of the fullest device"}}}),
      {"samples_per_s", [](const Row& row) {
         return 1e6 * static_cast<double>(row.whole.spec->batch) / to_us(row.part.time);
       }}};
  return fields;
}

const Fields<ParallelPlan>& plan_fields() {
  using P = ParallelPlan;
  static const Fields<P> fields{
      {"name", [](const P& p) { return p.spec->name; }},
      {"description", [](const P& p) { return p.spec->description; }},
      {"model", [](const P& p) { return p.spec->model; }},
      {"machine", &P::machine},
      {"devices", [](const P& p) { return p.spec->devices; }},
      {"batch", [](const P& p) { return p.spec->batch; }},
      {"memory_limit_bytes", &P::memory_limit},
      {"proven", [](const P& p) { return p.proven(); }},
      {"exact_rows",
       &P::exact_rows,
       {.doc = "so many of the rows are the fastest there are, in order"}},
      {"lower_bound_us", in_us(&P::lower_bound), from_zero},
      {"choices", &P::choices},
      {"cuts", &P::cuts, {.doc = "whose bounds were worked out"}},
      {"simulations", &P::simulations},
      {"too_large", &P::too_large, {.doc = "cuts and simulated plans that do not fit into memory"}},
      {"stopped", &P::stopped},
      {"rows", [](const P& p) { return parts_of(p, p.rows); }, row_fields()},
      {"faster_but_too_large",
       [](const P& p) {
         return p.unfit ? std::optional<Row>{Row{p, *p.unfit}} : std::nullopt;
       },
       row_fields()}};
  return fields;
}

}  // namespace

namespace detail {

std::string moved_path(const ParallelSpec& spec, const std::string& path, const fs::path& folder) {
  if (folder.empty() || fs::path{path}.is_absolute()) return path;
  return fs::relative(fs::absolute(spec.folder / path), fs::absolute(folder)).generic_string();
}

std::string parallel_scenarios(const ParallelSpec& spec,
                               const ParallelChoice& choice,
                               const std::vector<std::int64_t>& layers_per_stage,
                               std::optional<std::size_t> policy,
                               const fs::path& folder) {
  Json workload{{"kind", spec.workload}};
  for (const auto& [name, value] : spec.options) {
    workload[name] = name == "path" ? Json(moved_path(spec, std::get<std::string>(value), folder))
                                    : json_of_option(value);
  }
  if (has_option(spec, "samples")) workload["samples"] = choice.samples;
  if (has_option(spec, "tensor_parallel")) workload["tensor_parallel"] = choice.tensor_parallel;
  workload["layers_per_stage"] = fmt::format("{}", fmt::join(layers_per_stage, ","));
  workload["virtual_stages"] = choice.virtual_stages;
  workload["replicas"] = choice.replicas;
  workload["microbatches"] = choice.microbatches;
  workload["recompute"] = choice.recompute;
  // A task of several kernels holds its units to its end: nothing would fit beside it.
  if (choice.overlap && option_of(spec, "passes") != nullptr) workload["passes"] = "kernels";
  const auto add_if_known = [&](const char* name, const auto& value, bool is_default) {
    if (!is_default || option_of(spec, name) != nullptr) workload[name] = value;
  };
  add_if_known("placement", choice.placement, choice.placement == "loop");
  add_if_known("zero", choice.zero, choice.zero == 0);
  Json json{{"name", spec.name},
            {"workload", std::move(workload)},
            {"machine", machine_of(spec, folder)}};
  if (!spec.cost_model.empty()) json["cost_model"] = spec.cost_model;
  if (policy) {
    json["policy"] = Json::parse(spec.policies[*policy].json);
  } else {
    json["policy"] = Json::array();
    for (const ParallelPolicy& each : spec.policies) {
      json["policy"].push_back(Json::parse(each.json));
    }
    json["memory"] = "ignore";  // what does not fit is told with what it would need
  }
  return json.dump(2) + "\n";
}

}  // namespace detail

std::string scenario_of(const ParallelSpec& spec, const ParallelRow& row, const fs::path& folder) {
  return detail::parallel_scenarios(spec, row.choice, row.layers_per_stage, row.policy, folder);
}

std::string parallel_plan_json(const ParallelPlan& plan) {
  Json json{{"schedlab", "parallel_plan"}, {"version", 1}};
  plan_fields().add_to(json, plan);
  return json.dump(2) + "\n";
}

std::string parallel_plan_schema() {
  return schema::file("SchedLab results of plan-parallel", "parallel_plan", plan_fields().schema())
      .dump(2);
}

std::string parallel_rows_csv(const ParallelPlan& plan) {
  return table_csv(table_of(row_fields(), parts_of(plan, plan.rows)));
}

}  // namespace schedlab
