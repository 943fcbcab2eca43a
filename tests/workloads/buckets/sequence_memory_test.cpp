// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "tests/workloads/buckets/lstm_closed_forms.hpp"
#include "workloads/buckets/checkpoints.hpp"
#include "workloads/buckets/recurrent_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

using namespace schedlab;
using namespace schedlab::testing;
using doctest::Approx;

namespace {

double gigabytes(Bytes bytes) {
  return static_cast<double>(bytes.count()) / 1e9;
}

/// Cheapest way over all states of memory: which states are kept, where the chain stands, what is
/// left to do. Knows nothing of intervals.
double min_by_search(const std::vector<double>& costs, std::size_t slots) {
  const auto steps = static_cast<unsigned>(costs.size());
  // Kept states as bits (bit 0, the input, always), the state at hand, steps not yet run backward.
  using State = std::tuple<unsigned, unsigned, unsigned>;
  using Entry = std::pair<double, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  std::map<State, double> known;
  const auto reach = [&](double cost, const State& state) {
    const auto [at, fresh] = known.try_emplace(state, cost);
    if (!fresh && at->second <= cost) return;
    at->second = cost;
    open.emplace(cost, state);
  };
  reach(0, {1U, 0U, steps});
  while (!open.empty()) {
    const auto [cost, state] = open.top();
    open.pop();
    if (known.at(state) < cost) continue;
    const auto [kept, at, left] = state;
    if (left == 0) return cost;
    for (unsigned from = 0; from < steps; ++from) {  // go back to a kept state
      if (((kept >> from) & 1U) != 0) reach(cost, {kept, from, left});
    }
    for (unsigned bit = 1; bit < steps; ++bit) {  // forget one
      if (((kept >> bit) & 1U) != 0) reach(cost, {kept & ~(1U << bit), at, left});
    }
    const auto held = static_cast<std::size_t>(__builtin_popcount(kept)) - 1;
    if (((kept >> at) & 1U) == 0 && held < slots) reach(cost, {kept | (1U << at), at, left});
    if (at + 1 == left) reach(cost + costs[at], {kept, at, left - 1});  // forward, then backward
    if (at + 1 < left) reach(cost + costs[at], {kept, at + 1, left});
  }
  return -1;
}

/// The network of the published experiment.
RecurrentNetwork speech_network() {
  return {.layers = 3, .hidden = 2048, .projection = 512, .input = 40, .classes = 8991};
}

}  // namespace

TEST_CASE("the worked example: 2.5 MB a cell, 7.5 GB for 1000 steps of 3 layers") {
  const UnrolledLstm lstm{.layers = 3, .steps = 1000, .batch = 8, .hidden = 2048};
  // 2 * 19 * 8 * 2048 values of 4 bytes.
  CHECK(lstm_cell_bytes(Recompute::keep_all, lstm).count() == 2'490'368);
  const Bytes cells = lstm_cell_bytes(Recompute::keep_all, lstm) * 3000;
  CHECK(gigabytes(cells) == Approx(7.5).epsilon(0.005));
  // The parameters of the closed form add 2 * (4 * 2048^2 + 2048) * 4 bytes.
  CHECK((unrolled_lstm_bytes(Recompute::keep_all, lstm) - cells).count() == 134'234'112);
}

TEST_CASE("data drop needs about 30 percent of what backward needs") {
  const UnrolledLstm lstm{.layers = 3, .steps = 2000, .batch = 16, .hidden = 2048};
  const double share = unrolled_lstm_bytes(Recompute::data_drop, lstm) /
                       unrolled_lstm_bytes(Recompute::keep_backward, lstm);
  CHECK(share == Approx(2.0 / 7).epsilon(0.04));
  CHECK(share > 0.28);
  CHECK(share < 0.31);
}

TEST_CASE("the closed forms alone allow batches of 16 and 60 in 12 GB") {
  const auto largest = [](Recompute kept) {
    return largest_batch(Bytes{12'000'000'000}, 4, [&](std::int64_t batch) {
      return unrolled_lstm_bytes(kept,
                                 {.layers = 3, .steps = 2000, .batch = batch, .hidden = 2048});
    });
  };
  CHECK(largest(Recompute::keep_backward) == 16);
  CHECK(largest(Recompute::data_drop) == 60);
}

TEST_CASE("training memory is the sum of its parts, worked out for one cell") {
  const RecurrentNetwork small{.layers = 1, .hidden = 8, .projection = 2, .input = 3, .classes = 5};
  // Gates: 32 (3 + 2 + 1), projection 8 * 2, classes 5 (2 + 1).
  CHECK(parameter_count(small) == 192 + 16 + 15);
  const auto parts = training_memory(small, {.kind = Recompute::data_drop}, 4, 10);
  REQUIRE(parts.size() == 5);
  CHECK(parts[0].bytes.count() == 10 * 4 * 3 * 4);
  CHECK(parts[1].bytes.count() == 2 * (8 + 2) * 10 * 4 * 4);
  CHECK(parts[2].bytes.count() == 2 * (7 * 8 + 2 - 10) * 4 * 4);  // the rest of one cell
  CHECK(parts[3].bytes.count() == 2 * 10 * 4 * 5 * 4);
  CHECK(parts[4].bytes.count() == 3 * 223 * 4);
  CHECK(total(parts).count() == 480 + 3200 + 1536 + 1600 + 2676);
}

TEST_CASE("with output layer and projection the published pair of batches does not come out") {
  const auto largest = [](Recompute kept, std::int64_t output_copies) {
    RecurrentNetwork network = speech_network();
    network.output_copies = output_copies;
    return largest_batch(Bytes{12'000'000'000}, 4, [&](std::int64_t batch) {
      return total(training_memory(network, {.kind = kept}, batch, 2000));
    });
  };
  // Published: 16 and 32. Three arrays of scores explain 32 but leave 12 of 16.
  CHECK(largest(Recompute::keep_backward, 2) == 12);
  CHECK(largest(Recompute::data_drop, 2) == 40);
  CHECK(largest(Recompute::keep_backward, 3) == 12);
  CHECK(largest(Recompute::data_drop, 3) == 32);
}

TEST_CASE("one array of scores and plain gradient descent explain 16, and not 32") {
  // 12 GiB; scores that become probabilities and then their own gradient in one array.
  const auto largest = [](Recompute kept, std::int64_t models) {
    RecurrentNetwork network = speech_network();
    network.output_copies = 1;
    network.weight_copies = 2;
    network.reserved_bytes = models * 200'000'000;
    return largest_batch(Bytes{12LL << 30}, 4, [&](std::int64_t batch) {
      return total(training_memory(network, {.kind = kept}, batch, 2000));
    });
  };
  // (12.885 - 0.233) GB over 0.785 GB a sequence is 16.1; over 0.195 GB it is 64.8.
  CHECK(largest(Recompute::keep_backward, 0) == 16);
  CHECK(largest(Recompute::data_drop, 0) == 64);
  // 16 stored models take 3.2 GB: 12 and 48.
  CHECK(largest(Recompute::keep_backward, 16) == 12);
  CHECK(largest(Recompute::data_drop, 16) == 48);
}

TEST_CASE("one way of counting explains 16 and what needs the same memory; 32 contradicts both") {
  // 12 GiB, one array of scores, no momentum, and data drop keeps h and c as equation (14) counts
  // them, besides the projection. Published: batches of 8 and 20, and 12 and 32, need the same.
  RecurrentNetwork network = speech_network();
  network.output_copies = 1;
  network.weight_copies = 2;
  network.hidden_kept = true;
  const auto bytes = [&](Recompute kept, std::int64_t batch) {
    return total(training_memory(network, {.kind = kept}, batch, 2000));
  };
  const auto largest = [&](Recompute kept, Bytes capacity) {
    return largest_batch(capacity, 4, [&](std::int64_t batch) { return bytes(kept, batch); });
  };
  const auto same_memory = [&](std::int64_t batch) {
    return largest(Recompute::data_drop, bytes(Recompute::keep_backward, batch));
  };
  // 0.785 GB and 0.293 GB a sequence beside 0.233 GB.
  CHECK(largest(Recompute::keep_backward, Bytes{12LL << 30}) == 16);
  CHECK(same_memory(8) == 20);
  CHECK(same_memory(12) == 32);
  // Memory is linear in the batch: if 20 to 23 sequences need what 8 do and 32 to 35 what 12 do, 16
  // need as much as more than 2 * 32 - 24 = 40 and fewer than 2 * 36 - 20 = 52 do.
  CHECK(same_memory(16) == 40);
  CHECK(largest(Recompute::data_drop, Bytes{12LL << 30}) == 40);
  // Beside 16 stored models of 200 MB: 9.45 GB are left.
  network.reserved_bytes = 16 * 200'000'000LL;
  CHECK(largest(Recompute::keep_backward, Bytes{12LL << 30}) == 12);
  CHECK(largest(Recompute::data_drop, Bytes{12LL << 30}) == 32);
}

TEST_CASE("checkpoints keep fewer states than data drop, and less memory") {
  const auto cells = [](Recompute kept, std::int64_t checkpoints) {
    const RecurrentNetwork network{.layers = 2, .hidden = 10, .input = 1, .weight_copies = 1};
    Bytes held{};
    for (const MemoryPart& part :
         training_memory(network, {.kind = kept, .checkpoints = checkpoints}, 1, 100)) {
      if (part.name == "cells" || part.name == "scratch") held += part.bytes;
    }
    return held.count();
  };
  // Values and gradients of 200 cells: 2 * 7 * 10 * 200 * 4 bytes; of data drop 2 of the 7, and one
  // cell's other 5.
  CHECK(cells(Recompute::keep_backward, 0) == 112'000);
  CHECK(cells(Recompute::data_drop, 0) == 32'000 + 400);
  // State 2, with values 6 as the kernels keep them: segments of s steps hold 2 * 100 / s + 6 s,
  // least at s = 5: 20 segments, so 19 states of 2 * 10 * 2 values, and 5 steps of 2 * 7 * 10 * 2.
  CHECK(cells(Recompute::sqrt, 0) == 19 * 40 * 4 + 5 * 280 * 4);
  CHECK(cells(Recompute::optimal, 5) == 5 * 40 * 4 + 280 * 4);
}

TEST_CASE("truncation holds one segment, its scores, and the states before it") {
  const RecurrentNetwork network{
      .layers = 2, .hidden = 10, .input = 1, .classes = 7, .output_copies = 1, .weight_copies = 1};
  const auto part = [&](const RecomputeChoice& choice, const char* name) {
    for (const MemoryPart& found : training_memory(network, choice, 1, 100)) {
      if (found.name == name) return found.bytes.count();
    }
    return std::int64_t{0};
  };
  const RecomputeChoice kept{.truncate_steps = 25};
  // 2 * 7 * 10 values of 2 * 25 cells, and 2 * 10 values before each of 2 layers.
  CHECK(part(kept, "cells") == 4 * (140 * 50 + 20 * 2));
  CHECK(part(kept, "output") == 4 * 25 * 7);
  CHECK(part(kept, "input") == 4 * 100);
  const RecomputeChoice dropped{.kind = Recompute::data_drop, .truncate_steps = 25};
  CHECK(part(dropped, "cells") == 4 * (40 * 50 + 20 * 2));
  CHECK(part({.truncate_steps = 200}, "cells") == part({}, "cells"));
  CHECK(to_string(dropped) == "data_drop truncated 25");
}

TEST_CASE("the largest batch fits and the next one does not") {
  const auto linear = [](std::int64_t batch) { return Bytes{100 + 7 * batch}; };
  for (std::int64_t capacity = 90; capacity < 400; ++capacity) {
    const std::int64_t found = largest_batch(Bytes{capacity}, 3, linear);
    CAPTURE(capacity);
    CHECK(found % 3 == 0);
    if (found > 0) CHECK(linear(found).count() <= capacity);
    CHECK(linear(found + 3).count() > capacity);
  }
}

TEST_CASE("the largest batch is one that workloads accept, however much memory there is") {
  const auto linear = [](std::int64_t batch) { return Bytes{7 * batch}; };
  // 2^24 = 16,777,216; of its multiples of 3 the last below.
  CHECK(largest_batch(Bytes{1LL << 50}, 1, linear) == 16'777'216);
  CHECK(largest_batch(Bytes{1LL << 50}, 3, linear) == 16'777'215);
}

TEST_CASE("segments near the square root need least memory") {
  // 100 steps, equal sizes: 100 / s + s is least at 10.
  const auto best = min_memory_segments(100, 1_KiB, 1_KiB);
  CHECK(best.segment == 10);
  CHECK(best.bytes == 20_KiB);
  // Values of 25 states: sqrt(100 / 25) = 2 steps a segment, 50 + 2 * 25 states.
  CHECK(min_memory_segments(100, 1_KiB, 25_KiB).bytes == 100_KiB);
  CHECK(min_memory_segments(1, 1_KiB, 1_KiB).segment == 1);
}

TEST_CASE("forward steps with few states are what a search over all memory states finds") {
  for (std::int64_t steps = 1; steps <= 6; ++steps) {
    for (std::int64_t slots = 0; slots < steps; ++slots) {
      CAPTURE(steps);
      CAPTURE(slots);
      const std::vector<double> costs(static_cast<std::size_t>(steps), 1.0);
      CHECK(static_cast<double>(min_forward_steps(steps, slots)) ==
            min_by_search(costs, static_cast<std::size_t>(slots)));
    }
  }
}

TEST_CASE("the closed form of forward steps is the recurrence over the first state that is kept") {
  constexpr std::int64_t longest = 40;
  constexpr std::int64_t most_slots = 8;
  std::array<std::array<std::int64_t, longest + 1>, most_slots + 1> least{};
  for (std::int64_t slots = 0; slots <= most_slots; ++slots) {
    auto& row = least.at(static_cast<std::size_t>(slots));
    for (std::int64_t steps = 1; steps <= longest; ++steps) {
      std::int64_t best = steps * (steps + 1) / 2;  // every step from the first state
      for (std::int64_t kept = 1; slots > 0 && kept < steps; ++kept) {
        const auto& fewer = least.at(static_cast<std::size_t>(slots - 1));
        best = std::min(best,
                        kept + fewer.at(static_cast<std::size_t>(steps - kept)) +
                            row.at(static_cast<std::size_t>(kept)));
      }
      row.at(static_cast<std::size_t>(steps)) = best;
      CAPTURE(steps);
      CAPTURE(slots);
      CHECK(min_forward_steps(steps, slots) == best);
    }
  }
  // No state but the first: 1 + 2 + ... + n. All states: each step but the last twice.
  CHECK(min_forward_steps(2000, 0) == 2000 * 2001 / 2);
  CHECK(min_forward_steps(2000, 2000) == 3999);
  CHECK_THROWS_AS(static_cast<void>(min_forward_steps(0, 1)), ContractViolation);
}
