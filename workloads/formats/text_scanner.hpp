// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab::detail {

/// Walks over a text of numbers and words, line by line, and says where it stands when something is
/// wrong.
class TextScanner {
 public:
  TextScanner(std::string_view text, std::string file)
      : here_(text.data()),
        end_(text.data() + text.size()),
        last_line_(here_ + (text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n'))),
        file_(std::move(file)) {}

  /// The beginning of a line that ends with '\n', for who reads well-formed lines himself; nullptr
  /// if there is none.
  [[nodiscard]] const char* plain_line() const { return here_ < last_line_ ? here_ : nullptr; }
  /// He read that line; `next` is where the one behind it begins.
  void take_plain_line(const char* next) {
    here_ = next;
    ++line_;
  }

  /// Nothing but blanks until the end of the line (or the text).
  [[nodiscard]] bool at_line_end() {
    skip_blanks();
    return here_ == end_ || *here_ == '\n';
  }
  [[nodiscard]] bool at_end() const { return here_ == end_; }
  /// The next character that is not blank; '\n' at the end of the text.
  [[nodiscard]] char peek() {
    skip_blanks();
    return here_ == end_ ? '\n' : *here_;
  }
  /// Bytes that are left: no count in a valid file is larger.
  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - here_); }

  /// A whole number in [minimum, maximum]; `what` names it in the message.
  [[nodiscard]] std::int64_t integer(std::int64_t minimum, std::int64_t maximum, const char* what) {
    skip_blanks();
    const char* p = here_;
    const bool negative = p != end_ && *p == '-';
    if (negative) ++p;
    const char* const digits = p;
    std::uint64_t value = 0;
    // 18 digits always fit; more are refused as out of range below.
    while (p != end_ && static_cast<unsigned char>(*p - '0') < 10 && p - digits < 19) {
      value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
    }
    const auto result =
        negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
    const bool ends = p == end_ || *p == ' ' || *p == '\n' || *p == '\t' || *p == '\r';
    if (p == digits || p - digits > 18 || !ends || result < minimum || result > maximum)
        [[unlikely]] {
      refuse_number(minimum, maximum, what);
    }
    here_ = p;
    return result;
  }
  /// A finite number of at least 0.
  [[nodiscard]] double number(const char* what);
  /// Up to the next blank.
  [[nodiscard]] std::string_view word();
  /// The rest of the line without blanks at its ends.
  [[nodiscard]] std::string_view rest_of_line();
  /// Steps over the end of the line, which must be here.
  void next_line() {
    if (!at_line_end()) [[unlikely]] {
      refuse_rest_of_line();
    }
    if (here_ != end_) ++here_;
    ++line_;
  }
  /// Steps over lines without content.
  void skip_empty_lines() {
    while (!at_end() && at_line_end()) next_line();
  }

  /// Throws InputError for this line.
  [[noreturn]] void refuse(const std::string& found,
                           const std::string& expected,
                           const std::string& hint = {}) const;

 private:
  void skip_blanks() {
    while (here_ != end_ && (*here_ == ' ' || *here_ == '\t' || *here_ == '\r')) ++here_;
  }
  [[noreturn]] void refuse_number(std::int64_t minimum, std::int64_t maximum, const char* what);
  [[noreturn]] void refuse_rest_of_line();

  const char* here_;
  const char* end_;
  const char* last_line_;  // the last '\n'
  std::string file_;
  std::size_t line_ = 1;
};

}  // namespace schedlab::detail
