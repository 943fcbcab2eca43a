// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_rank.hpp"

#include "real_exec/gemm.hpp"
#include "real_exec/training/gradient_sums.hpp"
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

/// What a message carries: which work of which stage made it.
using CargoKey = std::tuple<PipelineWork, std::uint32_t, std::int64_t>;

}  // namespace

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
        stream_(training) {
    prepare_worker_thread();
    rank_ = static_cast<std::uint32_t>(link.rank());
    expect_ranks();
    group_ = rank_ / training.pipeline_ranks();
    for (std::uint32_t stage = rank_ % training.pipeline_ranks(); stage < training.stage_count();
         stage += training.pipeline_ranks()) {
      numbers_.push_back(stage);
      stages_.emplace(
          stage,
          std::make_unique<TrainingStage>(training.net, training.stages[stage], training.setting));
    }
    expect_calls();
    find_messages();
    sums_ = std::make_unique<detail::GradientSums>(training, graph, stages_, link);
  }

  Round round() {
    Round result;
    record_ = &result.record;
    loss_ = {};
    local_copies_added_ = false;
    link_.barrier();  // so that a round's makespan is its own
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
                                .blocked = blocked_});
    }
    finish_round();
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
  /// A message of the plan that concerns this rank.
  struct Cargo {
    std::vector<std::byte> bytes;
    RankLink::Request request = 0;
    bool under_way = false;
    bool sends = false;
    Time left{};
  };

  void expect_ranks() const {
    if (plan_.hosts.size() == static_cast<std::size_t>(link_.size()) &&
        training_.ranks() == plan_.hosts.size()) {
      return;
    }
    throw InfeasibleError(fmt::format(
        "this training needs {} ranks ({} stages, {} chunks on each, {} groups), the run has {}",
        training_.ranks(),
        training_.stage_count(),
        training_.chunks,
        training_.groups,
        link_.size()));
  }

  void expect_calls() const {
    std::set<std::tuple<PipelineWork, std::int16_t, std::int32_t>> passes;
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
      if (call.kind() != HostCallKind::launch) continue;
      const Tags tags = graph_.tags(call.task());
      const auto work = pipeline_work(tags);
      const bool packs =
          work == PipelineWork::send_activation || work == PipelineWork::receive_activation ||
          work == PipelineWork::send_gradient || work == PipelineWork::receive_gradient;
      if (!work || packs) {
        throw InfeasibleError(
            fmt::format("task \"{}\": ranks of MPI have no kernel for it; leave out compression",
                        graph_.name(call.task())));
      }
      const bool once = *work == PipelineWork::all_reduce ||
                        passes.emplace(*work, tags.stage, tags.microbatch).second;
      if (!once) {
        throw InfeasibleError(fmt::format("task \"{}\": ranks of MPI run a pass as one task",
                                          graph_.name(call.task())));
      }
    }
  }

  void find_messages() {
    const std::vector<RankMessage> messages = rank_messages(graph_);
    SCHEDLAB_EXPECTS(
        messages.size() == plan_.messages.size(),
        fmt::format(
            "{} messages in the plan, {} in its graph", plan_.messages.size(), messages.size()));
    if (messages.size() > static_cast<std::size_t>(link_.largest_tag())) {
      throw InfeasibleError(fmt::format("{} messages in a round, {} has tags for {}",
                                        messages.size(),
                                        link_.description(),
                                        link_.largest_tag()));
    }
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
      const bool sends = graph_.rank(messages[i].producer) == rank_;
      if (!sends && messages[i].to != rank_) continue;
      Cargo& cargo = cargo_[i];
      cargo.sends = sends;
      cargo.bytes.resize(static_cast<std::size_t>(messages[i].bytes.count()));
      if (sends) {
        made_.emplace(messages[i].producer, i);
      } else {
        const Tags tags = graph_.tags(messages[i].producer);
        needed_.emplace(
            CargoKey{*pipeline_work(tags), static_cast<std::uint32_t>(tags.stage), tags.microbatch},
            i);
      }
    }
  }

  void make(const HostCall& call) {
    switch (call.kind()) {
      case HostCallKind::launch:
        launch(call);
        return;
      case HostCallKind::send:
        start(call.message());
        wait(call.message());
        return;
      case HostCallKind::receive:
        start(call.message());
        wait(call.message());
        return;
      case HostCallKind::isend:
      case HostCallKind::irecv:
        start(call.message());
        return;
      case HostCallKind::wait_message:
        wait(call.message());
        return;
      case HostCallKind::synchronize:
        finish_sums(call.stream());
        return;
      default:
        return;  // a launch ends with its task, so that streams and events say nothing more
    }
  }

  void start(std::uint32_t message) {
    Cargo& cargo = cargo_.at(message);
    const MessageSpec& spec = plan_.messages[message];
    cargo.left = clock_.now();
    cargo.request =
        cargo.sends
            ? link_.start_send(
                  cargo.bytes, static_cast<int>(spec.to.value()), static_cast<int>(message))
            : link_.start_receive(
                  cargo.bytes, static_cast<int>(spec.from.value()), static_cast<int>(message));
    cargo.under_way = true;
    if (cargo.sends) note_message(message, cargo.left, Time{});
  }

  void wait(std::uint32_t message) {
    Cargo& cargo = cargo_.at(message);
    if (!cargo.under_way) return;
    const Time started = clock_.now();
    link_.wait(cargo.request);
    const Time ended = clock_.now();
    blocked_ += ended - started;
    cargo.under_way = false;
    if (!cargo.sends) note_message(message, Time{}, ended);
  }

  void note_message(std::uint32_t message, Time left, Time arrived) {
    const MessageSpec& spec = plan_.messages[message];
    record_->messages.push_back({.message = message,
                                 .from = spec.from,
                                 .to = spec.to,
                                 .bytes = spec.bytes,
                                 .left = left,
                                 .arrived = arrived});
  }

  /// What a message brought for a pass; nullptr: it was made on this rank.
  const std::vector<std::byte>* received(PipelineWork work, std::uint32_t stage, std::int64_t m) {
    const auto found = needed_.find({work, stage, m});
    if (found == needed_.end()) return nullptr;
    wait(found->second);
    return &cargo_.at(found->second).bytes;
  }

  template <class Value>
  static void unpack(const std::vector<std::byte>& bytes, std::span<Value> into) {
    SCHEDLAB_EXPECTS(bytes.size() == into.size_bytes(),
                     fmt::format("a message of {} bytes for {}", bytes.size(), into.size_bytes()));
    std::memcpy(into.data(), bytes.data(), bytes.size());
  }

  /// Puts what a task made into its messages; its own memory may be reused then.
  template <class Value>
  void pack(TaskId task, std::span<const Value> values) {
    const auto [first, last] = made_.equal_range(task);
    for (auto it = first; it != last; ++it) {
      auto& bytes = cargo_.at(it->second).bytes;
      SCHEDLAB_EXPECTS(
          bytes.size() == values.size_bytes(),
          fmt::format("{} bytes for a message of {}", values.size_bytes(), bytes.size()));
      std::memcpy(bytes.data(), values.data(), bytes.size());
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
    const SampleRange samples = m < 0 ? SampleRange{} : training_.samples(step_, group_, m);
    switch (work) {
      case PipelineWork::labels: {
        std::vector<std::int32_t> labels(static_cast<std::size_t>(samples.count));
        stream_.labels(samples, labels);
        pack(task, std::span<const std::int32_t>{labels});
        return;
      }
      case PipelineWork::forward:
        forward(task, number, m, samples);
        return;
      case PipelineWork::recompute:
        stage(number).recompute(m);
        return;
      case PipelineWork::backward_data:
        backward_data(task, number, m);
        return;
      case PipelineWork::backward_weight:
        stage(number).backward_weight(m);
        return;
      default:
        update(number);
    }
  }

  void forward(TaskId task, std::uint32_t number, std::int64_t m, SampleRange samples) {
    TrainingStage& here = stage(number);
    here.begin(m, samples, 1.0 / static_cast<double>(training_.batch));
    if (here.is_first()) {
      stream_.values(samples, here.input(m));
    } else if (const auto* bytes = received(PipelineWork::forward, number - 1, m)) {
      unpack(*bytes, here.input(m));
    } else {
      const auto from = stage(number - 1).output(m);
      std::copy(from.begin(), from.end(), here.input(m).begin());
    }
    if (here.is_last()) {
      if (const auto* bytes = received(PipelineWork::labels, 0, m)) {
        unpack(*bytes, here.labels(m));
      } else {
        stream_.labels(samples, here.labels(m));  // the first stage is on this rank
      }
    }
    here.forward(m);
    pack(task, here.output(m));
  }

  void backward_data(TaskId task, std::uint32_t number, std::int64_t m) {
    TrainingStage& here = stage(number);
    if (!here.is_last()) {
      if (const auto* bytes = received(PipelineWork::backward_data, number + 1, m)) {
        unpack(*bytes, here.output_gradient(m));
      } else {
        const auto& from = local_gradients_.at({number + 1, m});
        std::copy(from.begin(), from.end(), here.output_gradient(m).begin());
        local_gradients_.erase({number + 1, m});
      }
    }
    here.backward_data(m);
    if (here.is_first()) return;
    pack(task, here.input_gradient(m));
    if (stages_.contains(number - 1)) {
      const auto made = here.input_gradient(m);
      local_gradients_[{number, m}].assign(made.begin(), made.end());
    }
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

  void finish_round() {
    finish_sums();
    for (auto& [message, cargo] : cargo_) wait(message);
  }

  const PipelineTraining& training_;
  const TaskGraph& graph_;
  const Plan& plan_;
  RankLink& link_;
  const CpuClock& clock_;
  const StopFlag* stop_;
  SampleStream stream_;
  std::uint32_t rank_ = 0;
  std::uint32_t group_ = 0;
  std::vector<std::uint32_t> numbers_;
  detail::LocalStages stages_;
  std::unique_ptr<detail::GradientSums> sums_;
  std::map<std::uint32_t, Cargo> cargo_;       // by message
  std::multimap<TaskId, std::uint32_t> made_;  // messages by the task that makes them
  std::map<CargoKey, std::uint32_t> needed_;   // messages by what they carry
  std::map<std::uint32_t, std::vector<float>> gradients_;
  /// Gradients that go from one stage to another of this rank, by the stage that made them.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<float>> local_gradients_;
  std::int64_t step_ = 0;

  // Of the round at hand.
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

PipelineRank::Round PipelineRank::run() {
  return run_->round();
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

std::vector<float> gather_net(PipelineRank& rank,
                              const PipelineTraining& training,
                              RankLink& link,
                              bool gradients) {
  std::string mine;
  for (const std::uint32_t number : rank.stages()) {
    const std::span<const float> values = gradients ? std::span<const float>{rank.gradients(number)}
                                                    : rank.stage(number).parameters();
    mine.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  const std::vector<std::string> all = gather_texts(link, mine);
  if (link.rank() != 0) return {};
  // Where each owner's parameters stand in the whole net.
  const TrainingStage whole(training.net, {0, training.net.layers.size()}, training.setting);
  std::size_t size = 0;
  for (const auto& block : whole.blocks()) size += block.size;
  std::vector<float> net(size);
  std::vector<std::size_t> read(training.pipeline_ranks(), 0);
  for (std::uint32_t number = 0; number < training.stage_count(); ++number) {
    const std::uint32_t from = training.rank_of(0, number);
    const TrainingStage stage(training.net, training.stages[number], training.setting);
    for (const auto& block : stage.blocks()) {
      const auto to = std::find_if(whole.blocks().begin(),
                                   whole.blocks().end(),
                                   [&](const auto& b) { return b.owner == block.owner; });
      std::memcpy(net.data() + to->offset, all[from].data() + read[from], 4 * block.size);
      read[from] += 4 * block.size;
    }
  }
  return net;
}

}  // namespace schedlab
