// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Protocol Buffers' wire format, as far as proto3 writes it:
// https://protobuf.dev/programming-guides/encoding/

namespace schedlab::detail {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// One field of a message as it stands there; what the number means is the schema's business.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;   ///< of all types but bytes
  std::string_view bytes{};  ///< of type bytes: a text, a message, or packed numbers
};

/// A number of seven bits per byte at `at`, which is moved behind it; nullopt if the text ends
/// within it, or it has more than 64 bits.
[[nodiscard]] std::optional<std::uint64_t> read_varint(std::string_view text, std::size_t& at);

/// The fields of one message, in their order.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : message_(message) {}

  /// False at the end of the message, and where it is damaged.
  [[nodiscard]] bool next(WireField& field);
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  [[nodiscard]] bool read_fixed(std::size_t size, std::uint64_t& value);

  std::string_view message_;
  std::size_t at_ = 0;
  bool damaged_ = false;
};

/// Messages one after another, each behind its length.
class DelimitedMessages {
 public:
  explicit DelimitedMessages(std::string_view text) : text_(text) {}

  /// False at the end of the text, and where a message is cut off.
  [[nodiscard]] bool next(std::string_view& message);
  [[nodiscard]] bool cut_off() const { return cut_off_; }
  /// Offset of the message that next() gave or that is cut off, its length included.
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t offset_ = 0;
  bool cut_off_ = false;
};

}  // namespace schedlab::detail
