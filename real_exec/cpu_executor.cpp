// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu_executor.hpp"

#include "real_exec/cpu_run.hpp"
#include "real_exec/cpu_threads.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/call_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, 3> placement_words{"own_core", "shares_core", "preloaded"};

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

void expect_one_host(const Plan& plan) {
  if (plan.hosts.size() != 1) {
    throw InfeasibleError(
        fmt::format("the CPU executor runs one host thread, the plan of {} has {}",
                    plan.policy,
                    plan.hosts.size()));
  }
  if (!plan.messages.empty()) {
    throw InfeasibleError("the CPU executor runs one host: the plan sends messages");
  }
}

}  // namespace

std::string_view to_string(HostPlacement placement) {
  return placement_words.at(static_cast<std::size_t>(placement));
}

std::optional<HostPlacement> host_placement_from(std::string_view word) {
  const auto* const found = std::find(placement_words.begin(), placement_words.end(), word);
  if (found == placement_words.end()) return std::nullopt;
  return static_cast<HostPlacement>(found - placement_words.begin());
}

const std::vector<std::string>& host_placement_names() {
  static const std::vector<std::string> names(placement_words.begin(), placement_words.end());
  return names;
}

std::uint32_t available_cores() {
  return static_cast<std::uint32_t>(detail::usable_cores().size());
}

class CpuExecutor::Impl {
 public:
  explicit Impl(const CpuExecutorOptions& options) : threads(options) {}
  detail::CpuThreads threads;
};

CpuExecutor::CpuExecutor(const CpuExecutorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
CpuExecutor::~CpuExecutor() = default;

std::uint32_t CpuExecutor::workers() const {
  return impl_->threads.workers();
}

void CpuExecutor::run(const TaskGraph& graph, const Plan& plan, CpuWork& work, Execution& out) {
  out = {};
  expect_one_host(plan);
  expect_well_formed(plan, graph.task_count());
  if (impl_->threads.options().host == HostPlacement::preloaded) expect_preloadable(plan);
  out.plan = plan;
  std::size_t position = 0;
  const auto& calls = out.plan.hosts[HostId{0}].calls;
  impl_->threads.run(graph,
                     work,
                     out.plan.streams,
                     out.plan.graphs,
                     {.next = [&](const HostView&) -> std::optional<OnlineStep> {
                        if (position == calls.size()) return std::nullopt;
                        const HostCall call = calls[position++];
                        OnlineStep step{.call = call, .stream = {}};
                        if (call.kind() == HostCallKind::create_stream) {
                          step.stream = out.plan.streams[call.stream()];
                        }
                        return step;
                      },
                      .answer = [](bool) {}},
                     out);
}

void CpuExecutor::run(const Problem& problem, OnlinePolicy& policy, CpuWork& work, Execution& out) {
  out = {};
  if (impl_->threads.options().host == HostPlacement::preloaded) {
    throw InfeasibleError(
        "a policy that decides while it runs cannot be preloaded: capture it into device graphs "
        "(\"launch\": \"graph_launch\") or give the host a core");
  }
  PolicySource source(policy, problem);
  const IdVector<StreamId, StreamSpec> streams = source.plan().streams;
  const auto keep_plan = [&] { out.plan = std::move(source).take(); };
  try {
    impl_->threads.run(problem.graph,
                       work,
                       streams,
                       {},
                       {.next = [&](const HostView& view) -> std::optional<OnlineStep> {
                          const auto call = source.next(HostId{0}, view);
                          if (!call) return std::nullopt;
                          OnlineStep step{.call = *call, .stream = {}};
                          if (call->kind() == HostCallKind::create_stream) {
                            step.stream = source.plan().streams[call->stream()];
                          }
                          return step;
                        },
                        .answer = [&](bool idle) { source.answer(HostId{0}, idle); }},
                       out);
  } catch (...) {
    keep_plan();
    throw;
  }
  keep_plan();
}

}  // namespace schedlab
