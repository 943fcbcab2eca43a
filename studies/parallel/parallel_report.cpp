// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart_parts.hpp"
#include "studies/parallel/parallel_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <string>

namespace schedlab {
namespace {

constexpr std::size_t max_stages_shown = 16;

double ms_of(Duration duration) {
  return to_us(duration) / 1000;
}

std::string cut_text(const ParallelRow& row) {
  if (row.layers_per_stage.size() > max_stages_shown) {
    return fmt::format("{} stages", row.layers_per_stage.size());
  }
  return fmt::format("{}", fmt::join(row.layers_per_stage, " "));
}

std::string place_text(const ParallelChoice& choice) {
  std::string text =
      fmt::format("{} of {}", counted(choice.replicas, "replica"), counted(choice.stages, "stage"));
  if (choice.virtual_stages > 1) {
    text += fmt::format(" ({} on each rank)", choice.virtual_stages);
  }
  if (choice.tensor_parallel > 1) {
    text += fmt::format(" shared by {} ranks each", choice.tensor_parallel);
  }
  if (choice.expert_parallel > 1) {
    text += fmt::format(" with experts shared by {} ranks", choice.expert_parallel);
  }
  if (choice.placement != "loop") text += fmt::format(" placed {}", choice.placement);
  if (choice.zero > 0) text += fmt::format(", ZeRO {}", choice.zero);
  return text;
}

/// On a single stage all schedules are one, unless microbatches overlap.
std::string schedule_text(const ParallelPlan& plan, const ParallelRow& row) {
  const bool any = row.choice.stages == 1 && !row.choice.overlap;
  return any ? "any" : plan.spec->policies[row.policy].name;
}

std::string row_text(const ParallelPlan& plan, const ParallelRow& row) {
  return fmt::format(
      "{}, {} {} of {}{}{}",
      place_text(row.choice),
      row.choice.microbatches,
      row.choice.microbatches == 1 ? "microbatch" : "microbatches",
      counted(static_cast<std::size_t>(row.choice.samples), "sample"),
      row.choice.recompute ? ", recomputed" : "",
      row.choice.stages == 1 && !row.choice.overlap ? "" : ", " + schedule_text(plan, row));
}

/// The larger part of what a row takes longer than the best one, and what it is made of.
std::string why(const ParallelRow& row, const ParallelRow& best) {
  const Duration passes = row.passes() - best.passes();
  const Duration idle = row.idle() - best.idle();
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const auto add_passes = [&] {
    if (passes <= Duration{0}) return;
    const bool again = row.choice.recompute && !best.choice.recompute;
    const bool joined = row.choice.tensor_parallel > best.choice.tensor_parallel;
    const bool smaller = row.choice.samples < best.choice.samples;
    add(fmt::format("passes +{}{}",
                    readable(passes),
                    again     ? " (forward again)"
                    : joined  ? " (shared by more ranks)"
                    : smaller ? " (smaller microbatches)"
                              : ""));
  };
  const auto add_idle = [&] {
    if (idle <= Duration{0}) return;
    const Duration sums = row.sums - best.sums;
    const bool by_sums = 2 * sums > idle;
    add(fmt::format("idle +{}{}",
                    readable(idle),
                    by_sums                                      ? " (sums of gradients)"
                    : row.choice.places() > best.choice.places() ? " (more stages)"
                    : row.choice.places() * best.choice.microbatches >
                            best.choice.places() * row.choice.microbatches
                        ? " (fewer microbatches for its stages)"
                    : row.policy != best.policy ? " (schedule)"
                                                : ""));
  };
  if (passes > idle) {
    add_passes();
    add_idle();
  } else {
    add_idle();
    add_passes();
  }
  return text;
}

/// "8 / 2 v": two on each rank, placed so.
std::string stages_text(const ParallelChoice& choice) {
  std::string text = fmt::format("{}", choice.stages);
  if (choice.virtual_stages > 1) text += fmt::format(" / {}", choice.virtual_stages);
  if (choice.placement != "loop") text += " " + choice.placement;
  return text;
}

PrintedTable rows_table(const ParallelPlan& plan) {
  PrintedTable table = empty_table({"schedule",
                                    "recompute",
                                    "replicas",
                                    "stages",
                                    "tensor",
                                    "microbatches",
                                    "time",
                                    "slower",
                                    "memory",
                                    "idle",
                                    "layers of each stage",
                                    "why slower"},
                                   2);
  for (std::size_t i = table.columns.size() - 2; i < table.columns.size(); ++i) {
    table.columns[i].is_number = false;
  }
  table.small_print = true;
  const ParallelRow& best = plan.rows.front();
  for (const ParallelRow& row : plan.rows) {
    const ParallelChoice& c = row.choice;
    table.rows.push_back(
        {schedule_text(plan, row),
         c.recompute ? "yes" : "no",
         c.zero > 0 ? fmt::format("{} ZeRO {}", c.replicas, c.zero) : fmt::format("{}", c.replicas),
         stages_text(c),
         fmt::format("{}", c.tensor_parallel),
         fmt::format("{} x {}", c.microbatches, c.samples),
         readable(row.time),
         &row == &best ? "" : signed_percent(to_us(row.time) / to_us(best.time) - 1),
         readable(row.memory),
         percent(row.bubble_share),
         cut_text(row),
         &row == &best ? "" : why(row, best)});
  }
  return table;
}

std::string proof_text(const ParallelPlan& plan) {
  const std::string work = fmt::format("{}, {}, {}",
                                       counted(plan.choices, "choice"),
                                       counted(plan.cuts, "cut"),
                                       counted(plan.simulations, "simulation"));
  if (plan.exact_rows == plan.rows.size()) {
    return fmt::format("Proven: the order of all rows; {}.", work);
  }
  if (plan.proven()) {
    return fmt::format("Proven: the first {}; {}{}.",
                       plan.exact_rows == 1 ? "row" : fmt::format("{} rows", plan.exact_rows),
                       work,
                       plan.stopped ? ", stopped early" : "");
  }
  return fmt::format("Not proven: no plan is faster than {}, {} below the best found; {}{}.",
                     readable(plan.lower_bound),
                     percent(1 - to_us(plan.lower_bound) / to_us(plan.rows.front().time)),
                     work,
                     plan.stopped ? ", stopped early" : "");
}

std::string memory_text(const ParallelPlan& plan) {
  if (plan.memory_limit == Bytes{0} || plan.too_large == 0) return {};
  std::string text = fmt::format(
      "{} cuts and plans do not fit into {}.", plan.too_large, readable(plan.memory_limit));
  if (plan.unfit) {
    text += fmt::format(" With more memory {} would be faster: {}, {}.",
                        row_text(plan, *plan.unfit),
                        readable(plan.unfit->time),
                        readable(plan.unfit->memory));
  }
  return text;
}

std::string rows_figure(const ParallelPlan& plan) {
  PartsFigure figure;
  figure.title = plan.spec->name;
  figure.x_label = "ms of an iteration, mean of the ranks";
  figure.part_names = {"passes", "idle"};
  figure.signed_sums = false;
  for (const ParallelRow& row : plan.rows) {
    figure.rows.push_back(
        {.name = row_text(plan, row), .parts = {ms_of(row.passes()), ms_of(row.idle())}});
  }
  return parts_figure_svg(figure);
}

}  // namespace

ReportDocument parallel_report(const ParallelPlan& plan) {
  const ParallelSpec& spec = *plan.spec;
  const ParallelRow& best = plan.rows.front();
  ReportDocument report(fmt::format(
      "{}: {} on {} of {}", spec.name, spec.model, counted(spec.devices, "device"), plan.machine));
  report.paragraph(spec.description, Tone::note);
  report.paragraph(
      fmt::format(
          "{}: {} for {}, {:.0f} samples/s; {}{}, idle {}.",
          row_text(plan, best),
          readable(best.time),
          counted(static_cast<std::size_t>(spec.batch), "sample"),
          1e6 * static_cast<double>(spec.batch) / to_us(best.time),
          readable(best.memory),
          plan.memory_limit > Bytes{0} ? fmt::format(" of {}", readable(plan.memory_limit)) : "",
          percent(best.bubble_share)),
      Tone::lead);
  report.paragraph(proof_text(plan), Tone::lead);
  report.paragraph(memory_text(plan), Tone::lead);
  report.table(rows_table(plan));
  report.figure(rows_figure(plan));
  report.paragraph(
      "idle: a rank works on no pass and no update, mean of the ranks: bubble, messages, sums of "
      "gradients. Stages are consecutive layers in the model's order.",
      Tone::note);
  return report;
}

}  // namespace schedlab
