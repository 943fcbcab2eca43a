// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/data_loss.hpp"

#include "studies/base/printable.hpp"
#include "workloads/traces/graph_losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace schedlab {
namespace {

std::size_t graph_launches(const ImportedTrace& trace) {
  return static_cast<std::size_t>(
      std::count_if(trace.calls.begin(), trace.calls.end(), [](const CallRow& call) {
        return call.kind == CallKind::launch_graph;
      }));
}

std::string lost_text(const ImportedTrace& trace, std::size_t open, const DataLoss& loss) {
  const auto first = std::find_if(trace.graph_losses.begin(),
                                  trace.graph_losses.end(),
                                  [](const GraphLoss& each) { return each.open(); });
  return fmt::format(
      "data_loss: {} of {} launches of graphs have fewer recorded nodes than their siblings, or "
      "none (first: {}); busy and idle figures of {} from {:.3f} to {:.3f} us are unreliable; "
      "--assume-like-siblings fills in what siblings tell",
      open,
      graph_launches(trace),
      describe(trace, *first),
      readable(loss.unreliable_time()),
      to_us(loss.unreliable.front().from),
      to_us(loss.unreliable.back().to));
}

}  // namespace

bool DataLoss::reliable(Time from, Time to) const {
  return std::none_of(unreliable.begin(), unreliable.end(), [&](const UnreliableStretch& each) {
    return each.from < to && from < each.to;
  });
}

bool DataLoss::has_all_of(std::string_view kernel) const {
  return all_named && std::none_of(missing.begin(), missing.end(), [&](const std::string& name) {
           return name.find(kernel) != std::string::npos;
         });
}

Duration DataLoss::unreliable_time() const {
  return std::accumulate(
      unreliable.begin(), unreliable.end(), Duration{0}, [](Duration sum, const auto& each) {
        return sum + each.duration();
      });
}

DataLoss data_loss(const ImportedTrace& trace) {
  DataLoss result;
  std::size_t open = 0;
  std::size_t filled = 0;
  std::size_t nodes = 0;
  std::set<std::string> missing;
  for (const GraphLoss& loss : trace.graph_losses) {
    filled += loss.filled > 0 ? 1U : 0U;
    nodes += loss.filled;
    if (!loss.open()) continue;
    ++open;
    result.unreliable.push_back({loss.from, loss.to});
    result.all_named = result.all_named && loss.expected > 0;
    for (const TextId name : loss.missing) missing.emplace(trace.texts[name]);
  }
  std::sort(result.unreliable.begin(), result.unreliable.end(), [](const auto& a, const auto& b) {
    return a.from < b.from;
  });
  std::vector<UnreliableStretch> apart;
  for (const UnreliableStretch& each : result.unreliable) {
    if (apart.empty() || each.from > apart.back().to) {
      apart.push_back(each);
    } else {
      apart.back().to = std::max(apart.back().to, each.to);
    }
  }
  result.unreliable = std::move(apart);
  result.missing.assign(missing.begin(), missing.end());
  if (open > 0) result.lost = lost_text(trace, open, result);
  if (filled > 0) {
    result.assumed = fmt::format(
        "assumed: {} nodes of {} launches of graphs are not in the profile; they are taken to be "
        "like the median of their siblings (--assume-like-siblings)",
        nodes,
        filled);
  }
  return result;
}

std::vector<LossOf> graph_losses(const ImportedTrace& trace) {
  std::vector<LossOf> result;
  for (const GraphLoss& loss : trace.graph_losses) result.push_back({trace, loss});
  return result;
}

Fields<LossOf> graph_loss_fields() {
  using L = LossOf;
  return {{"correlation", [](const L& l) { return l.trace.calls[l.loss.call].correlation; }},
          {"launched_us", [](const L& l) { return to_us(l.trace.calls[l.loss.call].started); }},
          {"device", [](const L& l) { return l.loss.device; }},
          {"stream", [](const L& l) { return l.loss.stream; }},
          {"recorded", [](const L& l) { return l.loss.recorded; }},
          {"expected", [](const L& l) { return l.loss.expected; }},
          {"filled", [](const L& l) { return l.loss.filled; }},
          {"from_us", [](const L& l) { return to_us(l.loss.from); }},
          {"to_us", [](const L& l) { return to_us(l.loss.to); }}};
}

Fields<DataLoss> data_loss_fields() {
  using D = DataLoss;
  using S = UnreliableStretch;
  static const Fields<S> stretch{{"from_us", [](const S& s) { return to_us(s.from); }},
                                 {"to_us", [](const S& s) { return to_us(s.to); }}};
  return {{"reliable", [](const D& d) { return d.unreliable.empty(); }},
          {"data_loss", &D::lost, unless_empty},
          {"assumed", &D::assumed, unless_empty},
          {"unreliable_us", &D::unreliable_time},
          {"unreliable", &D::unreliable, stretch}};
}

}  // namespace schedlab
