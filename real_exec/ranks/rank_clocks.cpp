// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/rank_clocks.hpp"

#include <algorithm>

namespace schedlab {
namespace {

constexpr int clock_tag = 0;
constexpr int clock_questions = 32;

ActivityTime as_reading(Time time) {
  return ActivityTime{
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch())};
}

void answer_questions(RankLink& link, const CpuClock& clock) {
  for (int i = 0; i < clock_questions; ++i) {
    std::byte question{};
    link.receive({&question, 1}, 0, clock_tag);
    const Time now = clock.now();
    link.send(std::as_bytes(std::span{&now, 1}), 0, clock_tag);
  }
}

ClockSample ask(RankLink& link, const CpuClock& clock, int rank) {
  ClockSample best;
  for (int i = 0; i < clock_questions; ++i) {
    const std::byte question{};
    ClockSample sample;
    Time reading;
    sample.before = clock.now();
    link.send({&question, 1}, rank, clock_tag);
    link.receive(std::as_writable_bytes(std::span{&reading, 1}), rank, clock_tag);
    sample.after = clock.now();
    sample.reading = as_reading(reading);
    if (i == 0 || sample.after - sample.before < best.after - best.before) best = sample;
  }
  return best;
}

}  // namespace

void RankClocks::sample(RankLink& link, const CpuClock& clock) {
  samples_.resize(static_cast<std::size_t>(link.size()));
  mappings_.resize(samples_.size());
  for (int rank = 1; rank < link.size(); ++rank) {
    if (link.rank() == rank) answer_questions(link, clock);
    if (link.rank() != 0) continue;
    auto& samples = samples_[static_cast<std::size_t>(rank)];
    samples.push_back(ask(link, clock, rank));
    mappings_[static_cast<std::size_t>(rank)] = align_clocks(samples);
  }
}

Time RankClocks::at_rank_0(int rank, Time time) const {
  if (rank == 0) return time;
  return mappings_[static_cast<std::size_t>(rank)].to_host(as_reading(time));
}

Duration RankClocks::error() const {
  Duration worst{0};
  for (std::size_t rank = 1; rank < mappings_.size(); ++rank) {
    worst = std::max(worst, mappings_[rank].error);
  }
  return worst;
}

}  // namespace schedlab
