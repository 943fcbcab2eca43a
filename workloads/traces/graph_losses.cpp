// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/graph_losses.hpp"

#include "workloads/traces/launch_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t most_graphs = 64;  // of one site: with more, nothing says which is whole

/// One launch of a graph with its nodes.
struct Launched {
  std::uint32_t call = 0;
  std::vector<std::uint32_t> rows;  // by start
  std::vector<TextId> names;        // of the rows
  std::uint64_t graph = 0;          // 0 = not known
  /// Thread, operators around the call (a number for each distinct nest; 0 = none), place in the
  /// iteration.
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> site;

  [[nodiscard]] std::uint32_t nest() const { return std::get<1>(site); }
};

/// Is `part` what is left of `whole` where some were left out?
bool is_part(const std::vector<TextId>& part, const std::vector<TextId>& whole) {
  if (part.size() >= whole.size()) return false;
  std::size_t found = 0;
  for (const TextId name : whole) {
    if (found < part.size() && part[found] == name) ++found;
  }
  return found == part.size();
}

/// The graph launches of a trace, by the start of the call.
class Launches {
 public:
  explicit Launches(const ImportedTrace& trace) : trace_(trace) {
    const LaunchIndex index(trace.calls);
    std::map<HostThreadId, bool> capturing;
    for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
      const CallRow& call = trace.calls[i];
      if (call.kind == CallKind::capture) {
        capturing[call.thread] =
            trace.texts[call.name].find("BeginCapture") != std::string_view::npos;
      }
      if (call.kind != CallKind::launch_graph || capturing[call.thread]) continue;
      place_.emplace(i, all.size());
      all.push_back({.call = i, .rows = {}, .names = {}, .graph = 0, .site = {}});
    }
    if (all.empty()) return;
    for (std::uint32_t row = 0; row < trace.device_rows.size(); ++row) {
      add(index.find(trace.device_rows[row].correlation), row);
    }
    find_sites();
  }

  std::vector<Launched> all;

 private:
  void add(std::optional<std::uint32_t> call, std::uint32_t index) {
    const auto found = call ? place_.find(*call) : place_.end();
    if (found == place_.end()) return;
    const DeviceRow& row = trace_.device_rows[index];
    Launched& launch = all[found->second];
    launch.rows.push_back(index);
    launch.names.push_back(row.name);
    if (launch.graph == 0) launch.graph = row.graph;
  }

  /// Operators and calls are sorted by start, outer before inner: one walk over both.
  void find_sites() {
    std::map<HostThreadId, std::vector<const OperatorRow*>> open;
    std::map<std::vector<TextId>, std::uint32_t> nests;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> seen;  // in the iteration
    std::size_t next = 0;
    for (Launched& launch : all) {
      const CallRow& call = trace_.calls[launch.call];
      for (; next < trace_.operators.size(); ++next) {
        const OperatorRow& row = trace_.operators[next];
        if (row.started > call.started) break;
        if (row.kind == OperatorKind::iteration) {
          seen.clear();
          iterations_ = true;
          continue;
        }
        auto& around = open[row.thread];
        std::erase_if(around, [&](const OperatorRow* o) { return o->ended <= row.started; });
        around.push_back(&row);
      }
      std::vector<TextId> names;
      for (const OperatorRow* row : open[call.thread]) {
        if (row->ended >= call.ended) names.push_back(row->name);
      }
      const std::uint32_t nest =
          names.empty() ? 0 : nests.try_emplace(std::move(names), nests.size() + 1).first->second;
      const std::uint32_t place = seen[{call.thread.value(), nest}]++;
      launch.site = {call.thread.value(), nest, iterations_ ? place : 0};
    }
  }

  const ImportedTrace& trace_;
  std::unordered_map<std::uint32_t, std::size_t> place_;  // by call
  bool iterations_ = false;
};

/// Launches that are alike, by the names of their nodes; without those that have none.
using Alike = std::map<std::vector<TextId>, std::vector<const Launched*>>;

/// When a stream was free before, and busy after, what a call put into it.
class StreamRows {
 public:
  void add(std::uint32_t call, const DeviceRow& row) {
    rows_.push_back({.call = call, .started = row.started, .ended = row.ended});
  }
  void finish() {
    std::sort(
        rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.call < b.call; });
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      rows_[i].ended = std::max(rows_[i].ended, rows_[i - 1].ended);
    }
    for (std::size_t i = rows_.size(); i-- > 1;) {
      rows_[i - 1].started = std::min(rows_[i].started, rows_[i - 1].started);
    }
  }

  [[nodiscard]] Time ended_before(std::uint32_t call) const {
    const auto next = std::partition_point(
        rows_.begin(), rows_.end(), [&](const Row& row) { return row.call < call; });
    return next == rows_.begin() ? Time{} : std::prev(next)->ended;
  }
  [[nodiscard]] Time starts_after(std::uint32_t call) const {
    const auto next = std::partition_point(
        rows_.begin(), rows_.end(), [&](const Row& row) { return row.call <= call; });
    return next == rows_.end() ? Time::max() : next->started;
  }

 private:
  struct Row {
    std::uint32_t call;
    Time started;  // the first of this and all later calls
    Time ended;    // the last of this and all earlier calls
  };
  std::vector<Row> rows_;
};

class LossFinder {
 public:
  explicit LossFinder(const ImportedTrace& trace) : trace_(trace), launches_(trace) {
    for (const DeviceRow& row : trace.device_rows) end_ = std::max(end_, row.ended);
    for (const CallRow& row : trace.calls) end_ = std::max(end_, row.ended);
    for (const Launched& launch : launches_.all) {
      if (launch.rows.empty()) continue;
      if (launch.graph != 0) {
        const Launched*& largest = by_number_[launch.graph];
        if (largest == nullptr || launch.rows.size() > largest->rows.size()) largest = &launch;
      }
      by_site_[launch.site][launch.names].push_back(&launch);
    }
  }

  [[nodiscard]] std::vector<GraphLoss> find() {
    std::vector<std::pair<const Launched*, const Launched*>> losses;
    for (const Launched& launch : launches_.all) {
      if (launch.rows.empty()) continue;
      const Launched* whole = launch.graph != 0 ? by_number_.at(launch.graph) : sibling_of(launch);
      if (whole == nullptr || whole->rows.size() <= launch.rows.size()) {
        whole_on_[std::get<0>(launch.site)][launch.names].push_back(&launch);
        whole_at_[launch.site][launch.names].push_back(&launch);
      } else {
        losses.emplace_back(&launch, whole);
      }
    }
    for (const Launched& launch : launches_.all) {
      if (launch.rows.empty()) losses.emplace_back(&launch, sibling_of_nothing(launch));
    }
    std::sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) {
      return a.first->call < b.first->call;
    });
    std::vector<GraphLoss> result;
    result.reserve(losses.size());
    for (const auto& [launch, whole] : losses) result.push_back(loss(*launch, whole));
    return result;
  }

 private:
  /// The launch that this one, whose graph has no number, is a part of; nullptr if it is whole.
  [[nodiscard]] const Launched* sibling_of(const Launched& launch) const {
    const Alike& site = by_site_.at(launch.site);
    if (launch.nest() == 0 || site.size() > most_graphs || site.at(launch.names).size() > 1) {
      return nullptr;
    }
    const Launched* found = nullptr;
    std::size_t launches = 0;
    for (const auto& [names, alike] : site) {
      if (alike.size() <= launches || alike.front()->graph != 0) continue;
      if (!is_part(launch.names, names)) continue;
      found = alike.front();
      launches = alike.size();
    }
    return found;
  }

  [[nodiscard]] const Launched* sibling_of_nothing(const Launched& launch) const {
    const auto only = [](const auto& groups, const auto& key) -> const Launched* {
      const auto found = groups.find(key);
      if (found == groups.end() || found->second.size() != 1) return nullptr;
      return found->second.begin()->second.front();
    };
    if (const Launched* at_site = only(whole_at_, launch.site)) return at_site;
    return whole_at_.contains(launch.site) ? nullptr : only(whole_on_, std::get<0>(launch.site));
  }

  [[nodiscard]] GraphLoss loss(const Launched& launch, const Launched* whole) {
    GraphLoss made{.call = launch.call, .recorded = static_cast<std::uint32_t>(launch.rows.size())};
    const Launched& shown = whole != nullptr ? *whole : launch;
    if (whole != nullptr) {
      made.expected = static_cast<std::uint32_t>(whole->rows.size());
      made.sibling = whole->call;
      std::size_t there = 0;
      for (const TextId name : whole->names) {
        if (there < launch.names.size() && launch.names[there] == name) {
          ++there;
        } else {
          made.missing.push_back(name);
        }
      }
    }
    if (!shown.rows.empty()) {
      made.device = trace_.device_rows[shown.rows.front()].device;
      made.stream = trace_.device_rows[shown.rows.front()].stream;
    }
    set_stretch(launch, made);
    return made;
  }

  /// From the end of what was launched before into the graph's stream to the start of what was
  /// launched after; of all streams where that is unknown.
  void set_stretch(const Launched& launch, GraphLoss& made) {
    const CallRow& own = trace_.calls[launch.call];
    const StreamRows& rows = rows_of(made);
    made.from = std::max(own.started, rows.ended_before(launch.call));
    made.to = std::min(end_, rows.starts_after(launch.call));
    if (!launch.rows.empty()) {
      made.from = std::min(made.from, trace_.device_rows[launch.rows.front()].started);
    }
    for (std::uint32_t i = launch.call + 1; i < trace_.calls.size(); ++i) {
      const CallRow& call = trace_.calls[i];
      if (call.started >= made.to) break;
      if (call.kind != CallKind::synchronize_device || call.thread != own.thread) continue;
      made.to = std::min(made.to, call.ended);
      break;
    }
    for (const std::uint32_t row : launch.rows) {
      made.to = std::max(made.to, trace_.device_rows[row].ended);
    }
    made.from = std::min(made.from, made.to);
  }

  [[nodiscard]] const StreamRows& rows_of(const GraphLoss& loss) {
    const bool known = loss.stream >= 0;
    const auto [place, added] =
        rows_.try_emplace(known ? std::pair{loss.device, loss.stream} : std::pair{0, -1L});
    if (!added) return place->second;
    for (const DeviceRow& row : trace_.device_rows) {
      const bool mine = !known || (row.device == loss.device && row.stream == loss.stream);
      if (const auto call = index_.find(row.correlation); mine && call) {
        place->second.add(*call, row);
      }
    }
    place->second.finish();
    return place->second;
  }

  const ImportedTrace& trace_;
  LaunchIndex index_{trace_.calls};
  Launches launches_;
  Time end_{};  // of the trace
  std::map<std::pair<std::int32_t, std::int64_t>, StreamRows> rows_;
  std::unordered_map<std::uint64_t, const Launched*> by_number_;  // the one with most nodes
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Alike> by_site_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Alike> whole_at_;
  std::map<std::uint32_t, Alike> whole_on_;  // by thread
};

Duration median_of(std::vector<Duration> values, Duration resolution) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return resolution > Duration{0} ? *middle - *middle % resolution : *middle;
}

/// What the whole launches of a graph have in common.
struct TypicalGraph {
  std::vector<DeviceRow> nodes;   // of one of them
  std::vector<Duration> offsets;  // of starts, since the graph's; do not fall
  std::vector<Duration> durations;
  Duration latency{0};  // from the begin of the call to that of the graph
  [[nodiscard]] Duration length() const {
    Duration end{0};
    for (std::size_t i = 0; i < nodes.size(); ++i) end = std::max(end, offsets[i] + durations[i]);
    return end;
  }
};

class LaunchFiller {
 public:
  explicit LaunchFiller(ImportedTrace& trace) : trace_(trace), launches_(trace) {
    for (const Launched& launch : launches_.all) by_call_[launch.call] = &launch;
  }

  void run() {
    for (GraphLoss& loss : trace_.graph_losses) {
      if (loss.expected > 0 && loss.open()) fill(loss);
    }
    if (made_.empty()) return;
    trace_.device_rows.insert(trace_.device_rows.end(), made_.begin(), made_.end());
    put_in_order(trace_);
  }

 private:
  [[nodiscard]] const TypicalGraph& typical(std::uint32_t sibling) {
    const auto [place, added] = typical_.try_emplace(sibling);
    if (!added) return place->second;
    const Launched& one = *by_call_.at(sibling);
    std::vector<const Launched*> whole;
    for (const Launched& other : launches_.all) {
      if (other.names == one.names && other.graph == one.graph) whole.push_back(&other);
    }
    TypicalGraph& made = place->second;
    const auto median = [&](const auto& of) {
      std::vector<Duration> values;
      values.reserve(whole.size());
      for (const Launched* launch : whole) values.push_back(of(*launch));
      return median_of(std::move(values), trace_.resolution);
    };
    const auto begin = [&](const Launched& launch) { return row(launch, 0).started; };
    made.latency = median(
        [&](const Launched& launch) { return begin(launch) - trace_.calls[launch.call].started; });
    for (std::size_t node = 0; node < one.rows.size(); ++node) {
      made.nodes.push_back(row(one, node));
      const Duration offset =
          median([&](const Launched& launch) { return row(launch, node).started - begin(launch); });
      made.offsets.push_back(made.offsets.empty() ? offset : std::max(offset, made.offsets.back()));
      made.durations.push_back(median([&](const Launched& launch) {
        return row(launch, node).ended - row(launch, node).started;
      }));
    }
    return made;
  }

  /// Which nodes are there, of those that should be: by their numbers, else as many as possible
  /// from the beginning and the rest from the end, else by name, one after another.
  [[nodiscard]] std::vector<const DeviceRow*> match(const TypicalGraph& whole,
                                                    const Launched& launch) const {
    std::vector<const DeviceRow*> there(whole.nodes.size(), nullptr);
    const std::size_t count = launch.rows.size();
    if (count > 0 && row(launch, 0).graph_node != 0) {
      std::unordered_map<std::uint64_t, std::size_t> places;
      for (std::size_t i = 0; i < there.size(); ++i) places[whole.nodes[i].graph_node] = i;
      for (std::size_t i = 0; i < count; ++i) {
        const auto found = places.find(row(launch, i).graph_node);
        if (found != places.end()) there[found->second] = &row(launch, i);
      }
      return there;
    }
    std::size_t from_begin = 0;
    while (from_begin < count && launch.names[from_begin] == whole.nodes[from_begin].name) {
      there[from_begin] = &row(launch, from_begin);
      ++from_begin;
    }
    std::size_t from_end = 0;
    while (from_begin + from_end < count &&
           launch.names[count - 1 - from_end] == whole.nodes[there.size() - 1 - from_end].name) {
      there[there.size() - 1 - from_end] = &row(launch, count - 1 - from_end);
      ++from_end;
    }
    for (std::size_t i = from_begin; from_begin < count - from_end && i < there.size(); ++i) {
      if (there[i] == nullptr && launch.names[from_begin] == whole.nodes[i].name) {
        there[i] = &row(launch, from_begin++);
      }
    }
    return there;
  }

  void fill(GraphLoss& loss) {
    const TypicalGraph& whole = typical(loss.sibling);
    const Launched& launch = *by_call_.at(loss.call);
    const auto there = match(whole, launch);
    const Time begin = begin_of(loss, whole, there);
    const Duration available = std::max(Duration{0}, loss.to - begin);
    const bool fits = loss.recorded > 0 || whole.length() <= available;
    const double scale = fits ? 1.0 : to_us(available) / to_us(whole.length());
    const auto placed = [&](Duration offset) {
      const Duration kept = fits ? offset : from_us(to_us(offset) * scale);
      const Duration step = std::max(trace_.resolution, Duration{1});
      return std::min(loss.to, begin + (kept - kept % step));
    };
    const Time before = made_.empty() ? Time{} : free_at(loss);
    Time last = before;
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (there[i] != nullptr) continue;
      DeviceRow made = whole.nodes[i];
      made.correlation = trace_.calls[loss.call].correlation;
      made.external_id = trace_.calls[loss.call].external_id;
      made.collective = RecordedCollectiveId::none();
      made.assumed = true;
      made.started = placed(whole.offsets[i]);
      made.ended = placed(whole.offsets[i] + whole.durations[i]);
      last = std::max(last, made.ended);
      made_.push_back(made);
      ++loss.filled;
    }
    free_[{loss.device, loss.stream}] = last;
  }

  /// When the stream is free of what was filled in before.
  [[nodiscard]] Time free_at(const GraphLoss& loss) const {
    const auto found = free_.find({loss.device, loss.stream});
    return found == free_.end() ? Time{} : found->second;
  }

  [[nodiscard]] Time begin_of(const GraphLoss& loss,
                              const TypicalGraph& whole,
                              const std::vector<const DeviceRow*>& there) const {
    std::vector<Duration> begins;
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (there[i] != nullptr) {
        begins.push_back(there[i]->started.time_since_epoch() - whole.offsets[i]);
      }
    }
    if (!begins.empty()) return Time{median_of(std::move(begins), trace_.resolution)};
    const Time after_call = trace_.calls[loss.call].started + whole.latency;
    return std::min(loss.to, std::max({loss.from, after_call, free_at(loss)}));
  }

  [[nodiscard]] const DeviceRow& row(const Launched& launch, std::size_t node) const {
    return trace_.device_rows[launch.rows[node]];
  }

  ImportedTrace& trace_;
  Launches launches_;
  std::unordered_map<std::uint32_t, const Launched*> by_call_;
  std::unordered_map<std::uint32_t, TypicalGraph> typical_;  // by the call of a whole launch
  std::map<std::pair<std::int32_t, std::int64_t>, Time> free_;
  std::vector<DeviceRow> made_;
};

}  // namespace

std::vector<GraphLoss> find_graph_losses(const ImportedTrace& trace) {
  return LossFinder{trace}.find();
}

std::string describe(const ImportedTrace& trace, const GraphLoss& loss) {
  const CallRow& call = trace.calls[loss.call];
  return fmt::format(
      "{} with correlation {} at {:.3f} us: {}",
      trace.texts[call.name],
      call.correlation,
      to_us(call.started),
      loss.expected == 0 ? "no node" : fmt::format("{} of {} nodes", loss.recorded, loss.expected));
}

void fill_graph_launches(ImportedTrace& trace) {
  LaunchFiller{trace}.run();
}

}  // namespace schedlab
