// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/rank_cargo.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab::detail {

RankCargo::RankCargo(const TaskGraph& graph,
                     const Plan& plan,
                     RankLink& link,
                     const CpuClock& clock)
    : plan_(plan), link_(link), clock_(clock) {
  const std::vector<RankMessage> messages = rank_messages(graph);
  SCHEDLAB_EXPECTS(
      messages.size() == plan.messages.size(),
      fmt::format(
          "{} messages in the plan, {} in its graph", plan.messages.size(), messages.size()));
  if (messages.size() > static_cast<std::size_t>(link.largest_tag())) {
    throw InfeasibleError(fmt::format("{} messages in an iteration, {} has tags for {}",
                                      messages.size(),
                                      link.description(),
                                      link.largest_tag()));
  }
  if (std::any_of(plan.messages.begin(), plan.messages.end(), [](const MessageSpec& message) {
        return message.one_sided != OneSided::none;
      })) {
    throw InfeasibleError(
        fmt::format("{} moves messages with both sides only\n  use \"transfers\": \"overlapped\"",
                    link.description()));
  }
  const auto rank = static_cast<std::uint32_t>(link.rank());
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    const bool sends = graph.rank(messages[i].producer) == rank;
    if (!sends && messages[i].to != rank) continue;
    Cargo& cargo = cargo_[i];
    cargo.sends = sends;
    cargo.bytes.resize(static_cast<std::size_t>(messages[i].bytes.count()));
    const Tags tags = graph.tags(messages[i].producer);
    if (sends) {
      SCHEDLAB_EXPECTS(made_.emplace(messages[i].producer, i).second,
                       fmt::format("{} is sent to one rank", graph.name(messages[i].producer)));
    } else {
      needed_.emplace(
          Key{*pipeline_work(tags), static_cast<std::uint32_t>(tags.stage), tags.microbatch}, i);
    }
  }
}

std::span<std::byte> RankCargo::made_by(TaskId task) {
  const auto found = made_.find(task);
  if (found == made_.end()) return {};
  return cargo_.at(found->second).bytes;
}

std::span<const std::byte> RankCargo::received(PipelineWork work,
                                               std::uint32_t stage,
                                               std::int64_t m) {
  const auto found = needed_.find({work, stage, m});
  if (found == needed_.end()) return {};
  wait(found->second);
  return cargo_.at(found->second).bytes;
}

void RankCargo::start(std::uint32_t message) {
  Cargo& cargo = cargo_.at(message);
  const MessageSpec& spec = plan_.messages[message];
  const auto tag = static_cast<int>(message);
  const Time left = clock_.now();
  cargo.request = cargo.sends
                      ? link_.start_send(cargo.bytes, static_cast<int>(spec.to.value()), tag)
                      : link_.start_receive(cargo.bytes, static_cast<int>(spec.from.value()), tag);
  cargo.under_way = true;
  if (cargo.sends) note(message, left, Time{});
}

void RankCargo::wait(std::uint32_t message) {
  Cargo& cargo = cargo_.at(message);
  if (!cargo.under_way) return;
  const Time started = clock_.now();
  link_.wait(cargo.request);
  const Time ended = clock_.now();
  blocked_ += ended - started;
  cargo.under_way = false;
  if (!cargo.sends) note(message, Time{}, ended);
}

void RankCargo::wait_for_all() {
  for (auto& [message, cargo] : cargo_) wait(message);
}

void RankCargo::note(std::uint32_t message, Time left, Time arrived) {
  const MessageSpec& spec = plan_.messages[message];
  spans_.push_back({.message = message,
                    .from = spec.from,
                    .to = spec.to,
                    .bytes = spec.bytes,
                    .left = left,
                    .arrived = arrived});
}

Duration RankCargo::take_blocked() {
  return std::exchange(blocked_, Duration{0});
}

std::vector<MessageSpan> RankCargo::take_spans() {
  return std::exchange(spans_, {});
}

}  // namespace schedlab::detail
