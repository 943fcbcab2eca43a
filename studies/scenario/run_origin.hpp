// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/spec/spec.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace schedlab {

inline constexpr std::string_view run_origin_name = "run.json";

/// run.json in the folder of a run: how it came about, so that it can be made again.
struct RunOrigin {
  std::string verb;  ///< simulate or execute
  std::string spec;  ///< the spec's text
  std::string spec_file;
  /// Where paths in the spec start from; in the file relative to the run's folder.
  std::filesystem::path spec_folder;
  std::uint32_t workers = 0;  ///< of an executed run
  std::string host{};         ///< likewise: where its host thread ran
};

/// `folder`: where the run's files will lie.
[[nodiscard]] std::string run_origin_json(const RunOrigin& origin,
                                          const std::filesystem::path& folder);
/// nullopt: the folder has none. Throws InputError.
[[nodiscard]] std::optional<RunOrigin> read_run_origin(const std::filesystem::path& folder);
/// JSON Schema (draft 7) of run.json.
[[nodiscard]] std::string run_origin_schema();

}  // namespace schedlab
