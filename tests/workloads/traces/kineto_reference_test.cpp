// SPDX-License-Identifier: Apache-2.0
// Published traces, counted a second time by code that shares nothing with the importer.
#include "sim/base/gzip.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "workloads/traces/kineto.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

struct PlainCounts {
  std::uint64_t kernels = 0;
  std::uint64_t copies = 0;
  std::uint64_t memsets = 0;
  std::uint64_t launches = 0;
  std::uint64_t operators = 0;
  std::uint64_t synchronizations = 0;
  std::set<std::pair<int, int>> streams;
};

PlainCounts count_plainly(const std::filesystem::path& path) {
  const nlohmann::json file = nlohmann::json::parse(read_file_or_gzip(path));
  PlainCounts counts;
  for (const auto& event : file.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string category = event.at("cat");
    const std::string name = event.at("name");
    const bool kernel = category == "kernel" || category == "Kernel";
    const bool copy = category == "gpu_memcpy" || category == "Memcpy";
    const bool memset = category == "gpu_memset" || category == "Memset";
    counts.kernels += kernel ? 1U : 0U;
    counts.copies += copy ? 1U : 0U;
    counts.memsets += memset ? 1U : 0U;
    if (kernel || copy || memset) {
      counts.streams.emplace(event.at("args").at("device"), event.at("args").at("stream"));
    } else if (category == "mtia_ccp_events") {  // MTIA: rows of work, and both halves of events
      if (name == "event_wait") {
        ++counts.synchronizations;
      } else if (name != "event_record") {
        ++(event.at("args").contains("direction") ? counts.copies : counts.kernels);
        counts.streams.emplace(event.at("pid"), event.at("args").at("stream"));
      }
    } else if (category == "mtia_runtime") {  // in the device's rows, too, where they do not count
      const bool launches =
          name.starts_with("enqueueCommand memcpy") || name.starts_with("runFunction");
      const bool on_device = event.at("args").value("device", -1) == event.at("pid");
      counts.launches += launches && !on_device ? 1U : 0U;
    } else if (category == "cuda_sync") {
      ++counts.synchronizations;
    } else if (category == "cpu_op" || category == "Operator" || category == "user_annotation" ||
               category == "python_function") {
      ++counts.operators;
    } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
      const bool launches = (name.find("Launch") != std::string::npos) ||
                            name.find("Memcpy") != std::string::npos ||
                            name.find("Memset") != std::string::npos;
      counts.launches += launches ? 1U : 0U;
    }
  }
  return counts;
}

TEST_CASE("every published Kineto trace imports, and counts are those of a second counter") {
  const auto data = testing::reference_data(".");
  if (!data) return;
  std::vector<std::filesystem::path> traces;
  for (const char* folder : {"hta", "kineto_tb", "param", "tracelens"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator{*data / folder}) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json.gz") && !name.ends_with(".et.json.gz")) {
        traces.push_back(entry.path());
      }
    }
  }
  CHECK(traces.size() >= 18);
  for (const auto& path : traces) {
    CAPTURE(path.string());
    const ImportedTrace trace = read_kineto(path);
    const ImportedCounts ours = count(trace);
    const PlainCounts plain = count_plainly(path);
    CHECK(ours.kernels == plain.kernels);
    CHECK(ours.copies == plain.copies);
    CHECK(ours.memsets == plain.memsets);
    CHECK(ours.streams == plain.streams.size());
    CHECK(ours.launches == plain.launches);
    CHECK(trace.operators.size() == plain.operators);
    CHECK(trace.graph_losses.empty());  // 84 launches, all whole
    CHECK(trace.synchronizations.size() == plain.synchronizations);
    for (const auto& [name, problem] : trace.problems.entries()) {
      CHECK_MESSAGE(problem.severity < Severity::error, name);
      CHECK_MESSAGE(!name.starts_with("un"), name);  // unreadable, unknown
    }
  }
}

TEST_CASE("four ranks of one published run are read together") {
  const auto data = testing::reference_data("param/dlrm_8rank_v100");
  if (!data) return;
  const std::vector<ImportedTrace> ranks = read_kineto_ranks({*data / "rank2.json.gz",
                                                              *data / "rank0.json.gz",
                                                              *data / "rank3.json.gz",
                                                              *data / "rank1.json.gz"});
  REQUIRE(ranks.size() == 4);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    CHECK(ranks[i].rank == static_cast<std::int64_t>(i));
    CHECK(ranks[i].world_size == 8);
  }
}

}  // namespace
}  // namespace schedlab
