// SPDX-License-Identifier: Apache-2.0
#include "studies/training/training_results.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/timeline_viewer.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/file.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/measured_durations.hpp"
#include "sim/trace/metrics.hpp"
#include "sim/trace/metrics_json.hpp"
#include "studies/training/parameter_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

std::string title_of(const TrainingResults& results) {
  return fmt::format("{}: {} on {} ranks",
                     results.spec.name,
                     results.spec.policy,
                     results.resolved.training.ranks());
}

/// Makespans of the later half of the iterations, rising: the earlier half warms up.
std::vector<Duration> warm_makespans(const PipelineRunResult& run) {
  std::vector<Duration> later(
      run.makespans.begin() + static_cast<std::ptrdiff_t>(run.makespans.size() / 2),
      run.makespans.end());
  std::sort(later.begin(), later.end());
  return later;
}

std::string losses_csv(const PipelineRunResult& run) {
  std::string csv = "iteration,loss,makespan_us\n";
  for (std::size_t i = 0; i < run.losses.size(); ++i) {
    csv += fmt::format("{},{:.9g},{:.3f}\n", i, run.losses[i], to_us(run.makespans[i]));
  }
  return csv;
}

/// A stage or a link of a trained net by its number.
struct NumberedPart {
  const TrainingResults& results;
  std::uint32_t index = 0;

  [[nodiscard]] const PipelineTraining& training() const { return results.resolved.training; }
  [[nodiscard]] std::int64_t samples() const { return training().samples(0, 0, 0).count; }
  [[nodiscard]] const StageProfile& stage_cost() const {
    return results.resolved.costs.pipeline.stages[index].whole;
  }
  [[nodiscard]] const PackCosts& link_cost() const {
    return results.resolved.costs.pipeline.links[index];
  }
};

std::vector<NumberedPart> parts(const TrainingResults& results, std::size_t count) {
  std::vector<NumberedPart> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({results, i});
  return all;
}

Fields<NumberedPart> stage_fields() {
  using P = NumberedPart;
  return {{"first_layer", [](const P& p) { return p.training().stages[p.index].first; }},
          {"last_layer", [](const P& p) { return p.training().stages[p.index].last - 1; }},
          {"rank", [](const P& p) { return p.training().rank_of(0, p.index); }},
          {"forward_us", [](const P& p) { return to_us(p.stage_cost().forward.of(p.samples())); }},
          {"backward_data_us",
           [](const P& p) { return to_us(p.stage_cost().backward_data.of(p.samples())); }},
          {"backward_weight_us",
           [](const P& p) { return to_us(p.stage_cost().backward_weight.of(p.samples())); }},
          {"update_us", [](const P& p) { return to_us(p.stage_cost().update); }},
          {"peak_kept_bytes", [](const P& p) { return p.results.run.peak_kept_bytes[p.index]; }}};
}

/// What travels from a stage to the next; its gradient travels back.
struct TravellingLink {
  NumberedPart part;
  StageLink link;
};

std::vector<TravellingLink> links(const TrainingResults& results) {
  const PipelineSpec spec = pipeline_spec(results.resolved.training);
  std::vector<TravellingLink> all;
  for (const NumberedPart& part : parts(results, results.resolved.costs.pipeline.links.size())) {
    all.push_back({part, spec.profile.links[part.index]});
  }
  return all;
}

Fields<TravellingLink> link_fields() {
  using L = TravellingLink;
  return {
      {"from", [](const L& l) { return l.link.from; }},
      {"to", [](const L& l) { return l.link.to; }},
      {"bytes", [](const L& l) { return l.part.samples() * l.link.bytes.count(); }},
      {"encoded_bytes", [](const L& l) { return l.part.samples() * l.link.encoded.count(); }},
      {"pack_us", [](const L& l) { return to_us(l.part.link_cost().pack.of(l.part.samples())); }},
      {"unpack_us",
       [](const L& l) { return to_us(l.part.link_cost().unpack.of(l.part.samples())); }}};
}

/// The tasks of one work and stage: sums of their times, predicted and in the traced iteration.
struct WorkTimes {
  std::int32_t stage = 0;
  PipelineWork work{};
  Duration predicted{0};
  Duration measured{0};
  std::int64_t tasks = 0;
};

std::vector<WorkTimes> work_times(const TrainingResults& results) {
  std::map<std::pair<std::int32_t, std::int32_t>, WorkTimes> sums;  // by stage and work
  const TaskGraph& graph = results.resolved.graph;
  const auto at = [&](TaskId task) -> WorkTimes& {
    return sums[{graph.tags(task).stage, graph.tags(task).step}];
  };
  for (const TaskSpan& span : results.predicted.tasks) {
    at(span.task).predicted += span.duration();
    ++at(span.task).tasks;
  }
  for (const TaskSpan& span : results.run.trace.tasks) at(span.task).measured += span.duration();
  std::vector<WorkTimes> all;
  for (auto& [key, sum] : sums) {
    sum.stage = key.first;
    sum.work = static_cast<PipelineWork>(key.second);
    all.push_back(sum);
  }
  return all;
}

Fields<WorkTimes> work_fields() {
  using W = WorkTimes;
  return {{"stage", &W::stage},
          {"work", [](const W& w) { return to_string(w.work); }},
          {"tasks", &W::tasks},
          {"predicted_us_mean", [](const W& w) { return to_us(w.predicted / w.tasks); }},
          {"measured_us_mean", [](const W& w) { return to_us(w.measured / w.tasks); }}};
}

Fields<PipelineTraining> pipeline_fields() {
  using P = PipelineTraining;
  return {{"replicas", &P::replicas},
          {"virtual_stages", &P::virtual_stages},
          {"microbatches", &P::microbatches},
          {"batch", &P::batch}};
}

Fields<TrainingResults> run_fields() {
  using R = TrainingResults;
  return {{"iterations", [](const R& r) { return r.run.losses.size(); }},
          {"first_loss", [](const R& r) { return r.run.losses.front(); }},
          {"last_loss", [](const R& r) { return r.run.losses.back(); }},
          {"test_accuracy", &R::test_accuracy},
          {"verified_iterations", [](const R& r) { return r.spec.verified_iterations; }},
          {"gradient_difference", [](const R& r) { return r.run.gradient_difference; }},
          {"loss_difference", [](const R& r) { return r.run.loss_difference; }},
          {"same_as_unsplit", &R::same_as_unsplit}};
}

Fields<TrainingResults> makespan_fields() {
  using R = TrainingResults;
  const auto error = [](const R& r) {
    const double measured = to_us(r.makespan());
    return (to_us(r.prediction()) - measured) / measured;
  };
  return {{"makespan_us_median", in_us(&R::makespan)},
          {"makespan_us_min", [](const R& r) { return to_us(warm_makespans(r.run).front()); }},
          {"makespan_us_max", [](const R& r) { return to_us(warm_makespans(r.run).back()); }},
          {"predicted_makespan_us", in_us(&R::prediction)},
          {"simulated_makespan_us", [](const R& r) { return to_us(r.predicted.makespan()); }},
          {"work_per_core_us", in_us(&R::work_per_core)},
          {"prediction_error", error}};
}

Fields<TrainingResults> result_fields() {
  using R = TrainingResults;
  const auto training = [](const R& r) -> const auto& {
    return r.resolved.training;
  };
  return {
      {"title", title_of},
      {"policy", [](const R& r) { return r.spec.policy; }},
      {"library", &R::library},
      {"ranks", [](const R& r) { return r.resolved.training.ranks(); }},
      {"cores", &R::cores},
      inlined<R>(training, pipeline_fields()),
      run_fields(),
      makespan_fields(),
      {"compression", [](const R& r) { return to_string(r.resolved.training.compression); }},
      {"passes", [](const R& r) { return r.resolved.training.by_layer ? "layers" : "whole"; }},
      {"latency_us", [](const R& r) { return to_us(r.resolved.costs.latency); }},
      {"bandwidth_gb_per_s", [](const R& r) { return r.resolved.link.bandwidth.count() / 1e9; }},
      {"call_us", [](const R& r) { return to_us(r.resolved.costs.call); }},
      {"send_us", [](const R& r) { return to_us(r.resolved.costs.send); }},
      {"receive_us", [](const R& r) { return to_us(r.resolved.costs.receive); }},
      {"clock_error_us", [](const R& r) { return to_us(r.run.clock_error); }},
      {"cut_by_time", [](const R& r) { return r.resolved.cut_by_time; }},
      {"stages",
       [](const R& r) { return parts(r, r.resolved.training.stage_count()); },
       stage_fields()},
      {"links", links, link_fields()},
      {"work", work_times, work_fields()}};
}

}  // namespace

Duration TrainingResults::makespan() const {
  const std::vector<Duration> later = warm_makespans(run);
  return later[(later.size() - 1) / 2];
}

Duration TrainingResults::work_per_core() const {
  Duration sum{0};
  for (const TaskId task : resolved.graph.tasks()) {
    if (!resolved.graph.collectives().of(task).valid()) sum += resolved.graph.fixed_duration(task);
  }
  return sum / std::min(cores, resolved.training.ranks());
}

Duration TrainingResults::prediction() const {
  if (resolved.training.ranks() <= cores) return predicted.makespan();
  return std::max(predicted.makespan(), work_per_core());
}

RunFiles write_training_files(const std::filesystem::path& folder, const TrainingResults& results) {
  const ResolvedTraining& resolved = results.resolved;
  CostTable table(resolved.graph, resolved.platform);
  table.set_task_durations(measured_durations(resolved.graph, results.run.trace));
  const Problem measured{resolved.graph, resolved.platform, table};
  const std::string title = title_of(results);
  Metrics metrics = compute_metrics(measured, resolved.plan, results.run.trace);
  metrics.cost_evidence = CostEvidence::measured;
  const TraceDocument document = make_document(
      measured, resolved.plan, results.run.trace, title, "measured " + results.link_word());
  const TraceDocument predicted = make_document(
      resolved.problem(), resolved.plan, results.predicted, title + ", predicted", "simulated");
  RunFiles files;
  const auto write = [&](const std::string& name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.push_back(name);
  };
  write("training.json", training_results_json(results));
  write("losses.csv", losses_csv(results.run));
  write("parameters.npz", parameters_npz(results.resolved.training.net, results.run.parameters));
  write("trace.json", chrome_json(document, {}));
  write("predicted_trace.json", chrome_json(predicted, {}));
  write("metrics.json",
        metrics_json(metrics, measured, resolved.plan, title, Samples{}, &document));
  write("plan.json", plan_to_json(resolved.plan, resolved.graph));
  write("utilization.csv", utilization_csv(document));
  write_picture(folder, "timeline", run_timeline(document, metrics), files);
  write("timeline.html",
        timeline_html(
            std::array{ViewedRun{.document = &document}, ViewedRun{.document = &predicted}}));
  return files;
}

std::string training_results_json(const TrainingResults& results) {
  Json json{{"schedlab", "training_results"}, {"version", 1}};
  result_fields().add_to(json, results);
  return json.dump(2);
}

std::string training_results_schema() {
  return schema::file("SchedLab training results", "training_results", result_fields().schema())
      .dump(2);
}

std::string training_results_text(const TrainingResults& results,
                                  const std::string& out,
                                  const RunFiles& files) {
  const PipelineTraining& training = results.resolved.training;
  const std::vector<Duration> later = warm_makespans(results.run);
  std::vector<std::string> cuts;
  for (const NetLayerRange& range : training.stages) {
    cuts.push_back(fmt::format("{}", range.last - range.first));
  }
  std::string text = fmt::format(
      "{} ({})\n  {} replicas of {} stages with {} layers{}, {} micro-batches of a batch of {}\n"
      "  {} iterations: loss {:.4f} to {:.4f}, {:.2f} % of {} test samples right\n",
      title_of(results),
      results.library,
      training.replicas,
      training.stage_count(),
      fmt::join(cuts, " + "),
      !results.resolved.cut_by_time ? ""
      : results.spec.balance_memory ? " (cut so that memory balances)"
                                    : " (cut by measured times)",
      training.microbatches * training.replicas,
      training.batch,
      results.run.losses.size(),
      results.run.losses.front(),
      results.run.losses.back(),
      100 * results.test_accuracy,
      results.spec.test.size());
  if (results.spec.verified_iterations > 0) {
    text += fmt::format(
        "  against the unsplit net{}: gradients of the first iteration differ by {:.1e}, losses of "
        "{} "
        "iterations by {:.1e}\n",
        results.lossy()
            ? fmt::format(" (messages lose precision, {})", to_string(training.compression))
            : std::string{},
        results.run.gradient_difference,
        results.spec.verified_iterations,
        results.run.loss_difference);
  }
  const double measured = to_us(results.makespan());
  text += fmt::format(
      "  makespan of an iteration {:.0f} us ({:.0f} to {:.0f}), predicted {:.0f} us ({:+.1f} %)\n",
      measured,
      to_us(later.front()),
      to_us(later.back()),
      to_us(results.prediction()),
      100 * (to_us(results.prediction()) - measured) / measured);
  if (training.ranks() > results.cores) {
    text += fmt::format(
        "  {} ranks share {} cores: with a core for each an iteration is predicted to take {:.0f} "
        "us\n",
        training.ranks(),
        results.cores,
        to_us(results.predicted.makespan()));
  }
  return text + fmt::format("  {}: {}\n", out, fmt::join(files.files, ", "));
}

}  // namespace schedlab
