// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"
#include "sim/trace/release_index.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {

/// What the hosts of a trace waited for, and until when: where a critical path goes on that has
/// come to a host.
class HostWaits {
 public:
  static constexpr std::uint32_t none = ReleaseIndex::none;

  /// The end of a wait: of the two causes one is known.
  struct Release {
    Time at{};                     ///< from here on the host ran
    std::uint32_t task = none;     ///< index in Trace::tasks
    std::uint32_t message = none;  ///< index in Trace::messages
  };
  /// A host at a moment.
  struct Place {
    HostId host;
    Time at{};
  };

  /// `plan`: null if it is not known. All must outlive this. Cost   O((tasks + calls) * log).
  HostWaits(const Trace& trace, const ReleaseIndex& index, const Plan* plan);

  /// The last wait of the host that was over by `time`. nullopt: it had waited for nothing.
  [[nodiscard]] std::optional<Release> last_before(HostId host, Time time) const;
  /// Who let the message go, and when: its sender, or the receiver if that came later.
  [[nodiscard]] Place origin(std::uint32_t message) const;
  /// The host whose call ended last; nullopt without recorded calls.
  [[nodiscard]] std::optional<Place> last_call() const;

 private:
  struct Thread {
    std::vector<const HostSpan*> waits;  // by rising end
    /// Synchronize calls with an event: {place in the program, span it stands for}, by place.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> awaited;
    std::vector<std::uint32_t> tasks;  // spans that it launched, by rising end
  };
  /// When its two sides posted a message; a side may have no call.
  struct Posts {
    std::optional<Time> sent;
    std::optional<Time> received;
  };

  void index_calls();
  void index_messages();
  void follow_program(HostId host, const Plan& plan, std::vector<std::uint32_t>& launched);
  [[nodiscard]] Thread& thread(HostId host);
  [[nodiscard]] std::uint32_t find_message(HostCall call) const;
  [[nodiscard]] Release release_of(const HostSpan& call, Time until) const;
  [[nodiscard]] std::uint32_t awaited_task(const HostSpan& call, Time until) const;

  const Trace& trace_;
  const ReleaseIndex& index_;
  const Plan* plan_;
  std::vector<Thread> threads_;
  /// {number, index in Trace::messages}, by number.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> messages_;
  std::vector<Posts> posts_;  // by index in Trace::messages
};

}  // namespace schedlab
