// SPDX-License-Identifier: Apache-2.0
// Nodes taken out of a published trace, found missing and filled in, against what they were.
#include "sim/base/statistics.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "workloads/traces/graph_losses.hpp"
#include "workloads/traces/kineto.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// Without nodes `from` to `to` of the launches with these numbers.
ImportedTrace without(ImportedTrace trace, const std::map<int, std::pair<int, int>>& left_out) {
  int number = 0;
  std::map<std::uint64_t, std::pair<int, int>> gone;  // by correlation
  for (const CallRow& call : trace.calls) {
    if (call.kind != CallKind::launch_graph) continue;
    const auto found = left_out.find(number++);
    if (found != left_out.end()) gone[call.correlation] = found->second;
  }
  std::map<std::uint64_t, int> node;
  std::erase_if(trace.device_rows, [&](const DeviceRow& row) {
    const auto found = gone.find(row.correlation);
    if (found == gone.end()) return false;
    const int which = node[row.correlation]++;
    return which >= found->second.first && which < found->second.second;
  });
  trace.graph_losses = find_graph_losses(trace);
  return trace;
}

TEST_CASE("nodes taken out of a published trace are filled in near to where they were") {
  const auto data = testing::reference_data("hta/dlrm_v100_2rank_graphlaunch.json.gz");
  if (!data) return;
  const ImportedTrace whole = read_kineto(*data);
  // All of the 3rd launch, the middle of the 6th and the end of the 8th of 12.
  ImportedTrace trace = without(whole, {{2, {0, 1000}}, {5, {100, 400}}, {7, {450, 502}}});
  REQUIRE(trace.graph_losses.size() == 3);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes;
  for (const GraphLoss& loss : trace.graph_losses) nodes.emplace_back(loss.recorded, loss.expected);
  CHECK(nodes ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 339}, {202, 502}, {450, 502}});
  fill_graph_launches(trace);
  REQUIRE(trace.device_rows.size() == whole.device_rows.size());
  const auto times = [](const ImportedTrace& of) {
    std::map<std::uint64_t, std::vector<std::pair<double, double>>> all;
    for (const DeviceRow& row : of.device_rows) {
      all[row.correlation].emplace_back(to_us(row.started), to_us(row.ended));
    }
    return all;
  };
  const auto real = times(whole);
  std::map<std::uint64_t, std::size_t> node;
  std::vector<double> errors;
  double busy = 0;
  double real_busy = 0;
  for (const DeviceRow& row : trace.device_rows) {
    const auto& was = real.at(row.correlation)[node[row.correlation]++];
    if (!row.assumed) continue;
    errors.push_back(std::abs(to_us(row.started) - was.first));
    busy += to_us(row.ended - row.started);
    real_busy += was.second - was.first;
  }
  CHECK(errors.size() == 339 + 300 + 52);
  std::sort(errors.begin(), errors.end());
  MESSAGE("starts of filled nodes: half within " << percentile(errors, 0.5) << " us, 90 % within "
                                                 << percentile(errors, 0.9) << " us; busy " << busy
                                                 << " us, was " << real_busy);
  CHECK(std::abs(busy / real_busy - 1) < 0.05);
}

}  // namespace
}  // namespace schedlab
