// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace schedlab {

/// Names of functions in emitted programs: identifiers that no two things share.
class CodeNames {
 public:
  /// "cell(4,3)" becomes cell_4_3; a word of C++, and a second thing of the name, get a number.
  [[nodiscard]] std::string add(std::string_view name);

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of names that several things have
};

/// The text as a literal of C++, in quotes, in ASCII.
[[nodiscard]] std::string text_literal(std::string_view text);
/// Text of others in a comment: on one line, and never one that goes on.
[[nodiscard]] std::string comment(std::string_view text);

}  // namespace schedlab
