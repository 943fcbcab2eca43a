// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab::detail {

/// One word or sign of a DOT file.
struct DotToken {
  enum class Kind : std::uint8_t { id, sign, arrow, end };
  Kind kind = Kind::end;
  char sign = 0;        ///< { } [ ] ; , = :
  bool quoted = false;  ///< of an id; keywords are not quoted
  std::string text;     ///< of an id, without quotes and escapes
  std::size_t line = 1;
};

/// Cuts a DOT text into tokens: names, numbers, quoted strings (joined by +), signs. Skips comments
/// (//, /* */) and lines that begin with #. Source: the DOT language,
/// graphviz.org/doc/info/lang.html
class DotScanner {
 public:
  DotScanner(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    advance();
  }

  [[nodiscard]] const DotToken& peek() const { return token_; }
  /// The token, and on to the next.
  DotToken take();
  [[nodiscard]] bool at_sign(char sign) const {
    return token_.kind == DotToken::Kind::sign && token_.sign == sign;
  }
  /// The unquoted word, whatever its case.
  [[nodiscard]] bool at_word(std::string_view word) const;
  /// Steps over the sign if it is here.
  bool accept(char sign);
  void expect(char sign, std::string_view where);
  [[nodiscard]] DotToken expect_id(std::string_view what);

  /// Throws InputError for the line of the current token, or for `line`.
  [[noreturn]] void refuse(const std::string& found,
                           const std::string& expected,
                           const std::string& hint = {},
                           std::size_t line = 0) const;
  /// The current token as a message shows it.
  [[nodiscard]] std::string shown() const;

 private:
  void advance();
  void skip_blanks();
  void read_quoted();
  [[nodiscard]] bool starts(std::string_view word) const {
    return text_.substr(at_, word.size()) == word;
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  DotToken token_;
};

}  // namespace schedlab::detail
