// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/parallel_choices.hpp"

#include "sim/base/error.hpp"
#include "studies/partition/joined_layer_times.hpp"
#include "workloads/pipeline/layer_workloads.hpp"
#include "workloads/pipeline/layered_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

const LayerWorkload& layer_workload(const std::string& name) {
  const auto& all = layer_workloads();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const LayerWorkload& w) { return w.name == name; });
  SCHEDLAB_EXPECTS(found != all.end(), name);
  return *found;
}

bool allows(const std::vector<std::int64_t>& axis, std::int64_t value) {
  return axis.empty() || std::find(axis.begin(), axis.end(), value) != axis.end();
}

}  // namespace

ParallelSpace::ParallelSpace(const ParallelSpec& spec,
                             const CostModel& model,
                             const Platform& platform)
    : spec_(spec), model_(model), platform_(platform) {
  const auto first = make(has_option("samples") ? 1 : 0, 1);
  layer_count_ = first->graph.layers.size();
  if (!has_option("samples")) file_samples_ = first->graph.samples;
  const LayerWorkload& workload = layer_workload(spec.model);
  optimizer_copies_ = schedlab::optimizer_copies(
      resolve_options(fmt::format("layers {}", spec.model), workload.options, spec.options));
  const bool shares = has_option("tensor_parallel");
  const std::int64_t fixed = fixed_option("tensor_parallel");
  if (first->graph.expert_parallel) expert_parallel_ = first->graph.tensor_parallel;
  for (std::int64_t t = 1; t <= (shares ? spec.devices : 1); ++t) {
    if (!allows(spec.tensor_parallel, t) || (fixed > 0 && t != fixed)) continue;
    const std::int64_t lanes = std::max<std::int64_t>(t, expert_parallel_);
    if (lanes > spec.devices || (spec.use_all && spec.devices % lanes != 0)) continue;
    add_layouts(t);
  }
  if (choices_.empty()) {
    throw InfeasibleError(fmt::format(
        "{}: no way to spread a batch of {} over {} devices\n  replicas x stages / virtual_stages "
        "x tensor_parallel (or expert_parallel) are the devices, the batch is replicas x "
        "microbatches x samples (x expert_parallel), the model has {} layers, and batch_overlap "
        "needs two microbatches and several stages or passes with collectives",
        spec.file,
        spec.batch,
        spec.devices,
        layer_count_));
  }
}

bool ParallelSpace::has_option(std::string_view name) const {
  const std::vector<OptionSpec>& options = layer_workload(spec_.model).options;
  return std::any_of(
      options.begin(), options.end(), [&](const OptionSpec& o) { return o.name == name; });
}

/// 0: it is not given.
std::int64_t ParallelSpace::fixed_option(const char* name) const {
  const auto given = spec_.options.find(name);
  return given == spec_.options.end() ? 0 : std::get<std::int64_t>(given->second);
}

std::shared_ptr<const CostedLayers> ParallelSpace::make(std::int64_t samples,
                                                        std::int64_t tensor_parallel) const {
  std::map<std::string, OptionValue> given = spec_.options;
  const auto path = given.find("path");
  if (path != given.end()) {
    if (auto* text = std::get_if<std::string>(&path->second)) {
      *text = (spec_.folder / *text).string();
    }
  }
  if (samples > 0 && has_option("samples")) given["samples"] = samples;
  if (has_option("tensor_parallel")) given["tensor_parallel"] = tensor_parallel;
  auto made = std::make_shared<CostedLayers>();
  try {
    LayerFile file = make_layers(spec_.model, given);
    if (file.forward_only) {
      throw InfeasibleError(fmt::format("{}: the layers have no backward pass", spec_.file));
    }
    made->graph = std::move(file.graph);
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    if (!problem.file.empty()) throw;  // the file of layers
    problem.file = spec_.file;
    problem.pointer = "/layers" + problem.pointer;
    throw InputError(problem);
  }
  made->times = joined_layer_times(made->graph, model_, platform_);
  made->computing = layer_times(made->graph, model_, platform_.devices[DeviceId{0}]);
  return made;
}

/// Replicas and stages of a tensor-parallel degree.
void ParallelSpace::add_layouts(std::int64_t tensor_parallel) {
  const auto lanes = std::max(static_cast<std::uint32_t>(tensor_parallel), expert_parallel_);
  const std::uint32_t share = spec_.devices / lanes;
  for (std::uint32_t replicas = 1; replicas <= share; ++replicas) {
    const std::int64_t shares = std::int64_t{replicas} * expert_parallel_;
    if (!allows(spec_.replicas, replicas) || spec_.batch % shares != 0) continue;
    for (std::uint32_t places = 1; places <= share / replicas; ++places) {
      if (spec_.use_all && replicas * places != share) continue;
      for (const std::int64_t chunks : spec_.virtual_stages) {
        const std::int64_t stages = chunks * places;
        if (!allows(spec_.stages, stages) || stages > static_cast<std::int64_t>(layer_count_)) {
          continue;
        }
        add_placements({.replicas = replicas,
                        .stages = static_cast<std::uint32_t>(stages),
                        .virtual_stages = static_cast<std::uint32_t>(chunks),
                        .tensor_parallel = static_cast<std::uint32_t>(tensor_parallel),
                        .expert_parallel = expert_parallel_});
      }
    }
  }
}

void ParallelSpace::add_placements(ParallelChoice choice) {
  const std::uint32_t chunks = choice.virtual_stages;
  const std::uint32_t places = choice.places();
  if (chunks > 1 && places == 1) return;
  for (const std::string& placement : spec_.placement) {
    // Another order of one stage each, or of stages on a single rank, is none.
    if ((placement == "v" && chunks < 2) ||
        (placement == "bidirectional" && (chunks > 1 || places < 2))) {
      continue;
    }
    choice.placement = placement;
    add_microbatches(choice);
  }
}

void ParallelSpace::add_microbatches(ParallelChoice choice) {
  const std::int64_t share = spec_.batch / (std::int64_t{choice.replicas} * choice.expert_parallel);
  const std::int64_t fixed = file_samples_ > 0 ? file_samples_ : fixed_option("samples");
  for (std::int64_t m = 1; m <= share; ++m) {
    if (share % m != 0 || !allows(spec_.microbatches, m)) continue;
    if (fixed > 0 && share / m != fixed) continue;
    choice.microbatches = m;
    choice.samples = share / m;
    auto& layers = layers_[{choice.samples, choice.tensor_parallel}];
    try {
      if (layers == nullptr) layers = make(choice.samples, choice.tensor_parallel);
    } catch (const InfeasibleError&) {
      layers_.erase({choice.samples, choice.tensor_parallel});
      if (choice.tensor_parallel > 1 && spec_.tensor_parallel.empty()) return;  // heads, no network
      throw;
    }
    add_memory_choices(choice);
  }
}

void ParallelSpace::add_memory_choices(ParallelChoice choice) {
  for (const bool recompute : spec_.recompute) {
    for (const std::int64_t zero : spec_.zero) {
      if (zero > 0 && choice.replicas == 1) continue;
      choice.recompute = recompute;
      choice.zero = zero;
      for (const bool overlap : {false, true}) {
        choice.overlap = overlap;
        if (std::any_of(spec_.policies.begin(),
                        spec_.policies.end(),
                        [&](const ParallelPolicy& policy) { return tries(policy, choice); })) {
          choices_.push_back(choice);
        }
      }
    }
  }
}

bool ParallelSpace::has_collectives(const ParallelChoice& choice) const {
  const auto& all = layers(choice).graph.layers;
  return std::any_of(
      all.begin(), all.end(), [](const Layer& layer) { return !layer.joins.empty(); });
}

bool ParallelSpace::tries(const ParallelPolicy& policy, const ParallelChoice& choice) const {
  const bool hides = policy.overlaps && choice.microbatches > 1 && has_collectives(choice);
  if (policy.in_pairs) {
    // Without collectives the messages between stages are what a pair hides.
    const bool sends = policy.overlaps && choice.microbatches > 1 && choice.stages > 1;
    if (!hides && !sends) return false;
    if (choice.virtual_stages > 1 || choice.placement != "loop") return false;
  }
  return hides == choice.overlap;
}

}  // namespace schedlab
