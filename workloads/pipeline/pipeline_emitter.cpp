// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/pipeline_emitter.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace schedlab::detail {

PipelineEmitter::PipelineEmitter(const PipelineSpec& spec)
    : spec_(spec),
      map_{.places = static_cast<std::uint32_t>(spec.profile.stages.size()) / spec.virtual_stages,
           .microbatches = static_cast<std::uint32_t>(spec.microbatches),
           .placement = spec.placement},
      zero_(spec.replicas > 1 ? spec.zero : 0),
      compression_(spec.compression_ratio),
      rate_(spec.compression_rate),
      links_to_(spec.profile.stages.size()),
      links_from_(spec.profile.stages.size()),
      passes_(spec.profile.stages.size() * static_cast<std::size_t>(spec.microbatches)),
      weight_gradients_(spec.profile.stages.size() * line_count() * map_.copies()),
      reduced_(weight_gradients_.size()) {
  for (std::size_t i = 0; i < spec.profile.links.size(); ++i) {
    links_from_[spec.profile.links[i].from].push_back(i);
    links_to_[spec.profile.links[i].to].push_back(i);
  }
  sharded_.resize(spec.tensor_parallel);
  if (!spec.operators) return;
  for (const Operation& each : spec.operators->operations) builder_.add_operation(each);
  lane_offset_.assign(spec.tensor_parallel, 0);
  for (std::uint32_t lane = 1; lane < spec.tensor_parallel; ++lane) {
    if (spec.operators->other_operations.empty()) break;
    const auto& others = spec.operators->other_operations[lane - 1];
    SCHEDLAB_EXPECTS(others.size() == spec.operators->operations.size(), "operations of a lane");
    lane_offset_[lane] = lane * static_cast<std::uint32_t>(others.size());
    for (const Operation& each : others) builder_.add_operation(each);
  }
  if (zero_ == 0) return;
  for (const StageOperators::Passes& passes : spec.operators->stages) {
    for (const OperationId id : passes.update) {
      const auto [found, is_new] = shared_updates_.try_emplace(id);
      if (!is_new) continue;
      Operation part = spec.operators->operations[id];
      part.fixed_duration = part.fixed_duration / spec.replicas;
      for (Kernel& kernel : part.kernels) {
        kernel.flops = kernel.flops * (1.0 / spec.replicas);
        kernel.bytes_read = share(kernel.bytes_read, 1);
        kernel.bytes_written = share(kernel.bytes_written, 1);
      }
      found->second = builder_.add_operation(part);
    }
  }
}

void PipelineEmitter::begin_line(std::uint32_t line, std::vector<std::int64_t> samples) {
  line_ = line;
  if (line % spec_.tensor_parallel == 0) collectives_.clear();
  next_collective_ = 0;
  next_sharded_ = 0;
  samples_ = std::move(samples);
  cargo_.assign(spec_.profile.links.size(), std::vector<Cargo>(samples_.size()));
  labels_.assign(samples_.size(), TensorId::none());
  for (std::uint32_t copy = 0; copy < map_.copies(); ++copy) {
    for (std::uint32_t stage = 0; stage < stage_count(); ++stage) {
      weight_gradients_[index({line, stage, copy})] =
          builder_.add_tensor({.name = fmt::format("weight_gradients({})", stage),
                               .bytes = share(spec_.profile.stages[stage].parameters, 2),
                               .accumulate = true});
    }
  }
}

OperationId PipelineEmitter::operation(PipelineWork work, Duration duration) {
  const auto [found, is_new] = operations_.try_emplace({work, duration.count()});
  if (is_new) {
    const auto task_class = work == PipelineWork::backward_weight ? TaskClass::weight_gradient
                            : work == PipelineWork::update        ? TaskClass::update
                                                                  : TaskClass::unclassified;
    found->second = builder_.add_operation(
        {.name = std::string{to_string(work)},
         .kind = work == PipelineWork::all_reduce ? TaskKind::collective : TaskKind::fixed,
         .task_class = task_class,
         .kernels = {},
         .fixed_duration = duration});
  }
  return found->second;
}

const std::vector<OperationId>* PipelineEmitter::operators(PipelineWork work,
                                                           std::uint32_t stage) const {
  if (!spec_.operators) return nullptr;
  const StageOperators::Passes& passes = spec_.operators->stages[stage];
  switch (work) {
    case PipelineWork::forward:
    case PipelineWork::recompute:
      return &passes.forward;
    case PipelineWork::backward_data:
      return &passes.backward_data;
    case PipelineWork::backward_weight:
      return &passes.backward_weight;
    case PipelineWork::update:
      return &passes.update;
    default:
      return nullptr;
  }
}

TaskId PipelineEmitter::task(std::uint32_t stage,
                             std::int64_t microbatch,
                             PipelineWork work,
                             OperationId id) {
  const TaskId made = builder_.add_task(id, pipeline_tags(stage, microbatch, work));
  const std::uint32_t copy =
      microbatch < 0 ? copy_ : map_.copy_of(static_cast<std::uint32_t>(microbatch));
  builder_.set_rank(made, rank_of({line_, stage, copy}));
  return made;
}

CollectiveId PipelineEmitter::next_collective(OperationId id) {
  if (line_ % spec_.tensor_parallel == 0) {
    collectives_.push_back(builder_.add_collective(spec_.operators->collectives.at(id)));
  }
  return collectives_.at(next_collective_++);
}

Bytes PipelineEmitter::share(Bytes bytes, std::uint32_t from_zero) const {
  return zero_ < from_zero ? bytes : Bytes{ceil_div(bytes.count(), std::int64_t{spec_.replicas})};
}

CollectiveId PipelineEmitter::next_sharded(CollectiveOp op, Bytes bytes) {
  std::vector<CollectiveId>& of_lane = sharded_[line_ % spec_.tensor_parallel];
  if (line_ < spec_.tensor_parallel) {
    of_lane.push_back(
        builder_.add_collective({.op = op, .bytes = bytes, .algorithm = spec_.algorithm}));
  }
  return of_lane.at(next_sharded_++);
}

TaskId PipelineEmitter::join_replicas(
    std::uint32_t stage, std::int64_t microbatch, PipelineWork work, CollectiveOp op, Bytes bytes) {
  const TaskId part =
      task(stage, microbatch, work, operation(PipelineWork::all_reduce, Duration{0}));
  builder_.joins(part, next_sharded(op, bytes));
  return part;
}

TensorId PipelineEmitter::gathered(std::uint32_t stage,
                                   std::int64_t microbatch,
                                   PipelineWork work,
                                   std::size_t operation) {
  const bool forward = work == PipelineWork::forward;
  const bool backward = work == PipelineWork::recompute || work == PipelineWork::backward_data;
  if (zero_ < 3 || !(forward || backward)) return TensorId::none();
  Bytes bytes = operation == 0 ? spec_.profile.stages[stage].parameters : Bytes{0};
  if (spec_.operators) {
    const StageOperators::Passes& passes = spec_.operators->stages[stage];
    const auto& parameters = work == PipelineWork::backward_data ? passes.backward_parameters
                                                                 : passes.forward_parameters;
    if (!parameters.empty()) bytes = parameters.at(operation);
  }
  if (bytes <= Bytes{0}) return TensorId::none();
  const TaskId part =
      join_replicas(stage,
                    microbatch,
                    forward ? PipelineWork::gather_forward : PipelineWork::gather_backward,
                    CollectiveOp::all_gather,
                    bytes);
  const TensorId whole = tensor("gathered_parameters", stage, microbatch, bytes);
  builder_.writes(part, whole);
  return whole;
}

PipelineEmitter::Span PipelineEmitter::pass(std::uint32_t stage,
                                            std::int64_t microbatch,
                                            PipelineWork work) {
  const std::vector<OperationId>* list = operators(work, stage);
  if (list != nullptr && !list->empty()) {
    Span span{};
    TensorId parameters;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const OperationId id = (*list)[i];
      const TensorId more = gathered(stage, microbatch, work, i);
      if (more.valid() && parameters.valid()) builder_.reads(span.last, parameters);
      if (more.valid()) parameters = more;
      const OperationId own =
          zero_ > 0 && work == PipelineWork::update
              ? shared_updates_.at(id)
              : OperationId{id.value() + lane_offset_[line_ % spec_.tensor_parallel]};
      const TaskId next = task(stage, microbatch, work, own);
      if (more.valid()) builder_.reads(next, more);
      if (spec_.operators->collectives.contains(id)) builder_.joins(next, next_collective(id));
      if (span.last.valid()) builder_.add_edge(span.last, next);
      if (!span.first.valid()) span.first = next;
      span.last = next;
    }
    if (parameters.valid()) builder_.reads(span.last, parameters);
    return span;
  }
  const StageProfile& profile = spec_.profile.stages[stage];
  Duration duration{0};
  if (list == nullptr) {
    const std::int64_t samples =
        microbatch < 0 ? 0 : samples_[static_cast<std::size_t>(microbatch)];
    duration = work == PipelineWork::backward_data     ? profile.backward_data.of(samples)
               : work == PipelineWork::backward_weight ? profile.backward_weight.of(samples)
               : work == PipelineWork::update ? profile.update / (zero_ > 0 ? spec_.replicas : 1)
                                              : profile.forward.of(samples);
  }
  const TensorId parameters = gathered(stage, microbatch, work, 0);
  const TaskId only = task(stage, microbatch, work, operation(work, duration));
  if (parameters.valid()) builder_.reads(only, parameters);
  return {only, only};
}

TensorId PipelineEmitter::tensor(std::string_view name,
                                 std::uint32_t stage,
                                 std::int64_t microbatch,
                                 Bytes bytes) {
  return builder_.add_tensor(
      {.name = fmt::format("{}({},{})", name, stage, microbatch), .bytes = bytes});
}

OperationId PipelineEmitter::packing(PipelineWork work,
                                     std::int64_t microbatch,
                                     const StageLink& link) {
  const bool sends = work == PipelineWork::send_activation || work == PipelineWork::send_gradient;
  const PassCost& cost = sends ? link.pack : link.unpack;
  Duration duration = cost.of(samples_[static_cast<std::size_t>(microbatch)]);
  if (rate_.count() > 0) duration += of_samples(link.bytes, microbatch) / rate_;
  return operation(work, duration);
}

Bytes PipelineEmitter::encoded(const StageLink& link, std::int64_t microbatch) const {
  const Bytes whole = of_samples(link.bytes, microbatch);
  if (!travels(link)) return whole;
  if (link.encoded > Bytes{0}) return of_samples(link.encoded, microbatch);
  return Bytes{
      static_cast<std::int64_t>(std::ceil(static_cast<double>(whole.count()) / compression_))};
}

TensorId PipelineEmitter::send(std::uint32_t stage,
                               std::int64_t microbatch,
                               const StageLink& link,
                               TaskId writer,
                               PipelineWork work) {
  const bool forward = work == PipelineWork::send_activation;
  const Bytes whole = of_samples(link.bytes, microbatch);
  const Bytes sent = encoded(link, microbatch);
  const std::string_view name = forward ? "activation" : "gradient";
  if (!packs(link)) {
    const TensorId travels = tensor(name, stage, microbatch, sent);
    builder_.writes(writer, travels);
    return travels;
  }
  const TensorId made = tensor(name, stage, microbatch, whole);
  builder_.writes(writer, made);
  const TaskId pack = task(stage, microbatch, work, packing(work, microbatch, link));
  builder_.reads(pack, made);
  const TensorId travels =
      tensor(forward ? "packed_activation" : "packed_gradient", stage, microbatch, sent);
  builder_.writes(pack, travels);
  return travels;
}

TensorId PipelineEmitter::receive(std::uint32_t stage,
                                  std::int64_t microbatch,
                                  const StageLink& link,
                                  TensorId travels,
                                  PipelineWork work) {
  if (!packs(link)) return travels;
  const TaskId unpack = task(stage, microbatch, work, packing(work, microbatch, link));
  builder_.reads(unpack, travels);
  // Its bytes are those of the stage's input, which is part of what the stage keeps.
  const TensorId unpacked = tensor("unpacked", stage, microbatch, Bytes{0});
  builder_.writes(unpack, unpacked);
  return unpacked;
}

void PipelineEmitter::forward(std::uint32_t stage, std::int64_t microbatch) {
  const auto m = static_cast<std::size_t>(microbatch);
  const std::uint32_t last = stage_count() - 1;
  if (stage == 0 && last > 0 && spec_.profile.labels > Bytes{0}) {
    const TaskId read =
        task(stage, microbatch, PipelineWork::labels, operation(PipelineWork::labels, Duration{0}));
    labels_[m] = tensor("labels", stage, microbatch, of_samples(spec_.profile.labels, microbatch));
    builder_.writes(read, labels_[m]);
  }
  std::vector<TensorId> inputs;
  Bytes input_bytes{};
  for (const std::size_t i : links_to_[stage]) {
    const StageLink& link = spec_.profile.links[i];
    inputs.push_back(receive(
        stage, microbatch, link, cargo_[i][m].activation, PipelineWork::receive_activation));
    input_bytes += of_samples(link.bytes, microbatch);
  }
  PassState& state = passes_[at(stage, microbatch)];
  state.forward = pass(stage, microbatch, PipelineWork::forward);
  for (const TensorId input : inputs) builder_.reads(state.forward.first, input);
  if (stage == last && labels_[m].valid()) builder_.reads(state.forward.first, labels_[m]);
  if (spec_.recompute) {
    state.input = tensor("stage_input", stage, microbatch, input_bytes);
    builder_.writes(state.forward.first, state.input);
  } else {
    state.kept = tensor("kept_activations",
                        stage,
                        microbatch,
                        of_samples(spec_.profile.stages[stage].kept_activations, microbatch));
    builder_.writes(state.forward.first, state.kept);
  }
  for (const std::size_t i : links_from_[stage]) {
    cargo_[i][m].activation = send(stage,
                                   microbatch,
                                   spec_.profile.links[i],
                                   state.forward.last,
                                   PipelineWork::send_activation);
  }
}

void PipelineEmitter::backward(std::uint32_t stage, std::int64_t microbatch) {
  const auto m = static_cast<std::size_t>(microbatch);
  const StageProfile& profile = spec_.profile.stages[stage];
  PassState& state = passes_[at(stage, microbatch)];
  TaskId ready = state.forward.last;
  if (spec_.recompute) {
    const Span again = pass(stage, microbatch, PipelineWork::recompute);
    builder_.add_edge(state.forward.last, again.first);
    builder_.reads(again.last, state.input);
    state.kept = tensor(
        "kept_activations", stage, microbatch, of_samples(profile.kept_activations, microbatch));
    builder_.writes(again.first, state.kept);
    ready = again.last;
  }
  std::vector<TensorId> gradients;
  for (const std::size_t i : links_from_[stage]) {
    gradients.push_back(receive(stage,
                                microbatch,
                                spec_.profile.links[i],
                                cargo_[i][m].gradient,
                                PipelineWork::receive_gradient));
  }
  const Span data = pass(stage, microbatch, PipelineWork::backward_data);
  builder_.add_edge(ready, data.first);
  for (const TensorId gradient : gradients) builder_.reads(data.first, gradient);
  builder_.reads(data.last, state.kept);
  for (const std::size_t i : links_to_[stage]) {
    cargo_[i][m].gradient =
        send(stage, microbatch, spec_.profile.links[i], data.last, PipelineWork::send_gradient);
  }
  const Span weight = pass(stage, microbatch, PipelineWork::backward_weight);
  builder_.add_edge(data.last, weight.first);
  builder_.reads(weight.last, state.kept);
  if (profile.kept_gradients > Bytes{0}) {
    const TensorId kept =
        tensor("kept_gradients", stage, microbatch, of_samples(profile.kept_gradients, microbatch));
    builder_.writes(data.first, kept);
    builder_.reads(weight.last, kept);
  }
  const std::uint32_t copy = map_.copy_of(static_cast<std::uint32_t>(microbatch));
  const std::size_t holder = index({line_, stage, copy});
  if (zero_ < 2 || profile.parameters <= Bytes{0}) {
    builder_.writes(weight.last, weight_gradients_[holder]);
    return;
  }
  const TensorId whole = tensor("gradients", stage, microbatch, profile.parameters);
  builder_.writes(weight.last, whole);
  const TaskId part = join_replicas(
      stage, -1, PipelineWork::all_reduce, CollectiveOp::reduce_scatter, profile.parameters);
  builder_.reads(part, whole);
  builder_.writes(part, weight_gradients_[holder]);
  reduced_[holder].push_back(part);
}

void PipelineEmitter::join(std::uint32_t first_stage,
                           Bytes bytes,
                           const std::vector<Holder>& parts) {
  std::map<std::uint32_t, TaskId> by_rank;
  std::set<std::uint32_t> ranks;
  for (const Holder& part : parts) ranks.insert(rank_of(part));
  if (ranks.size() < 2 || bytes <= Bytes{0}) return;
  const CollectiveId collective = builder_.add_collective(
      {.op = zero_ > 0 ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce,
       .bytes = bytes,
       .algorithm = spec_.algorithm});
  const OperationId all_reduce = operation(PipelineWork::all_reduce, Duration{0});
  for (const Holder& holder : parts) {
    const auto [part, is_new] = by_rank.try_emplace(rank_of(holder));
    if (is_new) {
      // One number for all parts of a collective: that of its first stage.
      part->second =
          builder_.add_task(all_reduce, pipeline_tags(first_stage, -1, PipelineWork::all_reduce));
      builder_.set_rank(part->second, part->first);
      builder_.joins(part->second, collective);
    }
    builder_.reads(part->second, weight_gradients_[index(holder)]);
    reduced_[index(holder)].push_back(part->second);
  }
}

std::vector<PipelineEmitter::Holder> PipelineEmitter::holders(std::uint32_t stage,
                                                              std::uint32_t first_lane,
                                                              std::uint32_t lanes) const {
  std::vector<Holder> result;
  for (std::uint32_t replica = 0; replica < spec_.replicas; ++replica) {
    for (std::uint32_t lane = first_lane; lane < first_lane + lanes; ++lane) {
      for (std::uint32_t copy = 0; copy < map_.copies(); ++copy) {
        result.push_back({replica * spec_.tensor_parallel + lane, stage, copy});
      }
    }
  }
  return result;
}

void PipelineEmitter::join_lanes(Bytes bytes, const std::vector<std::uint32_t>& stages) {
  const std::uint32_t together = spec_.expert_parallel ? spec_.tensor_parallel : 1;
  for (std::uint32_t lane = 0; lane < spec_.tensor_parallel; lane += together) {
    std::vector<Holder> parts;
    for (const std::uint32_t stage : stages) {
      const std::vector<Holder> of_stage = holders(stage, lane, together);
      parts.insert(parts.end(), of_stage.begin(), of_stage.end());
    }
    join(stages.front(), bytes, parts);
  }
}

void PipelineEmitter::synchronize() {
  if (zero_ >= 2) return;
  for (std::uint32_t stage = 0; stage < stage_count(); ++stage) {
    const Bytes experts = spec_.profile.stages[stage].expert_parameters;
    Bytes own = spec_.profile.stages[stage].parameters - experts;
    for (const TiedParameters& tied : spec_.profile.tied) {
      const auto& stages = tied.stages;
      if (std::find(stages.begin(), stages.end(), stage) != stages.end()) own -= tied.bytes;
    }
    join_lanes(own, {stage});
    for (std::uint32_t lane = 0; lane < spec_.tensor_parallel; ++lane) {
      join(stage, experts, holders(stage, lane, 1));
    }
  }
  for (const TiedParameters& tied : spec_.profile.tied) join_lanes(tied.bytes, tied.stages);
}

void PipelineEmitter::update() {
  std::vector<std::size_t> begin;  // by lane
  for (const std::vector<CollectiveId>& of_lane : sharded_) begin.push_back(of_lane.size());
  for (line_ = 0; line_ < line_count(); ++line_) {
    next_sharded_ = begin[line_ % spec_.tensor_parallel];
    for (std::uint32_t i = 0; i < stage_count() * map_.copies(); ++i) {
      const std::uint32_t stage = i % stage_count();
      copy_ = i / stage_count();
      const std::size_t at = index({line_, stage, copy_});
      const StageProfile& profile = spec_.profile.stages[stage];
      const Span span = pass(stage, -1, PipelineWork::update);
      builder_.reads(span.first, weight_gradients_[at]);
      if (span.last != span.first) builder_.reads(span.last, weight_gradients_[at]);
      for (const TaskId part : reduced_[at]) builder_.add_edge(part, span.first);
      const TensorId weights = builder_.add_tensor(
          {.name = fmt::format("parameters({})", stage),
           .bytes = share(profile.parameters, 3) + share(profile.optimizer_state, 1),
           .persistent = true});
      builder_.writes(span.last, weights);
      if (zero_ == 0 || zero_ == 3 || profile.parameters <= Bytes{0}) continue;
      const TaskId gather = join_replicas(
          stage, -1, PipelineWork::update, CollectiveOp::all_gather, profile.parameters);
      builder_.add_edge(span.last, gather);
    }
  }
}

TaskGraph PipelineEmitter::build() && {
  return std::move(builder_).build();
}

}  // namespace schedlab::detail
