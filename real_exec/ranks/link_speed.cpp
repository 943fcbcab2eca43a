// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/link_speed.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace schedlab {
namespace {

constexpr int speed_tag = 0;
constexpr int speed_tries = 30;
constexpr std::size_t long_message = 1 << 20;

/// Half of the quickest way to and fro.
Duration one_way(RankLink& link, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  Duration least = Duration::max();
  const int other = 1 - link.rank();
  for (int i = 0; i < speed_tries; ++i) {
    const auto started = std::chrono::steady_clock::now();
    if (link.rank() == 0) link.send(data, other, speed_tag);
    link.receive(data, other, speed_tag);
    if (link.rank() == 1) link.send(data, other, speed_tag);
    const auto took = std::chrono::steady_clock::now() - started;
    least = std::min(least, std::chrono::duration_cast<Duration>(took) / 2);
  }
  return least;
}

}  // namespace

LinkSpeed measure_link(RankLink& link) {
  if (link.size() < 2 || link.rank() > 1) return {};
  const Duration one_byte = one_way(link, 1);
  const Duration many = one_way(link, long_message);
  const Duration moving = std::max(many - one_byte, Duration{1});
  return {.latency = one_byte,
          .bandwidth = Bandwidth{static_cast<double>(long_message) / to_seconds(moving)}};
}

}  // namespace schedlab
