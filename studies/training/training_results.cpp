// SPDX-License-Identifier: Apache-2.0
#include "studies/training/training_results.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/file.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/measured_durations.hpp"
#include "sim/trace/metrics.hpp"
#include "sim/trace/metrics_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

std::string title_of(const TrainingResults& results) {
  return fmt::format("{}: {} on {} ranks",
                     results.spec.name,
                     results.spec.policy,
                     results.settled.training.ranks());
}

/// Makespans of the later half of the rounds, rising: the earlier half warms up.
std::vector<Duration> settled_makespans(const PipelineRunResult& run) {
  std::vector<Duration> later(
      run.makespans.begin() + static_cast<std::ptrdiff_t>(run.makespans.size() / 2),
      run.makespans.end());
  std::sort(later.begin(), later.end());
  return later;
}

std::string losses_csv(const PipelineRunResult& run) {
  std::string csv = "round,loss,makespan_us\n";
  for (std::size_t i = 0; i < run.losses.size(); ++i) {
    csv += fmt::format("{},{:.9g},{:.3f}\n", i, run.losses[i], to_us(run.makespans[i]));
  }
  return csv;
}

Json stages_json(const TrainingResults& results) {
  const PipelineTraining& training = results.settled.training;
  Json stages = Json::array();
  for (std::uint32_t i = 0; i < training.stage_count(); ++i) {
    const StageProfile& cost = results.settled.costs.pipeline.stages[i].whole;
    const std::int64_t samples = training.samples(0, 0, 0).count;
    stages.push_back({{"first_layer", training.stages[i].first},
                      {"last_layer", training.stages[i].last - 1},
                      {"rank", training.rank_of(0, i)},
                      {"forward_us", to_us(cost.forward.of(samples))},
                      {"backward_data_us", to_us(cost.backward_data.of(samples))},
                      {"backward_weight_us", to_us(cost.backward_weight.of(samples))},
                      {"update_us", to_us(cost.update)},
                      {"peak_kept_bytes", results.run.peak_kept_bytes[i]}});
  }
  return stages;
}

/// What travels from each stage to the next; its gradient travels back.
Json links_json(const TrainingResults& results) {
  const PipelineTraining& training = results.settled.training;
  const PipelineSpec spec = pipeline_spec(training);
  const std::int64_t samples = training.samples(0, 0, 0).count;
  Json links = Json::array();
  for (std::size_t i = 0; i < results.settled.costs.pipeline.links.size(); ++i) {
    const PackCosts& cost = results.settled.costs.pipeline.links[i];
    const StageLink& link = spec.profile.links[i];
    links.push_back({{"from", link.from},
                     {"to", link.to},
                     {"bytes", samples * link.bytes.count()},
                     {"encoded_bytes", samples * link.encoded.count()},
                     {"pack_us", to_us(cost.pack.of(samples))},
                     {"unpack_us", to_us(cost.unpack.of(samples))}});
  }
  return links;
}

/// Mean time of the tasks of each work and stage, predicted and in the traced round.
Json work_json(const TrainingResults& results) {
  struct Sums {
    Duration predicted{0};
    Duration measured{0};
    std::int64_t tasks = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Sums> sums;  // by stage and work
  const TaskGraph& graph = results.settled.graph;
  const auto at = [&](TaskId task) -> Sums& {
    return sums[{graph.tags(task).stage, graph.tags(task).step}];
  };
  for (const TaskSpan& span : results.predicted.tasks) {
    at(span.task).predicted += span.duration();
    ++at(span.task).tasks;
  }
  for (const TaskSpan& span : results.run.trace.tasks) at(span.task).measured += span.duration();
  Json list = Json::array();
  for (const auto& [key, sum] : sums) {
    list.push_back({{"stage", key.first},
                    {"work", to_string(static_cast<PipelineWork>(key.second))},
                    {"tasks", sum.tasks},
                    {"predicted_us_mean", to_us(sum.predicted / sum.tasks)},
                    {"measured_us_mean", to_us(sum.measured / sum.tasks)}});
  }
  return list;
}

Json properties_of(std::initializer_list<const char*> names) {
  Json properties = Json::object();
  for (const char* name : names) properties[name] = {{"type", "number"}};
  return properties;
}

Json items_of(Json properties) {
  return {{"type", "array"},
          {"items",
           {{"type", "object"},
            {"properties", std::move(properties)},
            {"additionalProperties", false}}}};
}

}  // namespace

Duration TrainingResults::makespan() const {
  const std::vector<Duration> later = settled_makespans(run);
  return later[(later.size() - 1) / 2];
}

Duration TrainingResults::work_per_core() const {
  Duration sum{0};
  for (const TaskId task : settled.graph.tasks()) {
    if (!settled.graph.collectives().of(task).valid()) sum += settled.graph.fixed_duration(task);
  }
  return sum / std::min(cores, settled.training.ranks());
}

Duration TrainingResults::prediction() const {
  if (settled.training.ranks() <= cores) return predicted.makespan();
  return std::max(predicted.makespan(), work_per_core());
}

RunFiles write_training_files(const std::filesystem::path& folder, const TrainingResults& results) {
  const SettledTraining& settled = results.settled;
  CostTable table(settled.graph, settled.platform);
  table.set_task_durations(measured_durations(settled.graph, results.run.trace));
  const Problem measured{settled.graph, settled.platform, table};
  const std::string title = title_of(results);
  const Metrics metrics = compute_metrics(measured, settled.plan, results.run.trace);
  const TraceDocument document =
      make_document(measured, settled.plan, results.run.trace, title, "measured mpi");
  const TraceDocument predicted = make_document(
      settled.problem(), settled.plan, results.predicted, title + ", predicted", "simulated");
  RunFiles files;
  const auto write = [&](const std::string& name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.push_back(name);
  };
  write("training.json", training_results_json(results));
  write("losses.csv", losses_csv(results.run));
  write("trace.json", chrome_json(document, {}));
  write("predicted_trace.json", chrome_json(predicted, {}));
  write("metrics.json", metrics_json(metrics, measured, settled.plan, title, Samples{}, &document));
  write("plan.json", plan_to_json(settled.plan, settled.graph));
  write("utilization.csv", utilization_csv(document));
  write_picture(folder, "timeline", run_timeline(document, metrics), files);
  return files;
}

std::string training_results_json(const TrainingResults& results) {
  const PipelineTraining& training = results.settled.training;
  const std::vector<Duration> later = settled_makespans(results.run);
  const double measured = to_us(results.makespan());
  const double predicted = to_us(results.prediction());
  const Json json{{"schedlab", "training_results"},
                  {"version", 1},
                  {"title", title_of(results)},
                  {"policy", results.spec.policy},
                  {"library", results.library},
                  {"ranks", training.ranks()},
                  {"cores", results.cores},
                  {"groups", training.groups},
                  {"chunks", training.chunks},
                  {"microbatches", training.microbatches},
                  {"batch", training.batch},
                  {"rounds", results.run.losses.size()},
                  {"first_loss", results.run.losses.front()},
                  {"last_loss", results.run.losses.back()},
                  {"test_accuracy", results.test_accuracy},
                  {"verified_rounds", results.spec.verified_rounds},
                  {"gradient_difference", results.run.gradient_difference},
                  {"loss_difference", results.run.loss_difference},
                  {"same_as_unsplit", results.same_as_unsplit()},
                  {"makespan_us_median", measured},
                  {"makespan_us_min", to_us(later.front())},
                  {"makespan_us_max", to_us(later.back())},
                  {"predicted_makespan_us", predicted},
                  {"simulated_makespan_us", to_us(results.predicted.makespan())},
                  {"work_per_core_us", to_us(results.work_per_core())},
                  {"prediction_error", (predicted - measured) / measured},
                  {"compression", to_string(training.compression)},
                  {"passes", training.by_layer ? "layers" : "whole"},
                  {"latency_us", to_us(results.settled.costs.latency)},
                  {"bandwidth_gb_per_s", results.settled.link.bandwidth.count() / 1e9},
                  {"call_us", to_us(results.settled.costs.call)},
                  {"send_us", to_us(results.settled.costs.send)},
                  {"receive_us", to_us(results.settled.costs.receive)},
                  {"clock_error_us", to_us(results.run.clock_error)},
                  {"cut_by_time", results.settled.cut_by_time},
                  {"stages", stages_json(results)},
                  {"links", links_json(results)},
                  {"work", work_json(results)}};
  return json.dump(2);
}

std::string training_results_schema() {
  Json properties = properties_of({"version",
                                   "ranks",
                                   "cores",
                                   "groups",
                                   "chunks",
                                   "microbatches",
                                   "batch",
                                   "rounds",
                                   "first_loss",
                                   "last_loss",
                                   "test_accuracy",
                                   "verified_rounds",
                                   "gradient_difference",
                                   "loss_difference",
                                   "makespan_us_median",
                                   "makespan_us_min",
                                   "makespan_us_max",
                                   "predicted_makespan_us",
                                   "simulated_makespan_us",
                                   "work_per_core_us",
                                   "prediction_error",
                                   "latency_us",
                                   "bandwidth_gb_per_s",
                                   "call_us",
                                   "send_us",
                                   "receive_us",
                                   "clock_error_us"});
  properties["schedlab"] = {{"const", "training_results"}};
  for (const char* name : {"title", "policy", "library", "compression", "passes"})
    properties[name] = {{"type", "string"}};
  for (const char* name : {"same_as_unsplit", "cut_by_time"}) {
    properties[name] = {{"type", "boolean"}};
  }
  properties["stages"] = items_of(properties_of({"first_layer",
                                                 "last_layer",
                                                 "rank",
                                                 "forward_us",
                                                 "backward_data_us",
                                                 "backward_weight_us",
                                                 "update_us",
                                                 "peak_kept_bytes"}));
  properties["links"] =
      items_of(properties_of({"from", "to", "bytes", "encoded_bytes", "pack_us", "unpack_us"}));
  Json work = properties_of({"stage", "tasks", "predicted_us_mean", "measured_us_mean"});
  work["work"] = {{"type", "string"}};
  properties["work"] = items_of(std::move(work));
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "SchedLab training results"},
                    {"type", "object"},
                    {"properties", properties},
                    {"required", {"schedlab", "version", "policy", "ranks", "makespan_us_median"}},
                    {"additionalProperties", false}};
  return schema.dump(2);
}

std::string training_results_text(const TrainingResults& results,
                                  const std::string& out,
                                  const RunFiles& files) {
  const PipelineTraining& training = results.settled.training;
  const std::vector<Duration> later = settled_makespans(results.run);
  std::vector<std::string> cuts;
  for (const NetLayerRange& range : training.stages) {
    cuts.push_back(fmt::format("{}", range.last - range.first));
  }
  std::string text = fmt::format(
      "{} ({})\n  {} groups of {} stages with {} layers{}, {} micro-batches of a batch of {}\n"
      "  {} rounds: loss {:.4f} to {:.4f}, {:.2f} % of {} test samples right\n",
      title_of(results),
      results.library,
      training.groups,
      training.stage_count(),
      fmt::join(cuts, " + "),
      !results.settled.cut_by_time  ? ""
      : results.spec.balance_memory ? " (cut so that memory balances)"
                                    : " (cut by measured times)",
      training.microbatches * training.groups,
      training.batch,
      results.run.losses.size(),
      results.run.losses.front(),
      results.run.losses.back(),
      100 * results.test_accuracy,
      results.spec.test.size());
  if (results.spec.verified_rounds > 0) {
    text += fmt::format(
        "  against the unsplit net{}: gradients of the first round differ by {:.1e}, losses of {} "
        "rounds by {:.1e}\n",
        results.lossy()
            ? fmt::format(" (messages lose precision, {})", to_string(training.compression))
            : std::string{},
        results.run.gradient_difference,
        results.spec.verified_rounds,
        results.run.loss_difference);
  }
  const double measured = to_us(results.makespan());
  text += fmt::format(
      "  makespan of a round {:.0f} us ({:.0f} to {:.0f}), predicted {:.0f} us ({:+.1f} %)\n",
      measured,
      to_us(later.front()),
      to_us(later.back()),
      to_us(results.prediction()),
      100 * (to_us(results.prediction()) - measured) / measured);
  if (training.ranks() > results.cores) {
    text += fmt::format(
        "  {} ranks share {} cores: with a core for each a round is predicted to take {:.0f} us\n",
        training.ranks(),
        results.cores,
        to_us(results.predicted.makespan()));
  }
  return text + fmt::format("  {}: {}\n", out, fmt::join(files.files, ", "));
}

}  // namespace schedlab
