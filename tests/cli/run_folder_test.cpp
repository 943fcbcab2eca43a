// SPDX-License-Identifier: Apache-2.0
// The folder of a run as somebody finds it who types the command: what is in it, and what it may
// replace.
#include "cli/cmd_schema.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "studies/sweep/sweep_verb.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::TemporaryFolder;

const std::string fluid_run = R"({
  "workload": {"kind": "lstm", "pass": "training", "layers": 2, "steps": 4, "batch": 8, "hidden": 64},
  "machine": "v100", "policy": "critical_first", "variability": {"samples": 5, "duration_cv": 0.1}})";

/// Makes a folder the current one, until the end of the test.
class Inside {
 public:
  explicit Inside(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { fs::current_path(before_); }

 private:
  fs::path before_;
};

/// What a verb prints, and where it prints it.
struct Output {
  std::ostringstream out;
  std::ostringstream err;
  [[nodiscard]] Terminal terminal() {
    return {.out = out, .err = err, .interactive = false, .stop = nullptr};
  }
};

int simulated(const SimulateOptions& options) {
  Output output;
  return run(options, output.terminal());
}

json file_in(const fs::path& folder, const char* name) {
  return json::parse(read_file(folder / name));
}

TEST_CASE("simulate: a spec and a folder in the current folder are given by their names alone") {
  const TemporaryFolder folder;
  const Inside inside{folder.path()};
  write_file_atomically("one.json", fluid_run);
  CHECK(simulated({.spec = "one.json", .out = "out"}) == exit_done);
  CHECK(file_in("out", "run.json").at("spec_folder") == "..");
}

TEST_CASE("simulate: plan, trace and metrics name a policy that decided while it ran") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  write_file_atomically(folder.path() / "one.json", fluid_run);
  CHECK(simulated({.spec = (folder.path() / "one.json").string(), .out = out.string()}) ==
        exit_done);
  CHECK(file_in(out, "plan.json").at("policy") == "critical_first");
  CHECK(file_in(out, "metrics.json").at("policy") == "critical_first");
  CHECK(file_in(out, "trace.json").at("otherData").at("policy") == "critical_first");
}

TEST_CASE("simulate: metrics.json fits its schema, and has utilization over time") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  write_file_atomically(folder.path() / "one.json", fluid_run);
  CHECK(simulated({.spec = (folder.path() / "one.json").string(), .out = out.string()}) ==
        exit_done);
  Output schema;
  static_cast<void>(run(SchemaOptions{.which = "metrics"}, schema.terminal()));
  const std::string text = read_file(out / "metrics.json");
  CHECK_NOTHROW(read_checked_json(text, schema.out.str(), "metrics.json"));
  json changed = json::parse(text);
  for (const char* key : {"samples", "memory", "utilization_over_time"}) {
    CHECK(changed.contains(key));
  }
  const auto running = changed.at("utilization_over_time").at("running").get<std::vector<double>>();
  CHECK(running.size() == 100);
  // Tasks that run at once, in the mean over equal slices and over the whole makespan.
  CHECK(std::accumulate(running.begin(), running.end(), 0.0) / 100 ==
        doctest::Approx(changed.at("mean_concurrency").get<double>()).epsilon(1e-4));
  changed["utilisation"] = 0.5;
  const std::string wrong = changed.dump();
  CHECK_THROWS_AS(read_checked_json(wrong, schema.out.str(), "metrics.json"), InputError);
}

TEST_CASE("simulate: the picture says the same mean utilization as metrics.json") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  write_file_atomically(folder.path() / "one.json", fluid_run);
  CHECK(simulated({.spec = (folder.path() / "one.json").string(), .out = out.string()}) ==
        exit_done);
  const double utilization = file_in(out, "metrics.json").at("utilization").get<double>();
  CHECK(read_file(out / "timeline.svg").find(fmt::format("mean {:.0f} %", 100 * utilization)) !=
        std::string::npos);
}

TEST_CASE("--overwrite replaces results and nothing else") {
  const TemporaryFolder folder;
  const std::string spec = (folder.path() / "one.json").string();
  write_file_atomically(spec, fluid_run);
  const fs::path home = folder.path() / "home";
  fs::create_directory(home);
  write_file_atomically(home / "thesis.txt", "years of work");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(simulated({.spec = spec, .out = home.string(), .overwrite = true})),
      doctest::Contains("found a folder that schedlab has not made"),
      InputError);
  CHECK(read_file(home / "thesis.txt") == "years of work");
  fs::remove(home / "thesis.txt");
  CHECK(simulated({.spec = spec, .out = home.string(), .overwrite = true}) == exit_done);
  CHECK(simulated({.spec = spec, .out = home.string(), .overwrite = true}) == exit_done);
}

TEST_CASE("sweep: one scenario is not called scenarios") {
  const TemporaryFolder folder;
  const std::string spec = (folder.path() / "one.json").string();
  write_file_atomically(spec, fluid_run);
  Output output;
  const int code = run(
      SweepOptions{.spec = spec, .out = (folder.path() / "sweep").string(), .timelines = "none"},
      output.terminal());
  CHECK(code == exit_done);
  CHECK(output.out.str().starts_with("1 scenario;"));
}

TEST_CASE("names from files cannot steer the screen") {
  CHECK(printable("plain \xC3\xA9\nnext") == "plain \xC3\xA9\nnext");
  CHECK(printable("\x1B[2Jgone\r") == "\\x1B[2Jgone\\x0D");
  CHECK(printable("a\xFF") == "a\\xFF");
  CHECK(printable("\xC2\x9B!") == "\\xC2\\x9B!");  // U+009B: the one-character form of ESC [
  CHECK(printable("\xE2\x80\xAE"
                  "abc\xE2\x81\xA9") == "\\u202Eabc\\u2069");  // U+202E, U+2069
  CHECK(printable("\xE2\x80\xA6\t") == "\xE2\x80\xA6\t");      // an ellipsis and a tab
  CHECK(printable("") == "");
}

TEST_CASE("what a program prints is printable, also where characters come in pieces") {
  std::ostringstream target;
  PrintableBuffer buffer(*target.rdbuf());
  std::ostream out(&buffer);
  out << "a\xE2\x80"
      << "\xAE"
      << "b\n\x1B[2J";
  CHECK(target.str() == "a\\u202Eb\n");  // up to the last whole line
  out << std::flush;
  CHECK(target.str() == "a\\u202Eb\n\\x1B[2J");
  CHECK(out.good());
}

}  // namespace
}  // namespace schedlab
