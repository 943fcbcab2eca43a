// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::checker {
namespace {

/// Hosts, streams and collectives without time.
class Untimed {
 public:
  Untimed(const PlanIndex& index, FindingList& findings)
      : index_(index),
        collectives_(index.graph().collectives()),
        findings_(findings),
        streams_(index.plan().streams.size()),
        hosts_(index.plan().hosts.size()),
        last_record_(index.plan().event_count, never),
        messages_(index.plan().messages.size()),
        arrived_(collectives_.size(), 0) {}

  void run() {
    for (const HostId host : hosts_.ids()) ready_hosts_.push_back(host);
    while (!ready_hosts_.empty() || !ready_streams_.empty()) {
      if (!ready_streams_.empty()) {
        const StreamId stream = ready_streams_.back();
        ready_streams_.pop_back();
        advance(stream);
      } else {
        const HostId host = ready_hosts_.back();
        ready_hosts_.pop_back();
        follow(host);
      }
    }
    report();
  }

 private:
  struct Item {
    std::uint32_t number = 0;  // of its call
    std::uint32_t record =
        never;  // a record: its own number among records; a wait: the one it meets
  };
  struct Stream {
    std::vector<Item> items;
    std::size_t head = 0;
    bool in_collective = false;  // its head is a part that has arrived
    std::vector<HostId> waiting_hosts;

    [[nodiscard]] bool empty() const { return head == items.size(); }
  };
  struct Host {
    std::uint32_t next = 0;
    std::uint64_t pending = 0;  // items that it put into streams and that are not done
    bool waits_for_all = false;
  };
  struct Record {
    StreamId stream;
    bool done = false;
    std::vector<StreamId> waiting_streams;
    std::vector<HostId> waiting_hosts;
  };
  struct Message {
    bool sent = false;
    bool asked = false;
    std::vector<HostId> waiting;
  };

  [[nodiscard]] const Plan& plan() const { return index_.plan(); }
  [[nodiscard]] HostCall call_at(std::uint32_t number) const {
    const CallSite site = index_.site(number);
    return plan().hosts[site.host].calls[site.call];
  }

  void follow(HostId host) {
    Host& state = hosts_[host];
    const auto& calls = plan().hosts[host].calls;
    for (; state.next < calls.size(); ++state.next) {
      if (index_.skip(host, state.next)) continue;
      if (!make(host, calls[state.next])) return;
    }
  }

  /// False: the host waits, and is put back when what it waits for has happened.
  bool make(HostId host, HostCall call) {
    switch (call.kind()) {
      case HostCallKind::launch:
      case HostCallKind::record:
      case HostCallKind::wait:
        enqueue(host, call);
        return true;
      case HostCallKind::synchronize:
        return synchronize(host, call);
      default:
        return !concerns_message(call.kind()) || message(host, call);
    }
  }

  void enqueue(HostId host, HostCall call) {
    Item item{.number = index_.number(host, hosts_[host].next)};
    if (call.kind() == HostCallKind::record) {
      item.record = static_cast<std::uint32_t>(records_.size());
      records_.emplace_back().stream = call.stream();
      last_record_[call.event()] = item.record;
    } else if (call.kind() == HostCallKind::wait) {
      item.record = last_record_[call.event()];
    }
    Stream& stream = streams_[call.stream()];
    if (stream.empty()) ready_streams_.push_back(call.stream());
    stream.items.push_back(item);
    ++hosts_[host].pending;
  }

  bool synchronize(HostId host, HostCall call) {
    if (call.stream().valid()) {
      Stream& stream = streams_[call.stream()];
      if (stream.empty()) return true;
      stream.waiting_hosts.push_back(host);
      return false;
    }
    if (call.argument() != HostCall::none) {
      const std::uint32_t record = last_record_[call.event()];
      if (record == never || records_[record].done) return true;
      records_[record].waiting_hosts.push_back(host);
      return false;
    }
    hosts_[host].waits_for_all = hosts_[host].pending != 0;
    return !hosts_[host].waits_for_all;
  }

  bool message(HostId host, HostCall call) {
    const MessageSpec& spec = plan().messages[call.message()];
    Message& state = messages_[call.message()];
    const bool sends = spec.from == host && call.kind() != HostCallKind::receive &&
                       call.kind() != HostCallKind::irecv;
    if (call.kind() != HostCallKind::wait_message) {
      (sends ? state.sent : state.asked) = true;
      for (const HostId other : std::exchange(state.waiting, {})) ready_hosts_.push_back(other);
    }
    if (call.kind() == HostCallKind::isend || call.kind() == HostCallKind::irecv) return true;
    if (spec.one_sided == OneSided::get) return true;  // does not wait
    const bool eager = spec.leaves_at_once(index_.platform().network.eager_threshold);
    if (sends ? (state.asked || eager) : state.sent) return true;
    state.waiting.push_back(host);
    return false;
  }

  void advance(StreamId id) {
    Stream& stream = streams_[id];
    while (!stream.empty() && !stream.in_collective) {
      const Item item = stream.items[stream.head];
      const HostCall call = call_at(item.number);
      if (call.kind() == HostCallKind::launch) {
        const CollectiveId collective = collectives_.of(call.task());
        if (collective.valid()) {
          stream.in_collective = true;
          if (++arrived_[collective] == collectives_.tasks(collective).size()) complete(collective);
          return;
        }
      } else if (call.kind() == HostCallKind::record) {
        records_[item.record].done = true;
        for (const StreamId other : std::exchange(records_[item.record].waiting_streams, {})) {
          ready_streams_.push_back(other);
        }
        for (const HostId host : std::exchange(records_[item.record].waiting_hosts, {})) {
          ready_hosts_.push_back(host);
        }
      } else if (item.record != never && !records_[item.record].done) {
        records_[item.record].waiting_streams.push_back(id);
        return;
      }
      pop(id);
    }
  }

  void complete(CollectiveId collective) {
    for (const TaskId part : collectives_.tasks(collective)) {
      const StreamId stream = call_at(index_.launch_of(part)).stream();
      streams_[stream].in_collective = false;
      pop(stream);
      ready_streams_.push_back(stream);
    }
  }

  void pop(StreamId id) {
    Stream& stream = streams_[id];
    Host& host = hosts_[index_.site(stream.items[stream.head].number).host];
    ++stream.head;
    if (--host.pending == 0 && host.waits_for_all) {
      host.waits_for_all = false;
      ready_hosts_.push_back(index_.site(stream.items[stream.head - 1].number).host);
    }
    if (!stream.empty()) return;
    for (const HostId waiting : std::exchange(stream.waiting_hosts, {})) {
      ready_hosts_.push_back(waiting);
    }
  }

  // What stands still: a collective waits for a part, that stands behind something in its stream
  // or is not launched yet by a host that waits, and so on, round or to an end.

  void report() {
    IdVector<CollectiveId, std::uint8_t> seen(collectives_.size(), 0);
    for (const CollectiveId id : collectives_.ids()) {
      if (arrived_[id] == 0 || arrived_[id] == collectives_.tasks(id).size() || seen[id] != 0) {
        continue;
      }
      std::vector<CollectiveId> round;
      std::string text = chain(id, seen, round);
      if (round.empty()) continue;  // leads into what is reported already
      const CallSite site = index_.site(index_.launch_of(waiting_part(id)));
      findings_.add(FindingKind::deadlock, site.host, site.call, [&] { return text; });
    }
  }

  /// A part that has arrived.
  [[nodiscard]] TaskId waiting_part(CollectiveId id) const {
    for (const TaskId part : collectives_.tasks(id)) {
      if (has_arrived(part)) return part;
    }
    return TaskId::none();
  }
  [[nodiscard]] bool has_arrived(TaskId part) const {
    const std::uint32_t launch = index_.launch_of(part);
    if (launch == never) return false;
    const Stream& stream = streams_[call_at(launch).stream()];
    return stream.in_collective && stream.items[stream.head].number == launch;
  }

  std::string chain(CollectiveId id,
                    IdVector<CollectiveId, std::uint8_t>& seen,
                    std::vector<CollectiveId>& round) const {
    std::string text;
    CollectiveId at = id;
    while (at.valid()) {
      if (seen[at] != 0) {
        const bool closes = std::find(round.begin(), round.end(), at) != round.end();
        if (!closes) round.clear();
        return text + fmt::format("{}, which waits itself", name(at));
      }
      seen[at] = 1;
      round.push_back(at);
      const auto tasks = collectives_.tasks(at);
      const auto missing = std::find_if(
          tasks.begin(), tasks.end(), [this](TaskId part) { return !has_arrived(part); });
      text += fmt::format("{} ({} of {} parts have started) waits for {} on rank {}, which ",
                          name(at),
                          arrived_[at],
                          tasks.size(),
                          index_.graph().name(*missing),
                          index_.graph().rank(*missing));
      CollectiveId next;
      text += why_not(*missing, next);
      if (!next.valid()) return text;
      at = next;
    }
    return text;
  }

  [[nodiscard]] std::string name(CollectiveId id) const {
    return fmt::format("{} {} ({})",
                       to_string(collectives_.spec(id).op),
                       id.value(),
                       index_.graph().name(collectives_.tasks(id).front()));
  }

  /// Why the part does not start; `next`: the collective behind which it stands.
  std::string why_not(TaskId part, CollectiveId& next) const {
    const std::uint32_t launch = index_.launch_of(part);
    if (launch == never) return "no call launches";
    const CallSite site = index_.site(launch);
    if (hosts_[site.host].next <= site.call) {
      const std::uint32_t call = hosts_[site.host].next;
      const HostCall blocked = plan().hosts[site.host].calls[call];
      std::string text = fmt::format("{} has not launched: it waits in {} ({})",
                                     host_name(plan(), site.host),
                                     call_name(plan(), site.host, call),
                                     to_string(blocked.kind()));
      if (blocked.stream().valid()) next = head_of(blocked.stream());
      if (next.valid())
        text += fmt::format(" for {} and so for ", plan().stream_name(blocked.stream()));
      return text;
    }
    const StreamId stream = plan().hosts[site.host].calls[site.call].stream();
    next = head_of(stream);
    std::string text = fmt::format("stands in {} behind ", plan().stream_name(stream));
    if (!next.valid()) text += "a wait that never passes";
    return text;
  }

  /// The collective in which the stream stands, also where it waits for an event of another.
  [[nodiscard]] CollectiveId head_of(StreamId id) const {
    for (std::size_t hops = 0; hops <= streams_.size(); ++hops) {
      const Stream& stream = streams_[id];
      if (stream.empty()) return CollectiveId::none();
      const Item& item = stream.items[stream.head];
      const HostCall call = call_at(item.number);
      if (call.kind() == HostCallKind::launch) return collectives_.of(call.task());
      if (call.kind() != HostCallKind::wait || item.record == never) break;
      id = records_[item.record].stream;
    }
    return CollectiveId::none();
  }

  const PlanIndex& index_;
  const CollectiveTable& collectives_;
  FindingList& findings_;
  IdVector<StreamId, Stream> streams_;
  IdVector<HostId, Host> hosts_;
  IdVector<EventId, std::uint32_t> last_record_;
  std::vector<Record> records_;
  std::vector<Message> messages_;
  IdVector<CollectiveId, std::uint32_t> arrived_;
  std::vector<StreamId> ready_streams_;
  std::vector<HostId> ready_hosts_;
};

}  // namespace

void check_collectives(const PlanIndex& index, FindingList& findings) {
  if (index.graph().collectives().empty() || !index.plan().graphs.empty()) return;
  Untimed{index, findings}.run();
}

}  // namespace schedlab::checker
