// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_run.hpp"

#include "real_exec/ranks/packed_items.hpp"
#include "real_exec/ranks/rank_clocks.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace schedlab {
namespace {

using detail::append_items;
using detail::take_items;

/// What a rank sends to rank 0 after a run about each of its iterations.
struct IterationSummary {
  double loss = 0;
  Time started{};
  Time ended{};
};

std::string record_text(const RankRecord& record) {
  std::string text;
  append_items(text, record.tasks);
  append_items(text, record.hosts);
  append_items(text, record.messages);
  return text;
}

/// Joins the records of all ranks, on rank 0's clock.
class TraceJoin {
 public:
  explicit TraceJoin(const RankClocks& clocks) : clocks_(clocks) {}

  void add(int rank, std::string_view text) {
    const auto move = [&](Time& time) { time = clocks_.at_rank_0(rank, time); };
    for (TaskSpan span : take_items<TaskSpan>(text)) {
      move(span.submitted);
      move(span.started);
      move(span.ended);
      trace_.tasks.push_back(span);
    }
    for (HostSpan span : take_items<HostSpan>(text)) {
      move(span.started);
      move(span.ended);
      trace_.hosts.push_back(span);
    }
    for (const MessageSpan& span : take_items<MessageSpan>(text)) {
      const bool sent = span.arrived == Time{};
      (sent ? sent_ : arrived_).push_back(span);
      MessageSpan& added = (sent ? sent_ : arrived_).back();
      move(sent ? added.left : added.arrived);
    }
  }

  [[nodiscard]] Trace take() {
    for (MessageSpan span : arrived_) {
      const auto other = std::find_if(sent_.begin(), sent_.end(), [&](const MessageSpan& one) {
        return one.message == span.message;
      });
      if (other == sent_.end()) continue;
      span.left = std::min(other->left, span.arrived);  // clocks agree to RankClocks::error()
      trace_.messages.push_back(span);
    }
    std::stable_sort(trace_.messages.begin(),
                     trace_.messages.end(),
                     [](const auto& a, const auto& b) { return a.arrived < b.arrived; });
    start_at_zero();
    return std::move(trace_);
  }

 private:
  void start_at_zero() {
    Time first = trace_.hosts.empty() ? Time{} : trace_.hosts.front().started;
    for (const HostSpan& span : trace_.hosts) first = std::min(first, span.started);
    const auto shift = [&](Time& time) {
      time = Time{std::max(Duration{0}, time - first)};
      trace_.ended = std::max(trace_.ended, time);
    };
    for (TaskSpan& span : trace_.tasks) {
      shift(span.submitted);
      shift(span.started);
      shift(span.ended);
    }
    for (HostSpan& span : trace_.hosts) {
      shift(span.started);
      shift(span.ended);
    }
    for (MessageSpan& span : trace_.messages) {
      shift(span.left);
      shift(span.arrived);
    }
  }

  const RankClocks& clocks_;
  Trace trace_;
  std::vector<MessageSpan> sent_;
  std::vector<MessageSpan> arrived_;
};

/// One run as a rank lives through it.
class PipelineRunner {
 public:
  PipelineRunner(const PipelineTraining& training,
                 const TaskGraph& graph,
                 const Plan& plan,
                 RankLink& link,
                 const PipelineRunOptions& options)
      : training_(training),
        link_(link),
        options_(options),
        rank_(training, graph, plan, link, clock_, options.stop) {}

  PipelineRunResult run() {
    SCHEDLAB_EXPECTS(options_.iterations >= 1, "a run has iterations");
    clocks_.sample(link_, clock_);
    std::vector<float> first_gradients;
    for (std::int64_t iteration = 0; iteration < options_.iterations; ++iteration) {
      PipelineRank::Iteration done = rank_.run();
      summaries_.push_back({.loss = done.loss.loss,
                            .started = done.record.hosts.front().started,
                            .ended = done.record.hosts.back().ended});
      records_.push_back(std::move(done.record));
      if (records_.size() > max_records) records_.erase(records_.begin());
      if (iteration == 0 && options_.verified_iterations > 0) {
        first_gradients = gather_net(rank_, training_, link_, true);
      }
      if (link_.rank() == 0 && options_.observer) options_.observer(iteration);
    }
    clocks_.sample(link_, clock_);
    gather_iterations();
    gather_trace();
    gather_memory();
    result_.parameters = gather_net(rank_, training_, link_, false);
    result_.clock_error = clocks_.error();
    if (link_.rank() == 0 && options_.verified_iterations > 0) verify(first_gradients);
    return link_.rank() == 0 ? std::move(result_) : PipelineRunResult{};
  }

 private:
  static constexpr std::size_t max_records = 200;  // of which one is kept in the end

  void gather_iterations() {
    std::string mine;
    append_items(mine, summaries_);
    const std::vector<std::string> all = gather_texts(link_, mine);
    if (link_.rank() != 0) return;
    const auto iterations = static_cast<std::size_t>(options_.iterations);
    std::vector<Time> started(iterations, Time::max());
    std::vector<Time> ended(iterations, Time::min());
    result_.losses.assign(iterations, 0.0);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      std::string_view text = all[rank];
      const auto summaries = take_items<IterationSummary>(text);
      for (std::size_t i = 0; i < iterations; ++i) {
        const auto number = static_cast<int>(rank);
        result_.losses[i] += summaries[i].loss / static_cast<double>(training_.batch);
        started[i] = std::min(started[i], clocks_.at_rank_0(number, summaries[i].started));
        ended[i] = std::max(ended[i], clocks_.at_rank_0(number, summaries[i].ended));
      }
    }
    for (std::size_t i = 0; i < iterations; ++i) result_.makespans.push_back(ended[i] - started[i]);
  }

  /// The earlier half warms up memory and caches.
  [[nodiscard]] std::int64_t median_iteration() const {
    const auto recorded = static_cast<std::int64_t>(records_.size());
    const std::int64_t first = std::max(options_.iterations / 2, options_.iterations - recorded);
    std::vector<std::int64_t> iterations(static_cast<std::size_t>(options_.iterations - first));
    std::iota(iterations.begin(), iterations.end(), first);
    const auto middle =
        iterations.begin() + static_cast<std::ptrdiff_t>((iterations.size() - 1) / 2);
    std::nth_element(
        iterations.begin(), middle, iterations.end(), [&](std::int64_t a, std::int64_t b) {
          return result_.makespans[static_cast<std::size_t>(a)] <
                 result_.makespans[static_cast<std::size_t>(b)];
        });
    return *middle;
  }

  void gather_trace() {
    const std::string chosen = broadcast_text(
        link_, link_.rank() == 0 ? std::to_string(median_iteration()) : std::string{});
    result_.traced_iteration = std::stoll(chosen);
    const auto place = static_cast<std::size_t>(
        result_.traced_iteration -
        (options_.iterations - static_cast<std::int64_t>(records_.size())));
    const std::vector<std::string> all = gather_texts(link_, record_text(records_.at(place)));
    if (link_.rank() != 0) return;
    TraceJoin join(clocks_);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      join.add(static_cast<int>(rank), all[rank]);
    result_.trace = join.take();
  }

  void gather_memory() {
    std::vector<std::int64_t> mine;
    for (const std::uint32_t stage : rank_.stages()) {
      mine.push_back(rank_.stage(stage).peak_kept_bytes());
    }
    std::string text;
    append_items(text, mine);
    const std::vector<std::string> all = gather_texts(link_, text);
    if (link_.rank() != 0) return;
    result_.peak_kept_bytes.assign(training_.stage_count(), 0);
    for (std::uint32_t rank = 0; rank < training_.pipeline_ranks(); ++rank) {
      std::string_view part = all[rank];
      std::uint32_t stage = rank;
      for (const std::int64_t bytes : take_items<std::int64_t>(part)) {
        result_.peak_kept_bytes[stage] = bytes;
        stage += training_.pipeline_ranks();
      }
    }
  }

  void verify(const std::vector<float>& first_gradients) {
    UnsplitTraining unsplit(training_);
    const std::int64_t iterations = std::min(options_.verified_iterations, options_.iterations);
    for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
      const double loss = unsplit.step();
      if (iteration == 0) {
        result_.gradient_difference =
            gradient_difference(unsplit.stage(), first_gradients, unsplit.gradients());
      }
      const double apart = std::abs(result_.losses[static_cast<std::size_t>(iteration)] - loss);
      result_.loss_difference = std::max(result_.loss_difference, apart / loss);
    }
  }

  const PipelineTraining& training_;
  RankLink& link_;
  const PipelineRunOptions& options_;
  CpuClock clock_;
  PipelineRank rank_;
  RankClocks clocks_;
  std::vector<IterationSummary> summaries_;
  std::vector<RankRecord> records_;  // of the last iterations
  PipelineRunResult result_;
};

}  // namespace

PipelineRunResult run_pipeline(const PipelineTraining& training,
                               const TaskGraph& graph,
                               const Plan& plan,
                               RankLink& link,
                               const PipelineRunOptions& options) {
  return PipelineRunner(training, graph, plan, link, options).run();
}

}  // namespace schedlab
