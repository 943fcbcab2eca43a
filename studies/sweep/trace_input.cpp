// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/trace_input.hpp"

#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "sim/trace/chrome_json.hpp"
#include "studies/sweep/sweep_run.hpp"

namespace schedlab {

TraceDocument load_trace(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(path)) {
    file = path / measured_trace_name;
    if (!std::filesystem::exists(file)) file = path / "trace.json";
    if (!std::filesystem::exists(file)) {
      const bool sweep = std::filesystem::exists(path / results_database);
      throw InputError(
          {.file = path.string(),
           .pointer = {},
           .found = sweep ? "the results of a sweep" : "no trace.json",
           .expected = "the folder of schedlab simulate",
           .hint = sweep ? "schedlab export chrome FOLDER --scenario N makes a trace of one "
                           "scenario"
                         : "simulate and execute write it unless --no-trace is given"});
    }
  }
  return read_chrome_json(read_file_or_gzip(file), file.string());
}

}  // namespace schedlab
