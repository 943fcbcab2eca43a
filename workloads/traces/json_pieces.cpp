// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/json_pieces.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr char end_of_file = '\0';

/// Bytes that a search for the end of an object or array stops at.
constexpr std::array<bool, 256> brackets_and_quotes() {
  std::array<bool, 256> stops{};
  for (const char c : {'{', '}', '[', ']', '"'}) stops.at(static_cast<unsigned char>(c)) = true;
  return stops;
}

constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

JsonPieces::JsonPieces(ByteSource& source,
                       std::string file,
                       std::string list,
                       std::size_t batch_bytes,
                       std::size_t longest)
    : source_(&source), file_(std::move(file)), list_(std::move(list)), longest_(longest) {
  SCHEDLAB_EXPECTS(batch_bytes > 0, "a batch of no bytes");
  buffer_.resize(batch_bytes + padding);
}

void JsonPieces::refuse(const std::string& found, const std::string& expected) const {
  throw InputError({.file = file_,
                    .pointer = fmt::format("byte {}", base_ + at_),
                    .found = found,
                    .expected = expected,
                    .hint = {}});
}

/// Makes space by dropping what is no longer needed, and by growing; false at the end of the file.
bool JsonPieces::refill() {
  if (kept_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + kept_, end_ - kept_);
    base_ += kept_;
    at_ -= kept_;
    end_ -= kept_;
    kept_ = 0;
  }
  if (end_ + padding == buffer_.size()) {
    if (end_ >= longest_) {
      refuse(fmt::format("a value of more than {} MiB", longest_ >> 20U),
             "shorter ones: is the file damaged?");
    }
    buffer_.resize(2 * end_ + padding);
  }
  // Filled to the brim: whoever starts anew with a value that was cut off does so seldom.
  const std::size_t before = end_;
  const std::size_t capacity = buffer_.size() - padding;
  while (end_ < capacity) {
    const std::size_t got = source_->read(buffer_.data() + end_, capacity - end_);
    if (got == 0) break;
    end_ += got;
  }
  return end_ > before;
}

char JsonPieces::peek() {
  if (at_ == end_ && !refill()) return end_of_file;
  return buffer_[at_];
}

void JsonPieces::pass_space() {
  while (is_space(peek())) ++at_;
}

/// Between values, where nothing before is needed any longer.
void JsonPieces::pass_separators() {
  kept_ = at_;
  while (is_space(peek()) || peek() == ',') kept_ = ++at_;
}

void JsonPieces::expect_end() {
  pass_separators();
  if (at_ != end_) refuse("more behind the last bracket", "the end of the file");
  state_ = State::end;
}

/// From the opening quote to behind the closing one.
void JsonPieces::pass_string() {
  ++at_;
  while (true) {
    const void* const quote =
        at_ == end_ ? nullptr : std::memchr(buffer_.data() + at_, '"', end_ - at_);
    const std::size_t stop =
        quote == nullptr
            ? end_
            : static_cast<std::size_t>(static_cast<const char*>(quote) - buffer_.data());
    // A quote behind an odd number of backslashes is part of the string.
    std::size_t slashes = 0;
    while (stop - slashes > at_ && buffer_[stop - slashes - 1] == '\\') ++slashes;
    if (quote != nullptr) {
      at_ = stop + 1;
      if (slashes % 2 == 0) return;
      continue;
    }
    at_ = stop - slashes;  // its backslashes are counted once more of it is there
    if (!refill()) {
      refuse(
          fmt::format("the end of the file within a string, behind {} whole elements", elements_),
          "the rest: was the file cut off?");
    }
  }
}

void JsonPieces::pass_brackets() {
  static constexpr std::array<bool, 256> stops = brackets_and_quotes();
  std::size_t depth = 0;
  do {
    while (at_ < end_ && !stops[static_cast<unsigned char>(buffer_[at_])]) ++at_;
    if (at_ == end_) {
      if (refill()) continue;
      refuse(fmt::format("the end of the file within a value, behind {} whole elements", elements_),
             "the rest: was the file cut off?");
    }
    const char c = buffer_[at_];
    if (c == '"') {
      pass_string();
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') {
      if (++depth > max_depth) {
        refuse(fmt::format("a value nested deeper than {} levels", max_depth), "a flatter one");
      }
    } else {
      --depth;
    }
  } while (depth > 0);
}

void JsonPieces::pass_scalar() {
  const std::size_t begin = at_ - kept_;
  for (char c = peek(); c != ',' && c != '}' && c != ']' && !is_space(c); c = peek()) {
    if (at_ == end_) break;
    ++at_;
  }
  if (at_ - kept_ == begin) refuse("no value", "one");
}

void JsonPieces::pass_value() {
  const char c = peek();
  if (c == '{' || c == '[') {
    pass_brackets();
  } else if (c == '"') {
    pass_string();
  } else {
    pass_scalar();
  }
}

void JsonPieces::begin() {
  if (peek() == '\xEF') {  // a byte order mark
    at_ += 1;
    for (const char mark : {'\xBB', '\xBF'}) at_ += peek() == mark ? 1U : 0U;
  }
  pass_space();
  const char c = peek();
  if (c != '{' && c != '[') {
    refuse(at_ == end_ ? "an empty file" : "something else",
           fmt::format("JSON: an object with \"{}\", or a list", list_));
  }
  ++at_;
  state_ = c == '{' ? State::object : State::whole_list;
  found_list_ = c == '[';
}

bool JsonPieces::next_member(JsonPiece& piece) {
  pass_separators();
  if (peek() == '}') {
    ++at_;
    expect_end();
    return false;
  }
  if (peek() != '"') {
    refuse(at_ == end_ ? fmt::format("the end of the file behind {} whole elements", elements_)
                       : "something else",
           at_ == end_ ? "the rest: was the file cut off?"
                       : "a key in quotes, or the end of the object");
  }
  pass_string();
  const std::size_t key = at_ - kept_ - 2;
  pass_space();
  if (peek() != ':') refuse("a key without a value", "a colon and a value");
  ++at_;
  pass_space();
  if (std::string_view{buffer_.data() + kept_ + 1, key} == list_ && peek() == '[') {
    ++at_;
    state_ = State::list;
    found_list_ = true;
    return false;
  }
  const std::size_t value = at_ - kept_;
  pass_value();
  piece = {.is_element = false,
           .key = {buffer_.data() + kept_ + 1, key},
           .text = {buffer_.data() + kept_ + value, at_ - kept_ - value},
           .offset = base_ + kept_ + value};
  return true;
}

bool JsonPieces::next_element(JsonPiece& piece) {
  pass_separators();
  const char c = peek();
  if (c == ']' || (at_ == end_ && state_ == State::whole_list)) {
    if (c == ']') ++at_;
    if (state_ == State::whole_list) expect_end();
    if (state_ == State::list) state_ = State::object;
    return false;
  }
  if (at_ == end_) {
    refuse(fmt::format("the end of the file behind {} whole elements", elements_),
           "the rest: was the file cut off?");
  }
  pass_value();
  ++elements_;
  piece = {.is_element = true,
           .key = {},
           .text = {buffer_.data() + kept_, at_ - kept_},
           .offset = base_ + kept_};
  return true;
}

bool JsonPieces::next(JsonPiece& piece) {
  while (state_ != State::end) {
    kept_ = at_;
    if (state_ == State::start) begin();
    const bool found = state_ == State::object ? next_member(piece) : next_element(piece);
    if (found) return true;
  }
  return false;
}

}  // namespace schedlab::detail
