// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace schedlab::detail {

/// A task of a JSON graph file as our writer makes it: no name, keys in its order, all references
/// numbers. Blanks may stand between the parts.
struct PlainJsonTask {
  static constexpr std::size_t most_needs = 8;

  std::uint32_t operation = 0;
  Tags tags{};
  Duration duration{-1};  ///< below 0: the operation's
  std::size_t need_count = 0;
  std::array<std::uint32_t, most_needs> needs{};
};

/// Where the list of tasks begins, behind its '['; npos if the file does not begin like a graph
/// file. Skips what stands before and checks nothing of it.
[[nodiscard]] std::size_t find_json_tasks(std::string_view text);

/// Reads plain tasks one by one, without an index of the whole text, as a full JSON parser needs.
/// What it does not know it leaves to the full parser: it is fast and never wrong, not complete.
class PlainJsonTasks {
 public:
  /// `at`: where the first element or the ']' is expected.
  PlainJsonTasks(std::string_view text, std::size_t at);

  /// The next task with its comma; false, and nothing taken, for all that is not plain and for the
  /// last task of the list, which has no comma behind it.
  [[nodiscard]] bool next(PlainJsonTask& task);
  /// Offset of what was not taken.
  [[nodiscard]] std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  const char* begin_;
  const char* at_;
  const char* last_;  // the last '}' of the text: no search for the end of something passes it
};

}  // namespace schedlab::detail
