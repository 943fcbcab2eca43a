// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/packed_items.hpp"
#include "real_exec/training/rank_costs.hpp"
#include "real_exec/training/stage_timer.hpp"

#include <algorithm>
#include <set>

namespace schedlab {
namespace {

constexpr int sum_tries = 20;  // assumed: enough for a median

/// From the moment at which all ranks of the group are there.
Duration time_sum(RankLink& link, RankLink::Group group, Bytes bytes) {
  std::vector<float> gradients(static_cast<std::size_t>(bytes.count()) / sizeof(float), 1.0F);
  std::vector<float> buffer(gradients.size());
  std::vector<Duration> times;
  for (int i = 0; i < sum_tries; ++i) {
    float nothing = 0;
    link.wait(link.start_sum({&nothing, 1}, group));
    times.push_back(detail::time_of([&] {
      std::copy(gradients.begin(), gradients.end(), buffer.begin());
      link.wait(link.start_sum(buffer, group));
      std::copy(buffer.begin(), buffer.end(), gradients.begin());
    }));
    std::fill(gradients.begin(), gradients.end(), 1.0F);
  }
  return detail::median_of(std::move(times));
}

}  // namespace

std::vector<std::pair<Bytes, Duration>> measure_sums(const TaskGraph& graph, RankLink& link) {
  std::set<std::int64_t> sizes;
  std::vector<std::int64_t> found;  // bytes and picoseconds in turns
  for (const CollectiveId id : graph.collectives().ids()) {
    const Bytes bytes = graph.collectives().spec(id).bytes;
    if (!sizes.insert(bytes.count()).second) continue;
    std::vector<int> ranks;
    for (const TaskId task : graph.collectives().tasks(id)) {
      ranks.push_back(static_cast<int>(graph.rank(task)));
    }
    std::sort(ranks.begin(), ranks.end());
    if (std::find(ranks.begin(), ranks.end(), link.rank()) == ranks.end()) continue;
    const Duration took = time_sum(link, link.add_group(ranks), bytes);
    if (ranks.front() == link.rank()) found.insert(found.end(), {bytes.count(), took.count()});
  }
  std::string mine;
  detail::append_items(mine, found);
  std::vector<std::pair<Bytes, Duration>> sums;
  for (const std::string& text : gather_texts(link, mine)) {
    std::string_view rest = text;
    const auto numbers = detail::take_items<std::int64_t>(rest);
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
      sums.emplace_back(Bytes{numbers[i]}, Duration{numbers[i + 1]});
    }
  }
  return sums;
}

}  // namespace schedlab
