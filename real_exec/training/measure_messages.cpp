// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/rank_costs.hpp"
#include "real_exec/training/stage_timer.hpp"
#include "sim/base/rng.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace schedlab {
namespace {

using detail::median_of;
using detail::time_of;

constexpr int message_tag = 0;
constexpr int message_tries = 60;  // assumed: a few milliseconds in all
/// In turns, as of micro-batches under way, so that caches must find them.
constexpr std::size_t message_buffers = 4;

/// One message to and fro, as rank 0 sees it.
struct RoundTrip {
  Duration pack{0};
  Duration send{0};     ///< both calls
  Duration receive{0};  ///< the call that begins it
  Duration way{0};      ///< one way, from the call that sends to the end of the receive
  Duration unpack{0};
};

/// Messages of one size between ranks 0 and 1.
class MessageTimer {
 public:
  MessageTimer(Compression compression, std::int64_t samples, std::int64_t elements, RankLink& link)
      : compression_(compression),
        samples_(samples),
        link_(link),
        other_(1 - link.rank()),
        values_(static_cast<std::size_t>(samples * elements)) {
    Rng rng(1);
    for (float& value : values_) value = static_cast<float>(2 * rng.uniform() - 1);
    const auto bytes =
        static_cast<std::size_t>(samples * encoded_bytes(compression, elements).count());
    for (auto& buffer : sent_) buffer.resize(bytes);
    for (auto& buffer : received_) buffer.resize(bytes);
  }

  RoundTrip medians() {
    std::vector<RoundTrip> tries;
    for (int i = 0; i < message_tries; ++i) {
      const std::size_t buffer = static_cast<std::size_t>(i) % message_buffers;
      if (link_.rank() == 0) {
        tries.push_back(ask(buffer));
      } else {
        answer(buffer);
      }
    }
    if (tries.empty()) return {};
    const auto middle = [&](Duration RoundTrip::*part) {
      std::vector<Duration> times;
      times.reserve(tries.size());
      for (const RoundTrip& one : tries) times.push_back(one.*part);
      return median_of(std::move(times));
    };
    return {.pack = middle(&RoundTrip::pack),
            .send = middle(&RoundTrip::send),
            .receive = middle(&RoundTrip::receive),
            .way = middle(&RoundTrip::way),
            .unpack = middle(&RoundTrip::unpack)};
  }

 private:
  RoundTrip ask(std::size_t buffer) {
    RoundTrip trip;
    trip.pack = time_of([&] { encode(compression_, values_, samples_, sent_[buffer]); });
    RankLink::Request sending = 0;
    RankLink::Request receiving = 0;
    const Duration whole = time_of([&] {
      trip.send = time_of([&] { sending = link_.start_send(sent_[buffer], other_, message_tag); });
      trip.receive =
          time_of([&] { receiving = link_.start_receive(received_[buffer], other_, message_tag); });
      link_.wait(receiving);
    });
    trip.unpack = time_of([&] { decode(compression_, received_[buffer], samples_, values_); });
    trip.send += time_of([&] { link_.wait(sending); });
    // The other side unpacks and packs too, before it answers.
    trip.way = std::max(Duration{0}, whole - trip.unpack - trip.pack) / 2;
    return trip;
  }

  void answer(std::size_t buffer) {
    link_.receive(received_[buffer], other_, message_tag);
    decode(compression_, received_[buffer], samples_, values_);
    encode(compression_, values_, samples_, sent_[buffer]);
    link_.send(sent_[buffer], other_, message_tag);
  }

  Compression compression_;
  std::int64_t samples_;
  RankLink& link_;
  int other_;
  std::vector<float> values_;
  std::array<std::vector<std::byte>, message_buffers> sent_;
  std::array<std::vector<std::byte>, message_buffers> received_;
};

}  // namespace

MessageCosts measure_messages(const PipelineTraining& training, RankLink& link, Bytes eager_limit) {
  if (link.size() < 2 || link.rank() > 1) return {};
  MessageCosts costs;
  const RoundTrip shortest = MessageTimer(Compression::none, 1, 1, link).medians();
  costs.latency = shortest.way;
  costs.send = shortest.send;
  costs.receive = shortest.receive;
  const std::int64_t samples = training.samples(0, 0, 0).count;
  std::map<std::int64_t, PackCosts> known;  // by values of a sample
  for (std::uint32_t stage = 1; stage < training.stage_count(); ++stage) {
    const std::int64_t elements = live_elements(training.net, training.stages[stage].first);
    const auto [found, is_new] = known.try_emplace(elements);
    if (is_new) {
      const RoundTrip trip = MessageTimer(training.compression, samples, elements, link).medians();
      const Bytes bytes{samples * encoded_bytes(training.compression, elements).count()};
      const std::int64_t latencies = bytes > eager_limit ? 3 : 1;
      const Duration moving = std::max(Duration{0}, trip.way - latencies * costs.latency);
      found->second = {.pack = detail::cost_of(training, trip.pack),
                       .unpack = detail::cost_of(training, trip.unpack + moving)};
    }
    costs.links.push_back(found->second);
  }
  return costs;
}

}  // namespace schedlab
