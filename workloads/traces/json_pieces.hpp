// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// A whole value out of a large JSON file: an element of its list, or the value of another key of
/// the outermost object.
struct JsonPiece {
  bool is_element = false;
  std::string_view key;  ///< as written, empty for elements
  std::string_view text;
  std::uint64_t offset = 0;  ///< of the text in the file
};

/// Cuts a JSON file that is one long list, or an object with one, into whole values, without
/// reading it whole: {"a": 1, LIST: [element, element, ...], "b": {...}} or [element, ...]. Only
/// strings and brackets are looked at; what is between them is the parser's business.
///
/// Errors  InputError where the file is no such JSON, ends early (a list without its closing
///         bracket that is all of the file is whole, as its format says), nests deeper than
///         max_depth or has a value longer than longest_piece.
/// Memory  batch_bytes; more for a value that is longer.
class JsonPieces {
 public:
  static constexpr std::size_t max_depth = 256;                         // assumed
  static constexpr std::size_t longest_piece = std::size_t{64} << 20U;  // assumed
  static constexpr std::size_t default_batch = std::size_t{1} << 20U;   // fits caches
  static constexpr std::size_t padding = 64;                            // simdjson's

  /// `source` must outlive this. `list`: the key of the list, e.g. "traceEvents"; batch_bytes and
  /// longest at least 1.
  JsonPieces(ByteSource& source,
             std::string file,
             std::string list,
             std::size_t batch_bytes = default_batch,
             std::size_t longest = longest_piece);

  /// The next piece; false at the end. Its texts are valid until the next call, with `padding`
  /// readable bytes behind them.
  [[nodiscard]] bool next(JsonPiece& piece);

  /// Was there a list so far?
  [[nodiscard]] bool found_list() const { return found_list_; }
  /// Bytes so far.
  [[nodiscard]] std::uint64_t position() const { return base_ + at_; }

 private:
  enum class State { start, object, list, whole_list, end };

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;
  [[nodiscard]] bool refill();
  [[nodiscard]] char peek();
  void pass_space();
  void pass_separators();
  void expect_end();
  void pass_string();
  void pass_value();
  void pass_brackets();
  void pass_scalar();
  void begin();
  [[nodiscard]] bool next_member(JsonPiece& piece);
  [[nodiscard]] bool next_element(JsonPiece& piece);

  ByteSource* source_;
  std::string file_;
  std::string list_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t kept_ = 0;        // of the first byte that is still needed
  std::size_t at_ = 0;          // of the next byte to look at
  std::size_t end_ = 0;         // behind the last byte
  std::uint64_t base_ = 0;      // offset of buffer_[0] in the file
  std::uint64_t elements_ = 0;  // of the list, so far
  State state_ = State::start;
  bool found_list_ = false;
};

}  // namespace schedlab::detail
