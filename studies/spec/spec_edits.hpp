// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// The text of a spec whose workloads, all of them, are of this data type. Throws InputError, with
/// `file` as the spec's name, for a workload that is only the name of a file.
[[nodiscard]] std::string text_with_data_type(const std::string& spec,
                                              std::string_view data_type,
                                              const std::string& file);

/// The text of a spec whose machines, all of them, have so many hardware connections.
[[nodiscard]] std::string text_with_connections(const std::string& spec, std::uint32_t connections);

/// The text of a spec whose scenarios, all of them, are launched in this way.
[[nodiscard]] std::string text_with_launch(const std::string& spec, const std::string& launch);

}  // namespace schedlab
