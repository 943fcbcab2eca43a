// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/dot_scanner.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool in_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         byte >= 0x80;
}

bool starts_number(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

}  // namespace

DotToken DotScanner::take() {
  DotToken taken = std::move(token_);
  advance();
  return taken;
}

bool DotScanner::at_word(std::string_view word) const {
  if (token_.kind != DotToken::Kind::id || token_.quoted || token_.text.size() != word.size()) {
    return false;
  }
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(token_.text[i]) != word[i]) return false;
  }
  return true;
}

bool DotScanner::accept(char sign) {
  if (!at_sign(sign)) return false;
  advance();
  return true;
}

void DotScanner::expect(char sign, std::string_view where) {
  if (!accept(sign)) refuse(shown(), fmt::format("\"{}\" {}", sign, where));
}

DotToken DotScanner::expect_id(std::string_view what) {
  if (token_.kind != DotToken::Kind::id) refuse(shown(), std::string{what});
  return take();
}

void DotScanner::refuse(const std::string& found,
                        const std::string& expected,
                        const std::string& hint,
                        std::size_t line) const {
  throw InputError({.file = file_,
                    .pointer = fmt::format("line {}", line == 0 ? token_.line : line),
                    .found = found,
                    .expected = expected,
                    .hint = hint});
}

std::string DotScanner::shown() const {
  constexpr std::size_t longest = 40;
  switch (token_.kind) {
    case DotToken::Kind::end:
      return "the end of the file";
    case DotToken::Kind::arrow:
      return "\"->\"";
    case DotToken::Kind::sign:
      return fmt::format("\"{}\"", token_.sign);
    default:
      return fmt::format(
          "\"{}{}\"", token_.text.substr(0, longest), token_.text.size() > longest ? "..." : "");
  }
}

void DotScanner::skip_blanks() {
  const auto skip_line = [&] {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  };
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (starts("//") || (c == '#' && (at_ == 0 || text_[at_ - 1] == '\n'))) {
      skip_line();
    } else if (starts("/*")) {
      const std::size_t begin = line_;
      at_ += 2;
      while (at_ < text_.size() && !starts("*/")) line_ += text_[at_++] == '\n' ? 1U : 0U;
      if (at_ >= text_.size()) refuse("a comment without an end", "\"*/\"", {}, begin);
      at_ += 2;
    } else {
      return;
    }
  }
}

/// A backslash takes the meaning of the quote or backslash after it away; before anything else it
/// stands for itself.
void DotScanner::read_quoted() {
  const std::size_t begin = line_;
  token_.quoted = true;
  for (;;) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '\\' && at_ + 1 < text_.size() &&
          (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\')) {
        ++at_;
      }
      token_.text += text_[at_++];
    }
    if (at_ >= text_.size()) refuse("a string without an end", "a closing quote", {}, begin);
    ++at_;
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '+') return;
    ++at_;
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '"') {
      refuse("\"+\" after a string", "another quoted string after it", {}, line_);
    }
  }
}

void DotScanner::advance() {
  skip_blanks();
  token_ = {};
  token_.line = line_;
  if (at_ >= text_.size()) return;
  const char c = text_[at_];
  if (c == '"') {
    token_.kind = DotToken::Kind::id;
    read_quoted();
  } else if (starts("->")) {
    token_.kind = DotToken::Kind::arrow;
    at_ += 2;
  } else if (starts("--")) {
    refuse("\"--\", an edge without direction", "\"->\"", "write a digraph");
  } else if (in_name(c) || (c == '-' && at_ + 1 < text_.size() && starts_number(text_[at_ + 1]))) {
    token_.kind = DotToken::Kind::id;
    do token_.text += text_[at_++];
    while (at_ < text_.size() && in_name(text_[at_]));
  } else if (std::string_view{"{}[];,=:"}.find(c) != std::string_view::npos) {
    token_.kind = DotToken::Kind::sign;
    token_.sign = c;
    ++at_;
  } else if (c == '<') {
    refuse("an HTML string", "a name or a quoted string");
  } else {
    const auto byte = static_cast<unsigned char>(c);
    refuse(byte > 0x20 && byte < 0x7F ? fmt::format("\"{}\"", c)
                                      : fmt::format("the byte 0x{:02X}", byte),
           "a name, a quoted string or one of { } [ ] ; , = : ->");
  }
}

}  // namespace schedlab::detail
