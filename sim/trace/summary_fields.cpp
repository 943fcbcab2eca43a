// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/summary_fields.hpp"

namespace schedlab {
namespace {

constexpr unsigned everywhere = in_files | in_tables | in_samples;

/// The two columns of a class of units.
Fields<UnitClassUse> unit_class_fields(const std::string& name, std::string_view doc) {
  return {{name + "_utilization", &UnitClassUse::utilization, {.doc = doc, .places = everywhere}},
          {name + "_busy_share",
           &UnitClassUse::busy_share,
           {.doc = "share of the makespan in which some of them is in use", .places = everywhere}}};
}

Fields<Summary> times_and_shares() {
  using S = Summary;
  return {
      {"makespan_us", &S::makespan, {.doc = "length of the run", .places = everywhere}},
      {"makespan_ps", [](const S& s) { return s.makespan.count(); }, {.doc = "the same, exact"}},
      {"cost_evidence",
       &S::cost_evidence,
       {.doc = "what the kernel times rest on: data_sheet, calibrated (measurements of such "
               "devices, for at least some of the kernels in this graph and type), replayed (a "
               "profile of this work) or measured"}},
      {"bound_us",
       [](const S& s) { return s.bounds.largest(); },
       {.doc = "the largest lower bound for the tasks and the plan of this row; another "
               "granularity or plan can beat it",
        .places = in_tables | in_samples}},
      {"bound",
       [](const S& s) { return s.bounds.largest_name(); },
       {.doc = "which bound that is: critical_path, work, latency_path, host_launch, subset, "
               "memory, network or energetic, of any schedule of these tasks; or host_issue, of "
               "the host calls of "
               "this plan",
        .places = in_tables}},
      {"gap", &S::gap, {.doc = "makespan over that bound", .places = in_tables | in_samples}},
      {"utilization",
       &S::utilization,
       {.doc = "compute units in use, time-weighted", .places = everywhere}},
      {"busy_share",
       &S::busy_share,
       {.doc = "share of the makespan in which some task runs", .places = everywhere}},
      inlined<S>(
          &S::matrix_units,
          unit_class_fields("matrix_unit", "of the class that runs matrix products: units in use")),
      inlined<S>(&S::vector_units,
                 unit_class_fields("vector_unit",
                                   "of the class that runs point-wise kernels: units in use")),
      inlined<S>(&S::copy_engines,
                 unit_class_fields("copy_engine",
                                   "of the class that copies to the device: engines in use")),
      {"mean_concurrency",
       &S::mean_concurrency,
       {.doc = "tasks running at once, on average", .places = everywhere}},
      {"overlap_share",
       &S::overlap_share,
       {.doc = "of the time with critical work: how much has non-critical work too",
        .places = everywhere}},
      {"hidden_share",
       &S::hidden_share,
       {.doc = "of the summed time of non-critical tasks: how much runs beneath critical ones",
        .places = everywhere}},
      {"matmul_share",
       &S::matmul_share,
       {.doc = "of the summed task time: how much is matrix products", .places = everywhere}},
      {"host_busy_share",
       &S::host_busy_share,
       {.doc = "share of the makespan in which the host makes calls", .places = everywhere}},
      {"host_bound_share",
       &S::host_bound_share,
       {.doc = "share in which a device is idle and its next task not yet submitted",
        .places = everywhere}},
      time_fields<S>(
          "load",
          &S::load,
          {.doc = "host time of loading device graphs or sunk models", .places = everywhere}),
      time_fields<S>("head_overhead",
                     &S::head_overhead,
                     {.doc = "from the calls that launch them to their arrival on the device",
                      .places = everywhere}),
      time_fields<S>("collective_wait",
                     &S::collective_wait,
                     {.doc = "how long a rank waits in collectives for the last to start",
                      .places = everywhere}),
  };
}

Fields<Summary> memory_and_counts() {
  using S = Summary;
  return {
      {"peak_memory_bytes",
       &S::peak_memory,
       {.doc = "most memory held at once", .places = everywhere}},
      {"bubble_share",
       &S::bubble_share,
       {.doc = "of a pipeline: share in which a rank works on no pass or update",
        .places = everywhere}},
      {"stage_peak_memory_bytes",
       &S::stage_peak_memory,
       {.doc = "of a pipeline: peak of each stage, up to 64 of them", .unless_empty = true}},
      {"work_us",
       [](const S& s) { return s.bounds.work; },
       {.doc = "all tasks of the graph on all units; 0: units are unlimited", .places = in_tables}},
      {"tasks", &S::tasks, {.doc = "tasks of the graph"}},
      {"launches", &S::launches, {.doc = "kernels launched"}},
      // An online policy makes other calls in each sample.
      {"host_calls", &S::host_calls, {.doc = "host calls of the plan", .places = everywhere}},
      {"records", &S::records, {.doc = "event records"}},
      {"waits", &S::waits, {.doc = "waits of streams for events"}},
      {"queries", &S::queries, {.doc = "stream queries", .places = everywhere}},
      {"events", &S::events, {.doc = "events of the plan"}},
      {"streams", &S::streams, {.doc = "streams of the plan"}},
  };
}

}  // namespace

const Fields<Summary>& summary_fields() {
  static const Fields<Summary> fields{times_and_shares(), memory_and_counts()};
  return fields;
}

const Fields<Metrics>& metrics_fields() {
  using M = Metrics;
  static const Fields<M> fields =
      inlined<M>([](const M& m) -> const Summary& { return m; }, summary_fields().in(in_files))
          .after(
              "matmul_share",
              {time_fields<M>(
                   "overlap", &M::overlap, {.doc = "critical and non-critical tasks both run"}),
               time_fields<M>("critical_busy", &M::critical_busy, {.doc = "critical tasks run"})})
          .after("host_bound_share",
                 time_fields<M>(
                     "host_blocked", &M::host_blocked, {.doc = "host threads wait; their sum"}));
  return fields;
}

const Fields<SampleSummary>& sample_fields() {
  using S = SampleSummary;
  static const Fields<S> fields{
      {"mean", &S::mean, {.doc = "mean of the samples"}},
      {"mean_low", &S::mean_low, {.doc = "lower end of the 95 % interval of that mean"}},
      {"mean_high", &S::mean_high, {.doc = "upper end of it"}},
      {"median", &S::median, {.doc = "median of the samples"}},
      {"p5", &S::p5, {.doc = "5 % of the samples are below"}},
      {"p95", &S::p95, {.doc = "95 % of the samples are below"}}};
  return fields;
}

}  // namespace schedlab
