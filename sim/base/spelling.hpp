// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The hint `did you mean "layers"?` for the candidate closest to `word`; empty if none is near.
/// Only the first 60 letters of a word count.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates);

/// `one of layers, steps, batch`.
[[nodiscard]] std::string one_of(const std::vector<std::string>& candidates);

/// Throws InputError: `found` at this place, where one of `known` belongs; `word` is what was given
/// in place of one of them.
[[noreturn]] void refuse_unknown(const std::string& file,
                                 const std::string& pointer,
                                 const std::string& found,
                                 std::string_view word,
                                 const std::vector<std::string>& known);

}  // namespace schedlab
