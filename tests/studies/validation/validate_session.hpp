// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/validation/validate_verb.hpp"
#include "studies/validation/validation_files.hpp"
#include "tests/studies/execution/simulated_device.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>

namespace schedlab::testing {

/// Two groups of three policies.
inline const std::string small_spec = R"({
  "name": "small <validation>",
  "workload": {"kind": "lstm", "layers": [2, 3], "steps": 4, "batch": 64, "hidden": 1024, "granularity": "fine"},
  "machine": "v100",
  "policy": ["single_stream", "diagonal", "critical_first"]})";

/// A folder with a spec in it, and what the verb `validate` says and writes there.
struct ValidateSession {
  int validate(ValidateOptions options,
               const ValidateParts& parts,
               const StopFlag* stop = nullptr) {
    options.spec = (folder.path() / "spec.json").string();
    if (options.out.empty()) options.out = (folder.path() / "out").string();
    if (!std::filesystem::exists(options.spec)) write_file_atomically(options.spec, small_spec);
    out.str({});
    err.str({});
    return run(
        options, Terminal{.out = out, .err = err, .interactive = false, .stop = stop}, parts);
  }
  int validate(ValidateOptions options, SimulatedDevice& device) {
    return validate(std::move(options), ValidateParts{.measurer = &device});
  }
  [[nodiscard]] nlohmann::json results(const std::string& name = "out") const {
    expect_fit(folder.path() / name / "validation.json", validation_schema());
    return nlohmann::json::parse(read_file(folder.path() / name / "validation.json"));
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return read_file(folder.path() / "out" / name);
  }
  static void expect_fit(const std::filesystem::path& path, const std::string& schema) {
    const std::string text = read_file(path);
    CHECK_NOTHROW(read_checked_json(text, schema, path.string()));
  }

  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
};

}  // namespace schedlab::testing
