// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/default_stream.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

void mark_streams(IdVector<StreamId, StreamSpec>& streams) {
  std::set<DeviceId> seen;
  for (StreamSpec& stream : streams) {
    const bool first = seen.insert(stream.device).second;
    stream.sync = first ? StreamSync::legacy_default : StreamSync::blocking;
    if (first) stream.priority = 0;
  }
}

bool concerns_life(HostCall call) {
  return call.kind() == HostCallKind::create_stream || call.kind() == HostCallKind::destroy_stream;
}

/// Passes the decisions of another policy on, with other streams.
class LegacyDefaultStream final : public OnlinePolicy {
 public:
  explicit LegacyDefaultStream(std::unique_ptr<OnlinePolicy> policy) : policy_(std::move(policy)) {}

  [[nodiscard]] IdVector<StreamId, StreamSpec> initial_streams() override {
    IdVector<StreamId, StreamSpec> streams = policy_->initial_streams();
    if (streams.empty()) streams.push_back({});
    mark_streams(streams);
    legacy_.clear();
    for (const StreamSpec& stream : streams) {
      legacy_.push_back(stream.sync == StreamSync::legacy_default);
    }
    return streams;
  }

  [[nodiscard]] std::optional<OnlineStep> next(const HostView& view) override {
    std::optional<OnlineStep> step = policy_->next(view);
    while (step && concerns_life(step->call) && is_legacy(step->call.stream())) {
      step = policy_->next(HostView{view.now, std::nullopt});
    }
    if (step) step->stream.sync = StreamSync::blocking;
    return step;
  }

 private:
  [[nodiscard]] bool is_legacy(StreamId stream) const {
    return stream.value() < legacy_.size() && legacy_[stream.value()];
  }

  std::unique_ptr<OnlinePolicy> policy_;
  std::vector<bool> legacy_;  // by stream, of those that are there from the start
};

}  // namespace

void use_legacy_default_stream(Plan& plan) {
  mark_streams(plan.streams);
  for (HostProgram& host : plan.hosts) {
    host.calls.erase(
        std::remove_if(host.calls.begin(),
                       host.calls.end(),
                       [&](HostCall call) {
                         return concerns_life(call) && plan.streams.contains(call.stream()) &&
                                plan.streams[call.stream()].sync == StreamSync::legacy_default;
                       }),
        host.calls.end());
  }
}

std::unique_ptr<OnlinePolicy> with_legacy_default_stream(std::unique_ptr<OnlinePolicy> policy) {
  return std::make_unique<LegacyDefaultStream>(std::move(policy));
}

}  // namespace schedlab
