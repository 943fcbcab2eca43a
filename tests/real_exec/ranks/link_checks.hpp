// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace schedlab::testing {

/// Throws, so that it may run on any thread and in any process.
inline void expect_link(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

/// Round the ring, receive posted first: everyone gets its left neighbour's number.
inline void check_ring(RankLink& link) {
  const int rank = link.rank();
  const int size = link.size();
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  std::int32_t mine = 100 + rank;
  std::int32_t got = -1;
  const auto receive = link.start_receive(std::as_writable_bytes(std::span{&got, 1}), left, 7);
  const auto send = link.start_send(std::as_bytes(std::span{&mine, 1}), right, 7);
  while (!link.done(receive)) std::this_thread::yield();
  link.wait(receive);
  link.wait(send);
  expect_link(got == 100 + left, "the left neighbour's number");
}

/// Two messages with tags in the other order than they are received.
inline void check_tags(RankLink& link) {
  const int right = (link.rank() + 1) % link.size();
  const int left = (link.rank() + link.size() - 1) % link.size();
  std::vector<float> first(50'000, 1.0F);
  std::vector<float> second(3, 2.0F);
  std::vector<float> at_first(first.size());
  std::vector<float> at_second(second.size());
  const auto a = link.start_send(std::as_bytes(std::span{first}), right, 1);
  const auto b = link.start_send(std::as_bytes(std::span{second}), right, 2);
  link.receive(std::as_writable_bytes(std::span{at_second}), left, 2);
  link.receive(std::as_writable_bytes(std::span{at_first}), left, 1);
  link.wait(b);
  link.wait(a);
  expect_link(at_first == first && at_second == second, "messages found by their tags");
}

/// Sums over all ranks, and over those of equal parity, at the same time.
inline void check_sums(RankLink& link) {
  const int rank = link.rank();
  const int size = link.size();
  std::vector<int> all;
  std::vector<int> same_parity;
  for (int i = 0; i < size; ++i) {
    all.push_back(i);
    if (i % 2 == rank % 2) same_parity.push_back(i);
  }
  const auto everyone = link.add_group(all);
  const auto some = link.add_group(same_parity);
  const auto everyone_again = link.add_group(all);
  std::vector<float> over_all(1000, static_cast<float>(rank));
  std::vector<float> over_some(10, 1.0F);
  // Groups of the same ranks are apart: ranks need not begin their sums in one order.
  std::vector<float> again(1, 2.0F);
  const auto early = rank == 0 ? link.start_sum(again, everyone_again) : 0;
  const auto sum = link.start_sum(over_all, everyone);
  const auto part = link.start_sum(over_some, some);
  const auto late = rank == 0 ? early : link.start_sum(again, everyone_again);
  link.wait(part);
  link.wait(late);
  link.wait(sum);
  expect_link(again.front() == 2.0F * static_cast<float>(size), "a sum of the second group");
  expect_link(over_all.front() == static_cast<float>(size * (size - 1) / 2) &&
                  over_all.back() == over_all.front(),
              "0 + 1 + ... of all ranks");
  expect_link(over_some.front() == static_cast<float>(same_parity.size()), "one of each member");
}

/// What every link must do, on as many ranks as it has: run by all of them.
inline void check_link(RankLink& link) {
  const int rank = link.rank();
  const int size = link.size();
  expect_link(rank >= 0 && rank < size, "a rank below the number of ranks");
  check_ring(link);
  check_tags(link);
  check_sums(link);

  link.barrier();
  const auto texts = gather_texts(link, std::string(static_cast<std::size_t>(rank), 'x'));
  if (rank == 0) {
    expect_link(texts.size() == static_cast<std::size_t>(size), "a text of every rank");
    for (std::size_t i = 0; i < texts.size(); ++i) expect_link(texts[i].size() == i, "in order");
  }
  expect_link(broadcast_text(link, rank == 0 ? "told" : "") == "told", "rank 0's text");
}

}  // namespace schedlab::testing
