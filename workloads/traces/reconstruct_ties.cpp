// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/reconstruct_parts.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace schedlab::reconstruction {
namespace {

class TieFinder {
 public:
  TieFinder(const ImportedTrace& trace, const LaunchOrder& order, ReconstructedTrace& result)
      : trace_(trace), order_(order), result_(result) {
    for (const SyncRow& row : trace.synchronizations) {
      recorded_ = recorded_ || row.kind == SyncRowKind::stream_wait_event;
    }
  }

  void run() {
    for (std::uint32_t call = 0; call < trace_.calls.size(); ++call) {
      if (trace_.calls[call].kind != CallKind::wait_event) continue;
      if (const SyncRow* row = order_.row(trace_.calls[call]); row != nullptr) {
        add_recorded(call, *row);
      } else if (recorded_) {
        ++result_.waits.without_effect;  // the driver writes a row for every wait that has one
      } else {
        infer(call);
      }
    }
    std::sort(
        result_.dependencies.begin(), result_.dependencies.end(), [](const auto& a, const auto& b) {
          return std::pair{a.to, a.from} < std::pair{b.to, b.from};
        });
  }

 private:
  [[nodiscard]] bool in_time(StreamItemId from, StreamItemId to) const {
    return result_.items[from].ended <= result_.items[to].started + slack(trace_);
  }

  bool add(StreamItemId from, StreamItemId to, DependencyEvidence evidence, std::uint32_t call) {
    if (!seen_.emplace(to, from).second) return false;
    result_.dependencies.push_back({.from = from, .to = to, .evidence = evidence, .call = call});
    return true;
  }

  void add_recorded(std::uint32_t call, const SyncRow& row) {
    const Time when = trace_.calls[call].started;
    const StreamId waiting = order_.stream(row.device, row.stream);
    const StreamId other = order_.stream(row.device, row.wait_on_stream);
    const CallRow* recording = order_.recording(row.record_correlation);
    const Launch* from =
        other.valid() && other != waiting
            ? order_.last_before(other, recording != nullptr ? recording->started : when)
            : nullptr;
    const Launch* to = waiting.valid() ? order_.first_after(waiting, when) : nullptr;
    if (from == nullptr || to == nullptr) {
      ++result_.waits.without_effect;
      return;
    }
    // Without the recording it is known only that it was not later than the wait.
    while (recording == nullptr && from != nullptr && !in_time(from->item, to->item)) {
      from = order_.last_before(other, from->called);
    }
    // A recording that is known binds, whatever the clocks say.
    if (from == nullptr) {
      ++result_.waits.contradicted;
    } else if (add(from->item, to->item, DependencyEvidence::recorded, call)) {
      ++result_.waits.recorded;
    } else {
      ++result_.waits.without_effect;
    }
  }

  void infer(std::uint32_t call) {
    const CallRow& wait = trace_.calls[call];
    const Launch* next = order_.next_of(wait.thread, wait.started);
    const Launch* to = next == nullptr ? nullptr : order_.first_after(next->stream, wait.started);
    if (to == nullptr) {
      ++result_.waits.without_effect;
      return;
    }
    const Launch* own = order_.last_before(to->stream, wait.started);
    const Launch* from = nullptr;
    bool newer = false;
    for (const Launch* candidate : candidates(*to, wait.started)) {
      if (seen_.contains({to->item, candidate->item}) || !in_time(candidate->item, to->item)) {
        continue;
      }
      newer = own == nullptr || own->called < candidate->called;
      if (!newer && result_.items[candidate->item].ended <= wait.started) continue;
      from = candidate;
      break;
    }
    if (const Launch* later = latest_done(*to, own, from, wait.started); later != nullptr) {
      from = later;
      newer = false;
    }
    if (from == nullptr) {
      ++result_.waits.unresolved;
      return;
    }
    add(from->item,
        to->item,
        newer ? DependencyEvidence::launch_order : DependencyEvidence::running_work,
        call);
    ++(newer ? result_.waits.by_launch_order : result_.waits.by_running_work);
  }

  /// The event may have been recorded before the last launch into its stream. Where `to` started
  /// long after all that it is known to wait for, `from` included: of all that was launched before
  /// the wait, and ended after that and in time, the last to end.
  [[nodiscard]] const Launch* latest_done(const Launch& to,
                                          const Launch* own,
                                          const Launch* from,
                                          Time when) const {
    const StreamItem& item = result_.items[to.item];
    Time ready = trace_.calls[item.call].ended;
    const auto wait_for = [&](StreamItemId id) {
      ready = std::max(ready, result_.items[id].ended);
    };
    if (own != nullptr) wait_for(own->item);
    if (from != nullptr) wait_for(from->item);
    for (const StreamDependency& dependency : result_.dependencies) {
      if (dependency.to == to.item) wait_for(dependency.from);
    }
    if (item.started - ready <= unexplained_wait) return nullptr;
    const Launch* found = nullptr;
    for (const Launch* last : candidates(to, when)) {
      while (last != nullptr && !in_time(last->item, to.item)) {
        last = order_.last_before(last->stream, last->called);
      }
      if (last == nullptr || result_.items[last->item].ended <= ready) continue;
      wait_for(last->item);
      found = last;
    }
    return found;
  }

  /// The last launch into each other stream of the device, the latest first.
  [[nodiscard]] std::vector<const Launch*> candidates(const Launch& to, Time when) const {
    std::vector<const Launch*> result;
    for (const StreamId stream : result_.streams.ids()) {
      if (stream == to.stream ||
          result_.streams[stream].device != result_.streams[to.stream].device) {
        continue;
      }
      const Launch* last = order_.last_before(stream, when);
      if (last != nullptr) result.push_back(last);
    }
    std::stable_sort(result.begin(), result.end(), [](const Launch* a, const Launch* b) {
      return a->called > b->called;
    });
    return result;
  }

  const ImportedTrace& trace_;
  const LaunchOrder& order_;
  ReconstructedTrace& result_;
  bool recorded_ = false;
  std::set<std::pair<StreamItemId, StreamItemId>> seen_;
};

}  // namespace

void find_ties(const ImportedTrace& trace, const LaunchOrder& order, ReconstructedTrace& result) {
  TieFinder(trace, order, result).run();
}

}  // namespace schedlab::reconstruction
