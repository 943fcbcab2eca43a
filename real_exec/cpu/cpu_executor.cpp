// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_executor.hpp"

#include "real_exec/cpu/cpu_run.hpp"
#include "real_exec/cpu/cpu_threads.hpp"
#include "real_exec/cpu/processor_name.hpp"
#include "real_exec/executor/call_source.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/call_source.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {
namespace {

/// What a preloaded run cannot do: its calls are all made before it starts.
void expect_preloadable(const Plan& plan) {
  const auto& calls = plan.hosts[HostId{0}].calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const HostCallKind kind = calls[i].kind();
    const bool last_wait = kind == HostCallKind::synchronize && i + 1 == calls.size();
    if ((kind == HostCallKind::query || kind == HostCallKind::sleep ||
         kind == HostCallKind::synchronize) &&
        !last_wait) {
      throw InfeasibleError(
          fmt::format("the plan of {} cannot be preloaded: call {} is a {}; capture it into device "
                      "graphs (\"launch\": \"graph_launch\") or give the host a core",
                      plan.policy,
                      i,
                      to_string(kind)));
    }
  }
}

}  // namespace

std::uint32_t available_cores() {
  return static_cast<std::uint32_t>(detail::usable_cores().size());
}

class CpuExecutor::Impl {
 public:
  explicit Impl(const CpuExecutorOptions& options)
      : threads(options),
        properties{.name = processor_name(),
                   .least_priority = 0,
                   .greatest_priority = 1 - static_cast<int>(options.priority_levels),
                   .units = threads.workers()},
        run{.front_end = options.front_end} {}
  detail::CpuThreads threads;
  DeviceProperties properties;
  DeviceExecutorOptions run;
};

CpuExecutor::CpuExecutor(const CpuExecutorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
CpuExecutor::~CpuExecutor() = default;

std::uint32_t CpuExecutor::workers() const {
  return impl_->threads.workers();
}

const DeviceProperties& CpuExecutor::properties() const {
  return impl_->properties;
}

DeviceExecutorOptions& CpuExecutor::run_options() {
  return impl_->run;
}

void CpuExecutor::run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) {
  out = {};
  impl_->threads.set_front_end(impl_->run.front_end);
  detail::expect_one_host(plan, "the CPU executor");
  expect_well_formed(plan, graph.task_count());
  if (impl_->threads.options().host == HostPlacement::preloaded) expect_preloadable(plan);
  out.plan = plan;
  impl_->threads.run(graph,
                     dynamic_cast<CpuWork&>(work),
                     out.plan.streams,
                     out.plan.graphs,
                     detail::calls_of(out.plan),
                     out);
}

void CpuExecutor::run(const Problem& problem,
                      OnlinePolicy& policy,
                      DeviceWork& work,
                      Execution& out) {
  out = {};
  impl_->threads.set_front_end(impl_->run.front_end);
  if (impl_->threads.options().host == HostPlacement::preloaded) {
    throw InfeasibleError(
        "a policy that decides while it runs cannot be preloaded: capture it into device graphs "
        "(\"launch\": \"graph_launch\") or give the host a core");
  }
  Plan plan;
  PolicySource source(policy, problem, plan);
  const IdVector<StreamId, StreamSpec> streams = source.plan().streams;
  const auto keep_plan = [&] { out.plan = std::move(plan); };
  try {
    impl_->threads.run(
        problem.graph, dynamic_cast<CpuWork&>(work), streams, {}, detail::calls_of(source), out);
  } catch (...) {
    keep_plan();
    throw;
  }
  keep_plan();
}

}  // namespace schedlab
