// SPDX-License-Identifier: Apache-2.0
#include "profiler/kineto_json.hpp"

#include "tests/profiler/profiled_scene.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>

using namespace schedlab;
using namespace schedlab::testing;
using nlohmann::json;

namespace {

ActivityLog full_log() {
  TwoStreams scene;
  ActivityLog log = std::move(scene.maker.log);
  log.copies.push_back({.direction = CopyDirection::host_to_device,
                        .from = MemoryPlace::pinned,
                        .to = MemoryPlace::device,
                        .bytes = Bytes{4000},
                        .started = at(2000),
                        .ended = at(3000),
                        .place = {.device = 0, .context = 1, .stream = 14},
                        .correlation = 70});
  log.memsets.push_back({.memory = MemoryPlace::device,
                         .bytes = Bytes{16},
                         .started = at(3000),
                         .ended = at(3010),
                         .place = {.device = 0, .context = 1, .stream = 14},
                         .correlation = 71});
  log.events.push_back({.place = {.device = 0, .context = 1, .stream = 13},
                        .event = 4,
                        .sync = 77,
                        .correlation = 3});
  log.synchronizations.push_back({.kind = SyncKind::stream_wait_event,
                                  .started = at(1062),
                                  .ended = at(1065),
                                  .context = 1,
                                  .stream = 14,
                                  .event = 4,
                                  .event_sync = 77,
                                  .correlation = 4});
  log.devices.push_back({.device = 0, .name = "A device", .multiprocessors = 132});
  return log;
}

std::vector<json> events(const json& trace, const std::string& phase, const std::string& category) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase && event.value("cat", "") == category) found.push_back(event);
  }
  return found;
}

}  // namespace

TEST_CASE("kernels are spans of their stream with the launch's correlation") {
  const json trace = json::parse(kineto_json(full_log()));
  const auto kernels = events(trace, "X", "kernel");
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0]["name"] == "spin");
  CHECK(kernels[0]["pid"] == 0);
  CHECK(kernels[0]["tid"] == 13);
  CHECK(kernels[0]["ts"] == 1.5);   // 1500 ns
  CHECK(kernels[0]["dur"] == 0.1);  // 100 ns
  CHECK(kernels[0]["args"]["correlation"] == 1);
  CHECK(kernels[0]["args"]["External id"] == WorkId::task(TaskId{0}).bits());
  CHECK(kernels[0]["args"]["grid"] == json::array({4, 1, 1}));
  CHECK(kernels[2]["args"]["stream"] == 14);
  CHECK(trace["deviceProperties"][0]["numSms"] == 132);
}

TEST_CASE("an arrow leads from every launch to its kernel") {
  const json trace = json::parse(kineto_json(full_log()));
  const auto tails = events(trace, "s", "ac2g");
  const auto heads = events(trace, "f", "ac2g");
  REQUIRE(tails.size() == 3);  // the copy's call was not recorded
  REQUIRE(heads.size() == 3);
  std::set<int> ids;
  for (const json& tail : tails) {
    CHECK(tail["tid"] == 9);
    ids.insert(tail["id"].get<int>());
  }
  for (const json& head : heads) CHECK(ids.count(head["id"].get<int>()) == 1);
  CHECK(heads[0]["bp"] == "e");
}

TEST_CASE("a stream's wait names the stream and the record it waits for") {
  const json trace = json::parse(kineto_json(full_log()));
  const auto waits = events(trace, "X", "cuda_sync");
  REQUIRE(waits.size() == 1);
  CHECK(waits[0]["name"] == "Stream Wait Event");
  CHECK(waits[0]["args"]["wait_on_stream"] == 13);
  CHECK(waits[0]["args"]["wait_on_cuda_event_record_corr_id"] == 3);
  CHECK(waits[0]["tid"] == 14);
}

TEST_CASE("copies state their bandwidth") {
  const json trace = json::parse(kineto_json(full_log()));
  const auto copies = events(trace, "X", "gpu_memcpy");
  REQUIRE(copies.size() == 1);
  CHECK(copies[0]["name"] == "Memcpy HtoD (Pinned -> Device)");
  CHECK(copies[0]["args"]["memory bandwidth (GB/s)"] == 4.0);  // 4000 bytes in 1000 ns
}

TEST_CASE("named work becomes operators around its calls") {
  KinetoOptions options;
  options.name_of = [](WorkId work) { return "task " + std::to_string(work.index()); };
  const json trace = json::parse(kineto_json(full_log(), options));
  const auto operators = events(trace, "X", "cpu_op");
  REQUIRE(operators.size() == 2);
  CHECK(operators[0]["name"] == "task 0");
  CHECK(operators[0]["ts"] == 1.0);
  CHECK(operators[0]["dur"] == 0.03);  // 1000 to 1030 ns: two launches
  CHECK(operators[0]["args"]["External id"] == WorkId::task(TaskId{0}).bits());
}

TEST_CASE("an empty log is an empty trace") {
  const json trace = json::parse(kineto_json({}));
  CHECK(trace["traceEvents"].empty());
  CHECK(trace["schemaVersion"] == 1);
}

namespace {

std::string unzipped(const std::filesystem::path& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::array<char, 1U << 16U> piece{};
  for (int got = 0; (got = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  gzclose(file);
  return text;
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

}  // namespace

TEST_CASE("fields are named as in a trace of PyTorch's profiler") {
  const auto path =
      testing::reference_data_folder() / "hta/critical_path_event_sync_multi_stream.json.gz";
  if (!std::filesystem::exists(path)) {
    schedlab::testing::skip("the reference data is absent (set SCHEDLAB_REFERENCE_DATA)");
    return;
  }
  const json theirs = json::parse(unzipped(path));
  KinetoOptions options;
  options.name_of = [](WorkId) { return "task"; };
  const json ours = json::parse(kineto_json(full_log(), options));

  // What only they know: occupancy estimates.
  const std::set<std::string> not_ours{"blocks per SM",
                                       "warps per SM",
                                       "est. achieved occupancy %",
                                       "Record function id",
                                       "Sequence number",
                                       "Fwd thread id",
                                       "Ev Idx",
                                       "sharedMemPerBlockOptin"};
  for (const char* category : {"kernel", "gpu_memset", "cuda_runtime", "cuda_sync", "cpu_op"}) {
    CAPTURE(category);
    std::set<std::string> known;  // fields of any event of the category
    for (const json& event : events(theirs, "X", category)) {
      if (category == std::string{"cuda_sync"} && event["name"] != "Stream Wait Event") continue;
      known.merge(keys(event["args"]));
    }
    REQUIRE_FALSE(known.empty());
    const auto written = events(ours, "X", category);
    REQUIRE_FALSE(written.empty());
    for (const std::string& field : known) {
      CAPTURE(field);
      CHECK((not_ours.count(field) == 1 || written.front()["args"].contains(field)));
    }
    CHECK(keys(written.front()) == keys(events(theirs, "X", category).front()));
  }
  for (const std::string& field : keys(theirs["deviceProperties"][0])) {
    CAPTURE(field);
    CHECK((not_ours.count(field) == 1 || ours["deviceProperties"][0].contains(field)));
  }
  for (const char* phase : {"s", "f"}) {
    CHECK(keys(events(ours, phase, "ac2g").front()) == keys(events(theirs, phase, "ac2g").front()));
  }
}
