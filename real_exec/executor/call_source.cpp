// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/call_source.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace schedlab::detail {

CallSource calls_of(const Plan& plan) {
  return {.next = [&plan, position = std::size_t{0}](
                      const HostView&) mutable -> std::optional<OnlineStep> {
            const auto& calls = plan.hosts[HostId{0}].calls;
            if (position == calls.size()) return std::nullopt;
            OnlineStep step{.call = calls[position++], .stream = {}};
            if (step.call.kind() == HostCallKind::create_stream) {
              step.stream = plan.streams[step.call.stream()];
            }
            return step;
          },
          .answer = [](bool) {}};
}

CallSource calls_of(PolicySource& source) {
  return {.next = [&source](const HostView& view) -> std::optional<OnlineStep> {
            const auto call = source.next(HostId{0}, view);
            if (!call) return std::nullopt;
            OnlineStep step{.call = *call, .stream = {}};
            if (call->kind() == HostCallKind::create_stream) {
              step.stream = source.plan().streams[call->stream()];
            }
            return step;
          },
          .answer = [&source](bool idle) { source.answer(HostId{0}, idle); }};
}

void expect_one_host(const Plan& plan, std::string_view executor) {
  if (plan.hosts.size() != 1) {
    throw InfeasibleError(fmt::format(
        "{} runs one host thread, the plan of {} has {}: nothing is moved between devices\n"
        "  simulate it; ranks on cores train a net by such plans: execute --device mpi",
        executor,
        plan.policy,
        plan.hosts.size()));
  }
  if (!plan.messages.empty()) {
    throw InfeasibleError(fmt::format("{} runs one host: the plan sends messages", executor));
  }
}

}  // namespace schedlab::detail
