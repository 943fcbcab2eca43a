// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/memory_time.hpp"

#include "notebooks_export/chart.hpp"
#include "sim/base/error.hpp"
#include "studies/buckets/bucket_tables.hpp"
#include "studies/buckets/step_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace schedlab {
namespace {

/// Every choice of recomputation, and those with each truncation that the spec trains with.
std::vector<RecomputeChoice> compared(const BucketSpec& spec) {
  std::vector<RecomputeChoice> all;
  for (const Recompute kind : {Recompute::keep_all,
                               Recompute::keep_backward,
                               Recompute::data_drop,
                               Recompute::sqrt,
                               Recompute::optimal}) {
    all.push_back({.kind = kind});
  }
  std::set<std::int64_t> segments;
  for (const TrainingSetup& setup : spec.training) segments.insert(setup.recompute.truncate_steps);
  segments.erase(0);
  for (const std::int64_t segment : segments) {
    for (const Recompute kind : {Recompute::keep_backward, Recompute::data_drop}) {
      all.push_back({.kind = kind, .truncate_steps = segment});
    }
  }
  return all;
}

constexpr int max_doublings = 8;  // assumed: of machines without a limit

/// Batches of one choice: multiples in powers of two, and the largest that fits.
std::set<std::int64_t> batches_of(const BucketSpec& spec, Bytes capacity, std::int64_t largest) {
  std::set<std::int64_t> batches;
  std::int64_t batch = spec.batch_multiple;
  for (int i = 0; i <= max_doublings; ++i, batch *= 2) {
    if (capacity.count() > 0 && batch > largest) break;
    batches.insert(batch);
  }
  if (largest > 0) batches.insert(largest);
  return batches;
}

void mark_efficient(std::vector<MemoryTimePoint>& points) {
  for (MemoryTimePoint& point : points) {
    point.efficient =
        point.fits && std::none_of(points.begin(), points.end(), [&](const MemoryTimePoint& other) {
          const bool as_good = other.fits && other.memory <= point.memory &&
                               other.sequences_per_s >= point.sequences_per_s;
          return as_good &&
                 (other.memory < point.memory || other.sequences_per_s > point.sequences_per_s);
        });
  }
}

}  // namespace

std::vector<MemoryTimePoint> memory_time_points(const BucketSpec& spec,
                                                const StopFlag* stop,
                                                StudyProgress* kept) {
  std::int64_t longest = 1;
  for (const SequenceData& data : spec.data) {
    longest = std::max(longest, data.distribution.longest());
  }
  std::vector<MemoryTimePoint> points;
  for (const RecomputeChoice& choice : compared(spec)) {
    TrainingSetup setup;
    setup.recompute = choice;
    const StepSimulation facts{spec, TrainingSetup{}, stop};
    if (!facts.recomputes()) return {};
    const auto bytes = [&](std::int64_t batch) {
      return total(training_memory(facts.network(), setup.recompute, batch, longest));
    };
    const Bytes capacity = facts.capacity();
    const std::int64_t largest =
        capacity.count() > 0 ? largest_batch(capacity, spec.batch_multiple, bytes) : 0;
    for (const std::int64_t batch : batches_of(spec, capacity, largest)) {
      if (stop_requested(stop)) throw Interrupted("stopped");
      setup.batch = batch;
      StepSimulation steps{spec, setup, stop, kept};
      MemoryTimePoint point{.setup = setup, .memory = bytes(batch), .step = steps(longest)};
      point.sequences_per_s = static_cast<double>(batch) / to_seconds(point.step);
      point.fits = capacity.count() == 0 || point.memory <= capacity;
      points.push_back(point);
    }
  }
  mark_efficient(points);
  return points;
}

Table memory_time_table(const std::vector<MemoryTimePoint>& points) {
  Table table;
  for (const char* axis : {"recompute", "batch"}) table.columns.push_back({axis, ColumnRole::axis});
  for (const char* metric : {"memory_bytes", "step_us", "sequences_per_s", "efficient"}) {
    table.columns.push_back({metric, ColumnRole::metric});
  }
  for (const MemoryTimePoint& point : points) {
    table.rows.push_back({to_string(point.setup.recompute),
                          point.setup.batch,
                          point.memory.count(),
                          to_us(point.step),
                          point.sequences_per_s,
                          std::int64_t{point.efficient ? 1 : 0}});
  }
  return table;
}

std::string memory_time_picture(const BucketSpec& spec,
                                const std::vector<MemoryTimePoint>& points,
                                Bytes capacity) {
  double most = 0;
  for (const MemoryTimePoint& point : points) {
    most = std::max(most, static_cast<double>(point.memory.count()));
  }
  const ShownUnit unit = memory_unit(most);
  LineFigure figure;
  figure.title = fmt::format("{}: what memory buys", spec.name);
  figure.subtitle =
      "training steps at the longest length, batches from left to right; dashed: capacity";
  figure.x_label = "sequences per second";
  figure.y_label = unit.name;
  figure.reference_y = static_cast<double>(capacity.count()) / unit.size;
  LinePanel panel;
  Series efficient{.name = "efficient", .points = {}};
  for (const RecomputeChoice& choice : compared(spec)) {
    Series series{.name = to_string(choice), .points = {}};
    for (const MemoryTimePoint& point : points) {
      const Point at{point.sequences_per_s, static_cast<double>(point.memory.count()) / unit.size};
      if (point.setup.recompute == choice) series.points.push_back(at);
    }
    if (!series.points.empty()) panel.series.push_back(std::move(series));
  }
  for (const MemoryTimePoint& point : points) {
    if (!point.efficient) continue;
    efficient.points.push_back(
        {point.sequences_per_s, static_cast<double>(point.memory.count()) / unit.size});
  }
  std::sort(efficient.points.begin(), efficient.points.end(), [](const Point& a, const Point& b) {
    return a.x < b.x;
  });
  panel.series.push_back(std::move(efficient));
  for (const Series& series : panel.series) figure.names.push_back(series.name);
  figure.panels.push_back(std::move(panel));
  return line_figure_svg(figure);
}

}  // namespace schedlab
