// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_executor.hpp"

#include "real_exec/cpu/cpu_backend.hpp"
#include "real_exec/cpu/cpu_threads.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/dispatching_policy.hpp"

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

/// The host of workers that take tasks by themselves: it opens their streams and waits.
class IdleHost final : public OnlinePolicy {
 public:
  explicit IdleHost(DispatchingPolicy& workers) : workers_(workers) {}
  [[nodiscard]] IdVector<StreamId, StreamSpec> initial_streams() override {
    return workers_.initial_streams();
  }
  [[nodiscard]] std::optional<OnlineStep> next(const HostView& /*view*/) override {
    return std::nullopt;
  }

 private:
  DispatchingPolicy& workers_;
};

}  // namespace

std::uint32_t available_cores() {
  return static_cast<std::uint32_t>(detail::usable_cores().size());
}

class CpuExecutor::Impl {
 public:
  explicit Impl(const CpuExecutorOptions& options)
      : backend(options),
        run{.record_hosts = options.record_hosts && options.host != HostPlacement::preloaded,
            .front_end = options.front_end,
            .stop = options.stop} {}

  [[nodiscard]] bool preloaded() const {
    return backend.options().host == HostPlacement::preloaded;
  }
  /// The backend sees its tasks in every run. What is preloaded is launched before time 0.
  [[nodiscard]] DeviceExecutorOptions options() const {
    DeviceExecutorOptions options = run;
    options.timing = TaskTiming::none;
    if (preloaded()) options.front_end = Duration{0};
    return options;
  }

  void run_dispatched(const Problem& problem, DispatchingPolicy& workers, Execution& out) {
    IdleHost host{workers};
    backend.dispatch_by(&workers);
    try {
      DeviceExecutor(backend, options()).run(problem, host, out);
    } catch (...) {
      backend.dispatch_by(nullptr);
      throw;
    }
    backend.dispatch_by(nullptr);
    out.plan = workers.decided();
  }

  detail::CpuBackend backend;
  DeviceExecutorOptions run;
};

CpuExecutor::CpuExecutor(const CpuExecutorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
CpuExecutor::~CpuExecutor() = default;

std::uint32_t CpuExecutor::workers() const {
  return impl_->backend.workers();
}

const DeviceProperties& CpuExecutor::properties() const {
  return impl_->backend.properties();
}

DeviceExecutorOptions& CpuExecutor::run_options() {
  return impl_->run;
}

void CpuExecutor::run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) {
  out = {};
  impl_->backend.use(dynamic_cast<CpuWork&>(work));
  if (impl_->preloaded()) expect_preloadable(plan);
  DeviceExecutor(impl_->backend, impl_->options()).run(graph, plan, out);
}

void CpuExecutor::run(const Problem& problem,
                      OnlinePolicy& policy,
                      DeviceWork& work,
                      Execution& out) {
  out = {};
  impl_->backend.use(dynamic_cast<CpuWork&>(work));
  if (auto* const workers = dynamic_cast<DispatchingPolicy*>(&policy)) {
    return impl_->run_dispatched(problem, *workers, out);
  }
  if (impl_->preloaded()) {
    throw InfeasibleError(
        "a policy that decides while it runs cannot be preloaded: capture it into device graphs "
        "(\"launch\": \"graph_launch\") or give the host a core");
  }
  DeviceExecutor(impl_->backend, impl_->options()).run(problem, policy, out);
}

}  // namespace schedlab
