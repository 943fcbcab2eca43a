// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/plain_json_tasks.hpp"

#include "workloads/formats/graph_totals.hpp"
#include "workloads/formats/plain_digits.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace schedlab::detail {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

inline void skip_blanks(const char*& at) {
  while (static_cast<unsigned char>(*at) <= ' ' && is_blank(*at)) ++at;
}

/// A character with blanks around it.
inline bool take(const char*& at, char c) {
  skip_blanks(at);
  if (*at != c) return false;
  ++at;
  skip_blanks(at);
  return true;
}

/// `"key":` with its quotes; nothing is taken if another key stands here.
template <std::size_t Size>
// NOLINTNEXTLINE(*-avoid-c-arrays): of a literal
inline bool take_key(const char*& at, const char* end, const char (&key)[Size]) {
  constexpr std::size_t length = Size - 1;
  if (static_cast<std::size_t>(end - at) <= length || std::memcmp(at, key, length) != 0) {
    return false;
  }
  const char* behind = at + length;
  if (!take(behind, ':')) return false;
  at = behind;
  return true;
}

/// JSON knows no numbers with leading zeros.
inline bool take_number(const char*& at, std::int64_t highest, std::int64_t& value) {
  const bool zero = *at == '0';
  const char* const first = at;
  return plain_digits(at, value) && value <= highest && (!zero || at == first + 1);
}

/// Microseconds with up to six decimals, exactly.
bool take_duration(const char*& at, const char* end, bool& more, Duration& duration) {
  if (!more || !take_key(at, end, "\"duration_us\"")) return true;
  constexpr std::int64_t per_us = 1'000'000;
  std::int64_t us = 0;
  if (!take_number(at, GraphTotals::longest_duration / per_us - 1, us)) return false;
  std::int64_t ps = us * per_us;
  if (*at == '.') {
    const char* const first = ++at;
    std::int64_t decimals = 0;
    if (!plain_digits(at, decimals) || at - first > 6) return false;
    for (auto i = at - first; i < 6; ++i) decimals *= 10;
    ps += decimals;
  }
  duration = Duration{ps};
  more = take(at, ',');
  return true;
}

/// One more pair of a key and a number if `more` says that there is one and the key is this; then
/// whether yet another follows.
template <class Integer, std::size_t Size>
inline bool take_tag(const char*& at,
                     const char* end,
                     bool& more,
                     const char (&key)[Size],  // NOLINT(*-avoid-c-arrays): of a literal
                     Integer& tag) {
  if (!more || !take_key(at, end, key)) return true;
  std::int64_t value = 0;
  if (!take_number(at, std::numeric_limits<Integer>::max(), value)) return false;
  tag = static_cast<Integer>(value);
  more = take(at, ',');
  return true;
}

bool take_needs(const char*& at, const char* end, bool& more, PlainJsonTask& task) {
  if (!more || !take_key(at, end, "\"needs\"")) return true;
  if (!take(at, '[')) return false;
  for (bool first = true; *at != ']'; first = false) {
    if (!first && !take(at, ',')) return false;
    std::int64_t before = 0;
    if (task.need_count == PlainJsonTask::most_needs ||
        !take_number(at, std::numeric_limits<std::uint32_t>::max() - 1, before)) {
      return false;
    }
    task.needs[task.need_count++] = static_cast<std::uint32_t>(before);
    skip_blanks(at);
  }
  ++at;
  more = take(at, ',');
  return true;
}

/// Behind the value that begins at `at`: brackets are counted, strings skipped.
const char* behind_value(const char* at, const char* end) {
  std::size_t depth = 0;
  for (; at != end; ++at) {
    if (*at == '"') {
      for (++at; at != end && *at != '"'; ++at) {
        if (*at == '\\' && ++at == end) return end;
      }
      if (at == end) return end;
    } else if (*at == '{' || *at == '[') {
      ++depth;
    } else if (*at == '}' || *at == ']') {
      if (depth == 0) return at;
      --depth;
    } else if (*at == ',' && depth == 0) {
      return at;
    }
  }
  return end;
}

}  // namespace

std::size_t find_json_tasks(std::string_view text) {
  constexpr std::string_view key = "\"tasks\"";
  const char* const end = text.data() + text.size();
  const auto blanks = [&](const char* at) { return std::find_if_not(at, end, is_blank); };
  const char* at = blanks(text.data());
  if (at == end || *at != '{') return std::string_view::npos;
  while (true) {
    at = blanks(at + 1);
    const bool tasks = std::string_view{at, static_cast<std::size_t>(end - at)}.starts_with(key);
    at = std::find(at, end, ':');
    if (at == end) return std::string_view::npos;
    if (tasks) break;
    at = behind_value(at + 1, end);
    if (at == end || *at != ',') return std::string_view::npos;
  }
  at = blanks(at + 1);
  if (at == end || *at != '[') return std::string_view::npos;
  return static_cast<std::size_t>(at + 1 - text.data());
}

PlainJsonTasks::PlainJsonTasks(std::string_view text, std::size_t at)
    : begin_(text.data()), at_(begin_ + at), last_(begin_) {
  const std::size_t last = text.rfind('}');
  if (last != std::string_view::npos) last_ = begin_ + last;
}

bool PlainJsonTasks::next(PlainJsonTask& task) {
  const char* at = at_;
  if (at >= last_) return false;
  task.tags = {};
  task.duration = Duration{-1};
  task.need_count = 0;
  std::int64_t operation = 0;
  if (!take(at, '{') || !take_key(at, last_, "\"operation\"") ||
      !take_number(at, std::numeric_limits<std::uint32_t>::max() - 1, operation)) {
    return false;
  }
  task.operation = static_cast<std::uint32_t>(operation);
  bool more = take(at, ',');
  if (!take_tag(at, last_, more, "\"layer\"", task.tags.layer) ||
      !take_tag(at, last_, more, "\"step\"", task.tags.step) ||
      !take_tag(at, last_, more, "\"stage\"", task.tags.stage) ||
      !take_tag(at, last_, more, "\"microbatch\"", task.tags.microbatch) ||
      !take_duration(at, last_, more, task.duration) || !take_needs(at, last_, more, task) ||
      more || *at != '}' || at == last_ || !take(++at, ',')) {
    return false;
  }
  skip_blanks(at);
  if (*at != '{') return false;  // a comma with no task behind it: the full parser says so
  at_ = at;
  return true;
}

}  // namespace schedlab::detail
