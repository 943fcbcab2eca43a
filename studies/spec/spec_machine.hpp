// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace schedlab {

/// The text of a spec with its machine on another base, a machine file: what the spec overrides
/// stays. Of a list with overrides every element; any other list becomes this one machine.
[[nodiscard]] std::string text_on_machine(const std::string& spec, const std::string& file);

}  // namespace schedlab
