// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/operator_path.hpp"

#include "sim/base/error.hpp"
#include "workloads/traces/replay_parts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

struct HostSpanRow {
  Time started{};
  Time ended{};
  OperatorNode::Of of = OperatorNode::Of::call;
  std::uint32_t row = 0;
  bool waits = false;
};

class OperatorGraph {
 public:
  OperatorGraph(const ImportedTrace& trace, const ReconstructedTrace& order, Time from, Time to)
      : trace_(trace),
        order_(order),
        call_nodes_(trace.calls.size()),
        item_nodes_(order.items.size()) {
    for (const auto& [thread, spans] : host_spans(from, to)) add_thread(spans);
    for (const auto& queue : order.queues) add_queue(queue);
    for (const StreamDependency& dependency : order.dependencies) {
      if (used(dependency.from) && used(dependency.to)) {
        add_edge(item_nodes_[dependency.from].second,
                 item_nodes_[dependency.to].first,
                 OperatorEdgeKind::event,
                 Duration{0});
      }
    }
    for (const HostStep& step : order.host) add_wait(step);
  }

  [[nodiscard]] OperatorPath longest() const {
    std::vector<std::vector<std::uint32_t>> out(nodes_.size());
    std::vector<std::uint32_t> needs(nodes_.size(), 0);
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      out[edges_[e].from].push_back(e);
      ++needs[edges_[e].to];
    }
    std::vector<std::uint32_t> ready;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (needs[n] == 0) ready.push_back(n);
    }
    std::vector<Duration> length(nodes_.size(), Duration{0});
    std::vector<std::uint32_t> by(nodes_.size(), nowhere);
    for (std::size_t next = 0; next < ready.size(); ++next) {
      const std::uint32_t node = ready[next];
      for (const std::uint32_t e : out[node]) {
        const std::uint32_t to = edges_[e].to;
        if (by[to] == nowhere || length[node] + edges_[e].weight > length[to]) {
          length[to] = length[node] + edges_[e].weight;
          by[to] = e;
        }
        if (--needs[to] == 0) ready.push_back(to);
      }
    }
    if (ready.size() < nodes_.size()) refuse_cycle();
    return path_to(last_of(length), by);
  }

 private:
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    OperatorEdgeKind kind = OperatorEdgeKind::host;
    Duration weight{0};
  };

  [[noreturn]] void refuse_cycle() const {
    throw InputError({.file = trace_.file,
                      .pointer = "",
                      .found = "operators and activities that wait for each other",
                      .expected = "an order without a cycle",
                      .hint = "schedlab replay names the tasks of the cycle"});
  }

  [[nodiscard]] std::map<HostThreadId, std::vector<HostSpanRow>> host_spans(Time from,
                                                                            Time to) const {
    std::map<HostThreadId, std::vector<HostSpanRow>> result;
    const auto add = [&](const auto& row, OperatorNode::Of of, std::uint32_t index, bool waits) {
      if (row.started < from || row.started > to || row.ended <= row.started) return;
      result[row.thread].push_back(
          {.started = row.started, .ended = row.ended, .of = of, .row = index, .waits = waits});
    };
    for (std::uint32_t i = 0; i < trace_.operators.size(); ++i) {
      if (trace_.operators[i].kind == OperatorKind::cpu_operator) {
        add(trace_.operators[i], OperatorNode::Of::host_operator, i, false);
      }
    }
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
      const CallKind kind = trace_.calls[i].kind;
      add(trace_.calls[i],
          OperatorNode::Of::call,
          i,
          kind == CallKind::synchronize_device || kind == CallKind::synchronize_stream ||
              kind == CallKind::synchronize_event);
    }
    for (auto& [thread, spans] : result) {
      std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
        return std::tuple{a.started, b.ended, a.of} < std::tuple{b.started, a.ended, b.of};
      });
    }
    return result;
  }

  std::uint32_t add_node(OperatorNode::Of of, std::uint32_t row, bool end, Time when) {
    nodes_.push_back({.of = of, .row = row, .end = end, .when = when});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  void add_edge(std::uint32_t from, std::uint32_t to, OperatorEdgeKind kind, Duration weight) {
    edges_.push_back(
        {.from = from, .to = to, .kind = kind, .weight = std::max(weight, Duration{0})});
  }
  void add_edge(std::uint32_t from, std::uint32_t to, OperatorEdgeKind kind) {
    add_edge(from, to, kind, nodes_[to].when - nodes_[from].when);
  }

  void add_thread(const std::vector<HostSpanRow>& spans) {
    std::vector<const HostSpanRow*> open;
    std::uint32_t last = nowhere;  // within the outermost span
    std::uint32_t last_outer = nowhere;
    const auto close = [&] {
      const HostSpanRow& span = *open.back();
      open.pop_back();
      const std::uint32_t node = add_node(span.of, span.row, true, span.ended);
      if (span.of == OperatorNode::Of::call) call_nodes_[span.row].second = node;
      add_edge(last,
               node,
               OperatorEdgeKind::host,
               span.waits ? Duration{0} : nodes_[node].when - nodes_[last].when);
      last = open.empty() ? nowhere : node;
      if (open.empty()) last_outer = node;
    };
    for (const HostSpanRow& span : spans) {
      while (!open.empty() && open.back()->ended <= span.started) close();
      const std::uint32_t node = add_node(span.of, span.row, false, span.started);
      if (span.of == OperatorNode::Of::call) call_nodes_[span.row] = {node, nowhere};
      if (last != nowhere) {
        add_edge(last, node, OperatorEdgeKind::host);
      } else if (last_outer != nowhere) {
        add_edge(last_outer, node, OperatorEdgeKind::next_operator, Duration{0});
      }
      last = node;
      open.push_back(&span);
    }
    while (!open.empty()) close();
  }

  [[nodiscard]] bool used(StreamItemId item) const { return item_nodes_[item].first != nowhere; }

  /// Items that calls of the window launched; the rows of a graph are one span.
  void add_queue(const std::vector<StreamItemId>& queue) {
    StreamItemId before;
    for (const StreamItemId id : queue) {
      const StreamItem& item = order_.items[id];
      item_nodes_[id] = {nowhere, nowhere};
      if (!item.launched() || call_nodes_[item.call].first == nowhere) continue;
      const std::uint32_t row = order_.rows_of(id).front();
      const std::uint32_t begin = add_node(OperatorNode::Of::activity, row, false, item.started);
      const std::uint32_t end = add_node(OperatorNode::Of::activity, row, true, item.ended);
      item_nodes_[id] = {begin, end};
      add_edge(begin,
               end,
               replaying::is_collective(trace_, trace_.device_rows[row])
                   ? OperatorEdgeKind::collective
                   : OperatorEdgeKind::kernel);
      const std::uint32_t call = call_nodes_[item.call].first;
      if (before.valid() && order_.items[before].ended > trace_.calls[item.call].started) {
        add_edge(item_nodes_[before].second, begin, OperatorEdgeKind::queue);
        add_edge(call, begin, OperatorEdgeKind::launch, Duration{0});
      } else {
        add_edge(call, begin, OperatorEdgeKind::launch);
      }
      before = id;
    }
  }

  void add_wait(const HostStep& step) {
    if (step.kind == HostStepKind::launch) return;
    const std::uint32_t returned = call_nodes_[step.call].second;
    if (returned == nowhere) return;
    const auto wait_for = [&](StreamItemId item) {
      if (used(item)) {
        add_edge(
            item_nodes_[item].second, returned, OperatorEdgeKind::synchronization, Duration{0});
      }
    };
    if (step.kind == HostStepKind::synchronize_item) return wait_for(step.item);
    if (step.kind != HostStepKind::synchronize_device) return;
    for (const auto& queue : order_.queues) {
      const auto done = std::find_if(queue.rbegin(), queue.rend(), [&](StreamItemId item) {
        return used(item) && order_.items[item].ended <= trace_.calls[step.call].ended;
      });
      if (done != queue.rend()) wait_for(*done);
    }
  }

  [[nodiscard]] std::uint32_t last_of(const std::vector<Duration>& length) const {
    std::uint32_t last = nowhere;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (last == nowhere || length[n] > length[last] ||
          (length[n] == length[last] && nodes_[n].when < nodes_[last].when)) {
        last = n;
      }
    }
    return last;
  }

  [[nodiscard]] OperatorPath path_to(std::uint32_t node,
                                     const std::vector<std::uint32_t>& by) const {
    OperatorPath path;
    std::set<std::pair<OperatorNode::Of, std::uint32_t>> events;
    while (node != nowhere) {
      events.emplace(nodes_[node].of, nodes_[node].row);
      OperatorPath::Step step;
      step.node = nodes_[node];
      if (by[node] != nowhere) {
        const Edge& edge = edges_[by[node]];
        step.edge = edge.kind;
        step.weight = edge.weight;
        ++path.edges[static_cast<std::size_t>(edge.kind)];
        path.weights[static_cast<std::size_t>(edge.kind)] += edge.weight;
        path.length += edge.weight;
      }
      path.steps.push_back(step);
      node = by[node] == nowhere ? nowhere : edges_[by[node]].from;
    }
    std::reverse(path.steps.begin(), path.steps.end());
    path.events = static_cast<std::uint32_t>(events.size());
    return path;
  }

  const ImportedTrace& trace_;
  const ReconstructedTrace& order_;
  std::vector<OperatorNode> nodes_;
  std::vector<Edge> edges_;
  struct Ends {
    std::uint32_t first = nowhere;   // begin
    std::uint32_t second = nowhere;  // end
  };
  std::vector<Ends> call_nodes_;
  IdVector<StreamItemId, Ends> item_nodes_;
};

}  // namespace

OperatorPath operator_path(const ImportedTrace& trace,
                           const ReconstructedTrace& order,
                           Time from,
                           Time to) {
  return OperatorGraph(trace, order, from, to).longest();
}

}  // namespace schedlab
