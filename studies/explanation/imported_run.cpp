// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/imported_run.hpp"

#include "sim/base/error.hpp"
#include "studies/explanation/input_content.hpp"
#include "workloads/traces/graph_losses.hpp"
#include "workloads/traces/kineto.hpp"
#include "workloads/traces/replay_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace schedlab {
namespace {

std::string described(const WaitCounts& waits) {
  return fmt::format(
      "{} recorded, {} told by launch order, {} by work under way, {} without effect, "
      "{} unresolved",
      waits.recorded,
      waits.by_launch_order,
      waits.by_running_work,
      waits.without_effect,
      waits.unresolved);
}

std::vector<std::string> notes_of(const ImportedTrace& trace, const ReconstructedTrace& order) {
  std::vector<std::string> notes;
  notes.emplace_back(
      "of a profile: dependencies are reconstructed (docs/replay.md), and the machine is "
      "what the profile shows");
  notes.push_back("waits of streams: " + described(order.waits));
  notes.push_back("waits of the host: " + described(order.host_waits));
  if (order.overlaps > 0) {
    notes.push_back(
        fmt::format("{} items started before the one before them in their stream had "
                    "ended",
                    order.overlaps));
  }
  for (const auto& [name, problem] : trace.problems.entries()) {
    if (problem.severity < Severity::notice || name == "graph_launch_under_recorded") continue;
    notes.push_back(fmt::format("{}: {} (first: {})", name, problem.count, problem.example));
  }
  return notes;
}

/// When tasks were submitted: with the return of the call that launched them, but with its begin if
/// they started, or the host waited for them, before it returned. Of what has no recorded launch
/// nothing is known: its submission was not waited for.
void tell_submissions(const ImportedTrace& imported,
                      const ReconstructedTrace& order,
                      const IdVector<TaskId, ReplayModel::Origin>& origins,
                      Trace& trace) {
  std::vector<StreamItemId> item_of(imported.device_rows.size());
  for (const StreamItemId item : order.items.ids()) {
    for (const std::uint32_t row : order.rows_of(item)) item_of[row] = item;
  }
  for (TaskSpan& span : trace.tasks) {
    if (origins[span.task].pause > 0) continue;  // the host's, from when it waits
    const StreamItemId id = item_of[origins[span.task].row];
    if (!id.valid() || !order.items[id].launched()) {
      span.submitted = Time{};
      continue;
    }
    const StreamItem& item = order.items[id];
    const CallRow& call = imported.calls[item.call];
    const bool early = item.holds_host || item.started < call.ended;
    span.submitted = std::clamp(early ? call.started : call.ended, Time{}, span.started);
  }
}

void expect_profile(const std::string& file) {
  const InputContent content = input_content(file);
  if (content == InputContent::profile) return;
  const bool own = content == InputContent::own_trace;
  throw InputError({.file = file,
                    .pointer = "",
                    .found = own ? "a run of schedlab" : "no profile",
                    .expected = "a profile of PyTorch (Kineto JSON, plain or gzipped)",
                    .hint = own ? "schedlab explain --what-if simulates a run again" : ""});
}

}  // namespace

std::vector<ReplayRank> ImportedRun::ranks() const {
  std::vector<ReplayRank> result;
  for (std::size_t i = 0; i < traces.size(); ++i) result.push_back({traces[i], orders[i]});
  return result;
}

ImportedRun load_imported_run(const std::vector<std::filesystem::path>& paths,
                              bool assume_like_siblings) {
  ImportedRun run;
  for (const std::filesystem::path& path : paths) expect_profile(path.string());
  if (paths.size() == 1) {
    run.traces.push_back(read_kineto(paths.front()));
  } else {
    run.traces = read_kineto_ranks(paths);
  }
  for (ImportedTrace& trace : run.traces) {
    if (assume_like_siblings) fill_graph_launches(trace);
    run.orders.push_back(reconstruct(trace));
  }
  return run;
}

ExplainedRun explained_run(const ImportedRun& run) {
  const auto ranks = run.ranks();
  ReplayModel model = make_replay({ranks.data(), 1}, ReplayMode::copied_host_work);
  ExplainedRun result;
  result.at_once = launch_at_once(model, Time::min(), Time::max()).plan;
  result.at_once_note = said_of_launching_at_once(model);
  result.title = std::filesystem::path(run.traces.front().file).filename().string();
  result.origin = "imported";
  result.graph = std::move(model.graph);
  result.platform = std::move(model.platform);
  result.costs = std::move(model.costs);
  result.plan = std::move(model.plan);
  result.trace = std::move(model.measured);
  tell_submissions(run.traces.front(), run.orders.front(), model.origins, result.trace);
  result.measured = true;
  result.front_end_known = false;
  result.sleeps_are_work = true;
  result.notes = notes_of(run.traces.front(), run.orders.front());
  result.loss = data_loss(run.traces.front());
  if (!result.loss.unreliable.empty()) {
    result.no_replay = "changes depend on what the profile does not have; " + result.loss.lost;
  }
  return result;
}

std::string said_of_launching_at_once(const ReplayModel& model) {
  return model.delays.front().graph_call > Duration{0}
             ? "each graph costs the host what graphs of the profile do"
             : "each graph costs the host what the first of its launches did";
}

TraceWindow find_window(const ImportedTrace& trace,
                        const std::string& name,
                        std::uint32_t instance,
                        const std::string& option) {
  if (name.empty()) return {};
  std::uint32_t seen = 0;
  std::set<std::string_view> annotations;
  for (const OperatorRow& row : trace.operators) {
    const std::string_view text = trace.texts[row.name];
    if (row.kind == OperatorKind::annotation || row.kind == OperatorKind::iteration) {
      annotations.insert(text);
    }
    if (text == name && seen++ == instance) return {.from = row.started, .to = row.ended};
  }
  constexpr std::size_t most = 5;
  std::string known;
  for (const std::string_view text : annotations) {
    if (annotations.size() > most && known.size() > 200) break;
    known += (known.empty() ? "" : ", ") + fmt::format("\"{}\"", text);
  }
  throw InputError(
      {.file = option,
       .pointer = "",
       .found = seen == 0 ? fmt::format("\"{}\"", name)
                          : fmt::format("instance {} of \"{}\"", instance, name),
       .expected = seen == 0 ? "the name of an annotation or operator of the trace"
                             : fmt::format("instances 0 to {}", seen - 1),
       .hint = annotations.empty() ? "the trace has no annotations" : "annotations: " + known});
}

}  // namespace schedlab
