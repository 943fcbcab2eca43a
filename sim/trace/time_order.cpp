// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/time_order.hpp"

#include <algorithm>
#include <cstddef>

namespace schedlab {

std::span<const std::uint32_t> TimeOrder::by_time(std::span<const std::int64_t> times) {
  const std::size_t count = times.size();
  order_.resize(count);
  if (count == 0) return order_;

  std::int64_t lowest = times[0];
  std::int64_t highest = times[0];
  std::size_t falls = 0;
  for (std::size_t i = 1; i < count; ++i) {  // without branches: several at once
    falls += times[i - 1] > times[i] ? 1U : 0U;
    lowest = std::min(lowest, times[i]);
    highest = std::max(highest, times[i]);
  }
  if (falls == 0) {
    for (std::size_t i = 0; i < count; ++i) order_[i] = static_cast<std::uint32_t>(i);
    return order_;
  }
  distribute(times, lowest, highest);

  // Within its bucket an item has few neighbours, and every bucket lies behind the one before.
  for (std::size_t i = 1; i < count; ++i) {
    if (items_[i - 1].time <= items_[i].time) continue;
    const Item item = items_[i];
    std::size_t hole = i;
    for (; hole > 0 && item.time < items_[hole - 1].time; --hole) items_[hole] = items_[hole - 1];
    items_[hole] = item;
  }
  for (std::size_t i = 0; i < count; ++i) order_[i] = items_[i].index;
  return order_;
}

void TimeOrder::distribute(std::span<const std::int64_t> times,
                           std::int64_t lowest,
                           std::int64_t highest) {
  const std::size_t count = times.size();
  const std::size_t buckets = count;
  const double scale = static_cast<double>(buckets - 1) / static_cast<double>(highest - lowest);
  bucket_end_.assign(buckets + 1, 0);
  bucket_of_.resize(count);
  items_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bucket = static_cast<std::uint32_t>(static_cast<double>(times[i] - lowest) * scale);
    bucket_of_[i] = bucket;
    ++bucket_end_[bucket + 1];
  }
  std::uint32_t fullest = 0;
  std::uint32_t before = 0;
  for (std::size_t b = 1; b <= buckets; ++b) {
    fullest = std::max(fullest, bucket_end_[b]);
    before += bucket_end_[b];
    bucket_end_[b] = before;
  }
  for (std::size_t i = 0; i < count; ++i) {
    items_[bucket_end_[bucket_of_[i]]++] = {times[i], static_cast<std::uint32_t>(i)};
  }

  // bucket_end_[b] is now the end of bucket b. A crowded bucket would make insertion quadratic.
  constexpr std::uint32_t crowded = 32;
  if (fullest <= crowded) return;
  std::uint32_t begin = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::uint32_t end = bucket_end_[b];
    if (end - begin > crowded) {
      std::sort(items_.begin() + begin, items_.begin() + end, [](const Item& a, const Item& c) {
        return a.time != c.time ? a.time < c.time : a.index < c.index;
      });
    }
    begin = end;
  }
}

std::size_t TimeOrder::memory_bytes() const {
  return (bucket_end_.capacity() + bucket_of_.capacity() + order_.capacity()) *
             sizeof(std::uint32_t) +
         items_.capacity() * sizeof(Item);
}

}  // namespace schedlab
