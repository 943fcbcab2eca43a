// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_rank.hpp"

#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/training/gradient_sums.hpp"
#include "real_exec/training/rank_cargo.hpp"
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

namespace schedlab {
class PipelineRank::Run {
 public:
  Run(const PipelineTraining& training,
      const TaskGraph& graph,
      const Plan& plan,
      RankLink& link,
      const CpuClock& clock,
      const StopFlag* stop)
      : training_(training),
        graph_(graph),
        plan_(plan),
        link_(link),
        clock_(clock),
        stop_(stop),
        stream_(training),
        rank_(static_cast<std::uint32_t>(link.rank())),
        replica_(rank_ / training.pipeline_ranks()),
        cargo_(graph, plan, link, clock) {
    prepare_worker_thread();
    expect_ranks();
    for (std::uint32_t stage = rank_ % training.pipeline_ranks(); stage < training.stage_count();
         stage += training.pipeline_ranks()) {
      numbers_.push_back(stage);
      stages_.emplace(
          stage,
          std::make_unique<TrainingStage>(training.net, training.stages[stage], training.setting));
    }
    expect_calls();
    find_layers();
    sums_ = std::make_unique<detail::GradientSums>(training, graph, stages_, link);
  }

  Iteration iteration() {
    Iteration result;
    record_ = &result.record;
    loss_ = {};
    local_copies_added_ = false;
    link_.barrier();  // so that an iteration's makespan is its own
    const auto& calls = plan_.hosts[HostId{rank_}].calls;
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      if (stop_requested(stop_)) throw Interrupted("stopped between two calls of a rank");
      const Time started = clock_.now();
      blocked_ = Duration{0};
      make(calls[i]);
      record_->hosts.push_back({.host = HostId{rank_},
                                .call = i,
                                .what = calls[i],
                                .started = started,
                                .ended = clock_.now(),
                                .blocked = blocked_ + cargo_.take_blocked()});
    }
    finish_sums();
    cargo_.wait_for_all();
    record_->messages = cargo_.take_spans();
    ++step_;
    result.loss = loss_;
    record_ = nullptr;
    return result;
  }

  [[nodiscard]] const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  [[nodiscard]] TrainingStage& stage(std::uint32_t stage) {
    const auto found = stages_.find(stage);
    SCHEDLAB_EXPECTS(found != stages_.end(), fmt::format("stage {} of rank {}", stage, rank_));
    return *found->second;
  }
  [[nodiscard]] const std::vector<float>& gradients(std::uint32_t stage) const {
    return gradients_.at(stage);
  }

 private:
  void expect_ranks() const {
    if (plan_.hosts.size() == static_cast<std::size_t>(link_.size()) &&
        training_.ranks() == plan_.hosts.size()) {
      return;
    }
    throw InfeasibleError(
        fmt::format("this training needs {} ranks ({} stages, {} virtual stages on each, {} "
                    "replicas), the run has {}",
                    training_.ranks(),
                    training_.stage_count(),
                    training_.virtual_stages,
                    training_.replicas,
                    link_.size()));
  }

  void expect_calls() const {
    for (const HostCall& call : plan_.hosts[HostId{rank_}].calls) {
      switch (call.kind()) {
        case HostCallKind::sleep:
        case HostCallKind::query:
        case HostCallKind::graph_load:
        case HostCallKind::graph_launch:
          throw InfeasibleError(fmt::format(
              "plan \"{}\": ranks of MPI make no call {}", plan_.policy, to_string(call.kind())));
        default:
          break;
      }
    }
  }

  /// Which layer a task of a pass by layers is for: the passes of a stage visit them in order.
  void find_layers() {
    if (!training_.by_layer) return;
    std::map<std::tuple<PipelineWork, std::int32_t, std::int64_t>, std::size_t> seen;
    for (const TaskId task : graph_.tasks()) {
      if (graph_.rank(task) != rank_) continue;
      const Tags tags = graph_.tags(task);
      const PipelineWork work = *pipeline_work(tags);
      const std::size_t place = seen[{work, tags.stage, tags.microbatch}]++;
      if (work == PipelineWork::update || work == PipelineWork::all_reduce) continue;
      const TrainingStage& here = *stages_.at(static_cast<std::uint32_t>(tags.stage));
      const std::size_t layers = here.layers().last - here.layers().first;
      const auto& trained = here.trained_layers();
      if (work == PipelineWork::forward || work == PipelineWork::recompute) {
        layer_of_[task] = place;
      } else if (work == PipelineWork::backward_data) {
        layer_of_[task] = layers - 1 - place;
      } else if (work == PipelineWork::backward_weight && !trained.empty()) {
        layer_of_[task] = trained[trained.size() - 1 - place];
      }
    }
  }

  void make(const HostCall& call) {
    switch (call.kind()) {
      case HostCallKind::launch:
        launch(call);
        return;
      case HostCallKind::send:
      case HostCallKind::receive:
        cargo_.start(call.message());
        cargo_.wait(call.message());
        return;
      case HostCallKind::isend:
      case HostCallKind::irecv:
        cargo_.start(call.message());
        return;
      case HostCallKind::wait_message:
        cargo_.wait(call.message());
        return;
      case HostCallKind::synchronize:
        finish_sums(call.stream());
        return;
      default:
        return;  // a launch ends with its task, so that streams and events say nothing more
    }
  }

  void launch(const HostCall& call) {
    const TaskId task = call.task();
    for (const TaskId before : graph_.predecessors(task)) {
      if (sums_->under_way(before)) finish_sum(before);
    }
    const Time started = clock_.now();
    const Tags tags = graph_.tags(task);
    const PipelineWork work = *pipeline_work(tags);
    record_->tasks.push_back({.task = task,
                              .stream = call.stream(),
                              .host = HostId{rank_},
                              .device = DeviceId{rank_},
                              .submitted = started,
                              .started = started,
                              .ended = started});
    if (work == PipelineWork::all_reduce) {
      sum_spans_.emplace(task, record_->tasks.size() - 1);
      sums_->start(task);
      return;  // its span ends when it is waited for
    }
    run_pass(task, work, static_cast<std::uint32_t>(tags.stage), tags.microbatch);
    record_->tasks.back().ended = clock_.now();
  }

  void finish_sum(TaskId task) {
    const Time started = clock_.now();
    sums_->finish(task);
    const Time ended = clock_.now();
    blocked_ += ended - started;
    record_->tasks[sum_spans_.at(task)].ended = ended;
    sum_spans_.erase(task);
  }

  /// Those begun on a stream; none(): all.
  void finish_sums(StreamId stream = StreamId::none()) {
    std::vector<TaskId> begun;
    for (const auto& [task, place] : sum_spans_) {
      if (!stream.valid() || record_->tasks[place].stream == stream) begun.push_back(task);
    }
    for (const TaskId task : begun) finish_sum(task);
  }

  void run_pass(TaskId task, PipelineWork work, std::uint32_t number, std::int64_t m) {
    const auto part = layer_of_.find(task);
    const bool whole = part == layer_of_.end();
    switch (work) {
      case PipelineWork::labels:
        send_labels(task, m);
        return;
      case PipelineWork::receive_activation:
        begin(number, m);
        unpack(cargo_.received(PipelineWork::send_activation, number - 1, m),
               stage(number).input(m),
               m);
        return;
      case PipelineWork::forward:
        if (whole || part->second == 0) prepare_forward(number, m);
        whole ? stage(number).forward(m) : stage(number).forward_layer(m, part->second);
        return;
      case PipelineWork::send_activation:
        pack(task, stage(number).output(m), m);
        return;
      case PipelineWork::recompute:
        whole ? stage(number).recompute(m) : stage(number).recompute_layer(m, part->second);
        return;
      case PipelineWork::receive_gradient:
        unpack(cargo_.received(PipelineWork::send_gradient, number + 1, m),
               stage(number).output_gradient(m),
               m);
        return;
      case PipelineWork::backward_data:
        backward_data(number, m, whole ? nullptr : &part->second);
        return;
      case PipelineWork::send_gradient:
        pack(task, stage(number).input_gradient(m), m);
        return;
      case PipelineWork::backward_weight:
        whole ? stage(number).backward_weight(m)
              : stage(number).backward_weight_layer(m, part->second);
        return;
      default:
        update(number);
    }
  }

  [[nodiscard]] SampleRange samples(std::int64_t m) const {
    return training_.samples(step_, replica_, m);
  }

  void pack(TaskId task, std::span<const float> values, std::int64_t m) {
    encode(training_.compression, values, samples(m).count, cargo_.made_by(task));
  }
  void unpack(std::span<const std::byte> bytes, std::span<float> into, std::int64_t m) {
    decode(training_.compression, bytes, samples(m).count, into);
  }

  void send_labels(TaskId task, std::int64_t m) {
    const std::span<std::byte> bytes = cargo_.made_by(task);
    if (bytes.empty()) return;  // the last stage is on this rank
    std::vector<std::int32_t> labels(
        static_cast<std::size_t>(samples(m).count * training_.net.labels));
    stream_.labels(samples(m), labels);
    SCHEDLAB_EXPECTS(bytes.size() == std::span{labels}.size_bytes(), "a message of labels");
    std::memcpy(bytes.data(), labels.data(), bytes.size());
  }

  void begin(std::uint32_t number, std::int64_t m) {
    stage(number).begin(m, samples(m), 1.0 / static_cast<double>(training_.batch));
  }

  /// What the forward pass needs that no task of its own received.
  void prepare_forward(std::uint32_t number, std::int64_t m) {
    TrainingStage& here = stage(number);
    if (!here.has_begun(m)) {
      begin(number, m);
      if (here.is_first()) {
        stream_.values(samples(m), here.input(m));
      } else {
        const auto from = stage(number - 1).output(m);
        std::copy(from.begin(), from.end(), here.input(m).begin());
      }
    }
    if (!here.is_last()) return;
    const std::span<std::int32_t> labels = here.labels(m);
    if (const auto bytes = cargo_.received(PipelineWork::labels, 0, m); !bytes.empty()) {
      SCHEDLAB_EXPECTS(bytes.size() == labels.size_bytes(), "a message of labels");
      std::memcpy(labels.data(), bytes.data(), bytes.size());
    } else {
      stream_.labels(samples(m), labels);  // the first stage is on this rank
    }
  }

  /// `layer`: of the stage; nullptr: all.
  void backward_data(std::uint32_t number, std::int64_t m, const std::size_t* layer) {
    TrainingStage& here = stage(number);
    const auto local = local_gradients_.find({number + 1, m});
    if (local != local_gradients_.end()) {
      std::copy(local->second.begin(), local->second.end(), here.output_gradient(m).begin());
      local_gradients_.erase(local);
    }
    layer == nullptr ? here.backward_data(m) : here.backward_data_layer(m, *layer);
    const bool done = layer == nullptr || *layer == 0;
    if (!done || here.is_first() || !stages_.contains(number - 1)) return;
    const auto made = here.input_gradient(m);
    local_gradients_[{number, m}].assign(made.begin(), made.end());
  }

  void update(std::uint32_t number) {
    if (!local_copies_added_) {
      finish_sums();
      sums_->add_local_copies();
      local_copies_added_ = true;
    }
    TrainingStage& here = stage(number);
    gradients_[number].assign(here.gradients().begin(), here.gradients().end());
    loss_.loss += here.loss().loss;
    loss_.correct += here.loss().correct;
    here.update();
  }

  const PipelineTraining& training_;
  const TaskGraph& graph_;
  const Plan& plan_;
  RankLink& link_;
  const CpuClock& clock_;
  const StopFlag* stop_;
  SampleStream stream_;
  std::uint32_t rank_ = 0;
  std::uint32_t replica_ = 0;
  std::vector<std::uint32_t> numbers_;
  detail::LocalStages stages_;
  std::unique_ptr<detail::GradientSums> sums_;
  detail::RankCargo cargo_;
  std::map<TaskId, std::size_t> layer_of_;  // of passes by layer, counted from its stage's first
  std::map<std::uint32_t, std::vector<float>> gradients_;
  /// Gradients that go from one stage to another of this rank, by the stage that made them.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<float>> local_gradients_;
  std::int64_t step_ = 0;

  // Of the iteration at hand.
  RankRecord* record_ = nullptr;
  ClassLoss loss_;
  Duration blocked_{0};
  bool local_copies_added_ = false;
  std::map<TaskId, std::size_t> sum_spans_;  // under way, by their place in the record
};

PipelineRank::PipelineRank(const PipelineTraining& training,
                           const TaskGraph& graph,
                           const Plan& plan,
                           RankLink& link,
                           const CpuClock& clock,
                           const StopFlag* stop)
    : run_(std::make_unique<Run>(training, graph, plan, link, clock, stop)) {}

PipelineRank::~PipelineRank() = default;

PipelineRank::Iteration PipelineRank::run() {
  return run_->iteration();
}

const std::vector<std::uint32_t>& PipelineRank::stages() const {
  return run_->numbers();
}

TrainingStage& PipelineRank::stage(std::uint32_t stage) {
  return run_->stage(stage);
}

const std::vector<float>& PipelineRank::gradients(std::uint32_t stage) const {
  return run_->gradients(stage);
}

}  // namespace schedlab
