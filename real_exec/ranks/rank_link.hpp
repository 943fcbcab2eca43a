// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What the ranks of a run reach each other by. Every rank has one, used by one thread at a time.
///
/// A request begins at once and ends in wait(); its memory must stay until then. A message goes to
/// the receive of its rank and tag that was posted first. A send may end only when it is being
/// received.
/// All functions throw DeviceError if the run cannot go on, because a rank failed for instance.
class RankLink {
 public:
  using Request = std::uint32_t;
  using Group = std::uint32_t;

  RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;
  virtual ~RankLink() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Tags are 0 to this.
  [[nodiscard]] virtual int largest_tag() const = 0;
  /// "threads", or the library's name and version.
  [[nodiscard]] virtual std::string description() const = 0;

  virtual Request start_send(std::span<const std::byte> data, int to, int tag) = 0;
  /// Errors  DeviceError if the message is longer than `data`.
  virtual Request start_receive(std::span<std::byte> data, int from, int tag) = 0;
  /// Some ranks, by rising number. Called by all of them, and in the same order where a rank is in
  /// several groups.
  virtual Group add_group(const std::vector<int>& ranks) = 0;
  /// values = their sum over the ranks of the group, the same on all of them; the order of the
  /// additions is the library's. All ranks of a group begin its sums in the same order.
  virtual Request start_sum(std::span<float> values, Group group) = 0;
  /// Would wait() return at once? The request stays.
  [[nodiscard]] virtual bool done(Request request) = 0;
  /// Ends a request, once.
  virtual void wait(Request request) = 0;
  /// No rank leaves before all have entered.
  virtual void barrier() = 0;

  void send(std::span<const std::byte> data, int to, int tag) { wait(start_send(data, to, tag)); }
  void receive(std::span<std::byte> data, int from, int tag) {
    wait(start_receive(data, from, tag));
  }
};

/// A text of any length to one rank, as two messages; between texts of two ranks nothing else.
void send_text(RankLink& link, std::string_view text, int to);
[[nodiscard]] std::string receive_text(RankLink& link, int from);

/// Every rank's bytes at rank 0, in the order of the ranks; empty at the others. Called by all.
[[nodiscard]] std::vector<std::string> gather_texts(RankLink& link, std::string_view text);
/// Rank 0's bytes at all.
[[nodiscard]] std::string broadcast_text(RankLink& link, std::string_view text);

}  // namespace schedlab
