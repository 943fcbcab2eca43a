// SPDX-License-Identifier: Apache-2.0
// Every kind of trace file that verbs write goes through every verb that reads one: alone, without
// the folder that it comes from, whole and damaged.
#include "cli/cmd_execute.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/gzip.hpp"
#include "sim/base/rng.hpp"
#include "studies/explanation/explain_verb.hpp"
#include "studies/explanation/export_verb.hpp"
#include "studies/explanation/replay_verb.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "studies/sweep/plot_verb.hpp"
#include "tests/studies/explanation/imported_profile.hpp"
#include "tests/studies/validation/validate_session.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::TemporaryFolder;
using testing::VerbSession;

/// Traces in a folder, away from all that was written with them.
struct Traces {
  TemporaryFolder folder;
  VerbSession session;
  std::vector<fs::path> files;

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder.path() / name).string();
  }
  void keep(const std::string& from, const std::string& name) {
    files.push_back(folder.path() / (name + ".json"));
    fs::copy_file(from, files.back());
  }
  void simulate(const std::string& name, const std::string& spec) {
    CAPTURE(spec);
    write_file_atomically(path("spec.json"), spec);
    // A plan that the checker objects to leaves its trace as well.
    static_cast<void>(session.call(
        SimulateOptions{.spec = path("spec.json"), .out = path("run"), .overwrite = true}));
    keep(path("run/trace.json"), name);
  }
  void execute(const std::string& name, const std::string& spec) {
    write_file_atomically(path("spec.json"), spec);
    REQUIRE(session.call(ExecuteOptions{.spec = path("spec.json"),
                                        .out = path("executed"),
                                        .workers = 2,
                                        .repetitions = 1,
                                        .pin = false,
                                        .overwrite = true}) == exit_done);
    keep(path("executed/trace.json"), name);
  }
  void replay(const std::string& name, const std::vector<std::string>& profiles) {
    ReplayOptions options{.traces = profiles, .out = path("replayed"), .overwrite = true};
    if (profiles.size() == 1) options.what_if = {"host=0.5", "graph_launch", "policy=heft"};
    REQUIRE(session.call(options) == exit_done);
    keep(path("replayed/trace.json"), name);
    keep(path("replayed/imported_trace.json"), name + "_imported");
    for (std::size_t i = 1; i <= options.what_if.size(); ++i) {
      keep(path(fmt::format("replayed/what_if_{}.json", i)), fmt::format("{}_{}", name, i));
    }
  }
};

/// Three launches of a device graph of two kernels in two streams.
std::string graph_profile() {
  json profile = json::parse(testing::small_profile());
  json& events = profile["traceEvents"];
  for (int i = 0; i < 3; ++i) {
    const int at = 400 + 100 * i;
    events.push_back(testing::profile_call("cudaGraphLaunch", 10 + i, at, 20));
    events.push_back(testing::profile_kernel("node_a", 10 + i, 7, at + 30, 20));
    events.push_back(testing::profile_kernel("node_b", 10 + i, 20, at + 52, 20));
  }
  events.push_back(testing::profile_call("cudaStreamSynchronize", 20, 640, 60));
  return profile.dump();
}

void simulate_all(Traces& traces) {
  const std::string lstm =
      R"("workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4, "batch": 8, "hidden": 64})";
  for (const char* launch : {"eager", "eager_two_thread", "graph_mode", "graph_launch", "sink"}) {
    for (const char* policy : {"single_stream", "heft", "critical_first", "eager_fifo"}) {
      for (const char* machine : {"ascend_910b", "v100"}) {
        const bool sinks = std::string_view{launch} == "sink";
        if (sinks && std::string_view{machine} == "v100") continue;
        const bool polls = std::string_view{policy} == "eager_fifo";
        if (polls && (sinks || std::string_view{launch} == "graph_launch")) continue;
        traces.simulate(fmt::format("{}_{}_{}", launch, policy, machine),
                        fmt::format(R"({{{}, "machine": "{}", "policy": "{}", "launch": "{}"}})",
                                    lstm,
                                    machine,
                                    policy,
                                    launch));
      }
    }
  }
  for (const char* sharing : {"fluid", "blocks"}) {
    traces.simulate(
        sharing,
        fmt::format(
            R"({{{}, "machine": {{"base": "v100", "sharing": "{}"}}, "policy": "diagonal"}})",
            lstm,
            sharing));
  }
  for (const char* policy : {"pipeline_1f1b", "pipeline_zb_h1"}) {
    for (const char* launch : {"eager", "graph_launch"}) {
      for (const int groups : {1, 2}) {
        traces.simulate(
            fmt::format("{}_{}_{}", policy, launch, groups),
            fmt::format(
                R"({{"workload": {{"kind": "gpt_pipeline", "stages": 3, "microbatches": 4, "replicas": {}, "blocks": 6}},
              "machine": "h200", "policy": "{}", "launch": "{}"}})",
                groups,
                policy,
                launch));
      }
    }
  }
}

/// All kinds; made once for all cases of this file, as making them takes longest.
const Traces& all_traces() {
  static Traces traces;
  if (!traces.files.empty()) return traces;
  simulate_all(traces);
  traces.execute(
      "executed",
      R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 3, "batch": 2, "hidden": 16},
    "machine": "manycore_cpu", "policy": "diagonal"})");
  write_file_atomically(traces.path("profile.json"), testing::small_profile());
  write_file_atomically(traces.path("graphs.json"), graph_profile());
  traces.replay("replayed", {traces.path("profile.json")});
  traces.replay("graphs_replayed", {traces.path("graphs.json")});
  traces.replay("ranks_replayed", {traces.path("profile.json"), traces.path("profile.json")});
  return traces;
}

/// What every verb that reads a trace does with it. Throws what they throw.
void read_by_all(const fs::path& file, const TemporaryFolder& to) {
  VerbSession session;
  const std::string input = file.string();
  const auto done = [&](const auto& options) {
    const int code = session.call(options);  // not within CHECK, which keeps what is thrown
    CHECK(code == exit_done);
  };
  const auto out = [&](const char* name) { return (to.path() / name).string(); };
  done(ExplainOptions{.input = input, .what_if = true, .json = true});
  const json explained = session.printed();
  for (const char* shares : {"bound", "path_bound", "idle_by_cause"}) {
    CAPTURE(shares);
    double sum = 0;
    for (const auto& [word, part] : explained.at(shares).items()) {
      CAPTURE(word);
      const double share = part.at("share").get<double>();
      CHECK(share >= 0);
      CHECK(share <= 1);
      sum += share;
    }
    CHECK((sum == 0 || sum == doctest::Approx(1.0)));
  }
  done(ExplainOptions{.input = input});
  done(PlotOptions{.inputs = {input}, .out = out("plot.svg")});
  for (const char* format : {"csv", "chrome"}) {
    done(ExportOptions{.format = format, .input = input, .out = out(format)});
  }
}

TEST_CASE("every kind of trace file can be explained, drawn and exported on its own") {
  const TemporaryFolder to;
  for (const fs::path& file : all_traces().files) {
    CAPTURE(file.string());
    CHECK_NOTHROW(read_by_all(file, to));
  }
}

/// Other values of a key: out of range, of another type, or nothing.
json damaged(Rng& rng, const json& value) {
  const std::array<json, 12> others{0,
                                    -1,
                                    1,
                                    3,
                                    255,
                                    4294967295U,
                                    std::int64_t{9223372036854775807},
                                    nullptr,
                                    "launch",
                                    "graph_launch",
                                    0.5,
                                    value.is_number() ? json(value.get<double>() / 2) : json("")};
  return others.at(rng.below(others.size()));
}

/// Changes some places of the tree: a leaf becomes another, or something is left out or doubled.
void damage(Rng& rng, json& node) {
  if (node.is_object() && !node.empty()) {
    auto at = node.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng.below(node.size())));
    if (at->is_structured()) {
      damage(rng, *at);
    } else if (rng.below(5) == 0) {
      node.erase(at);
    } else {
      *at = damaged(rng, *at);
    }
  } else if (node.is_array() && !node.empty()) {
    const std::size_t i = rng.below(node.size());
    const std::uint64_t how = rng.below(6);
    if (how == 0) {
      node.erase(i);
    } else if (how == 1) {
      node.push_back(json(node[i]));
    } else if (node[i].is_structured()) {
      damage(rng, node[i]);
    } else {
      node[i] = damaged(rng, node[i]);
    }
  }
}

TEST_CASE("a damaged trace file is read or refused by name") {
  const TemporaryFolder to;
  Rng rng{7};
  const fs::path file = to.path() / "damaged.json";
  std::size_t read = 0;
  std::size_t refused = 0;
  for (const fs::path& whole : all_traces().files) {
    const json good = json::parse(read_file(whole));
    for (int i = 0; i < 6; ++i) {
      json bad = good;
      // Events are most of the file, and its head is what they refer to.
      for (std::uint64_t n = rng.below(3) + 1; n > 0; --n) {
        damage(rng, rng.below(3) == 0 ? bad["otherData"] : bad["traceEvents"]);
      }
      write_file_atomically(file, bad.dump());
      CAPTURE(whole.string());
      try {
        read_by_all(file, to);
        ++read;
      } catch (const InputError& error) {
        CHECK(std::string{error.what()}.find("damaged.json") != std::string::npos);
        ++refused;
      }
    }
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}

TEST_CASE("a recording with traces of any other kind is read or refused by name") {
  testing::ValidateSession session;
  testing::SimulatedDevice device({});
  const fs::path recording = session.folder.path() / "recording";
  REQUIRE(session.validate({.record = recording.string(), .repetitions = 2, .warm_up = 0},
                           device) == exit_done);
  const json facts = json::parse(read_file(recording / "recording.json"));
  const fs::path first =
      recording / facts.at("scenarios").at(0).at("traces").at(0).get<std::string>();
  const std::string own = read_file_or_gzip(first);
  const auto validate = [&] {
    try {
      static_cast<void>(
          session.validate({.recording = recording.string(), .overwrite = true}, ValidateParts{}));
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  const std::vector<fs::path>& others = all_traces().files;
  for (std::size_t i = 0; i < others.size(); i += 5) {  // each takes a validation
    const fs::path& other = others[i];
    CAPTURE(other.string());
    write_file_atomically(first, read_file(other));
    CHECK_FALSE(validate());
  }
  Rng rng{11};
  const json good = json::parse(own);
  std::size_t read = 0;
  for (int i = 0; i < 20; ++i) {
    json bad = good;
    damage(rng, i % 2 == 0 ? bad["otherData"] : bad["traceEvents"]);
    write_file_atomically(first, bad.dump());
    bool done = false;
    CHECK_NOTHROW(done = validate());
    read += done ? 1U : 0U;
  }
  CHECK(read > 0);
}

}  // namespace
}  // namespace schedlab
