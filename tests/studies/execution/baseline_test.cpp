// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/baseline.hpp"

#include "real_exec/vendor/onednn_lstm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/execution/baseline_verb.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

using testing::TemporaryFolder;

std::string spec_file(const TemporaryFolder& folder, const std::string& workload) {
  const auto path = folder.path() / "spec.json";
  write_file_atomically(
      path, R"({"machine": "ideal", "policy": "diagonal", "workload": )" + workload + "}");
  return path.string();
}

std::vector<BaselineWorkload> workloads_of(const std::string& workload) {
  const Spec spec = parse_spec(
      R"({"machine": "ideal", "policy": "diagonal", "workload": )" + workload + "}", "spec.json");
  const Grid grid(spec);
  const Components components(spec, grid);
  return baseline_workloads(grid, components);
}

TEST_CASE("baseline: how a network is cut into tasks does not matter, its sizes do") {
  const auto found = workloads_of(
      R"({"kind": "lstm", "pass": "backward", "layers": [2, 4], "steps": 3, "batch": 4, "hidden": 8,
          "granularity": ["fine", "coarse"], "accumulation": ["ordered", "batched"]})");
  REQUIRE(found.size() == 2);
  CHECK(found[0].spec.layers == 2);
  CHECK(found[1].spec.layers == 4);
  CHECK(found[1].label ==
        "lstm, pass=backward, layers=4, steps=3, batch=4, hidden=8, data_type=fp32");
  CHECK(workloads_of(R"({"kind": "grid", "layers": 2, "steps": 3})").empty());
}

TEST_CASE("baseline: the fastest variant is the one with the smallest median of the call") {
  BaselineWorkload workload;
  const auto add = [&](const char* algorithm, std::vector<Duration> runs) {
    BaselineVariant& variant = workload.variants.emplace_back();
    variant.variant = {algorithm, "eager"};
    variant.calls.push_back({.call = RnnCall::backward, .runs = std::move(runs)});
  };
  using namespace std::chrono_literals;
  CHECK(workload.fastest(RnnCall::backward) == nullptr);
  add("slow", {5us, 5us, 1us});   // median 5
  add("fast", {4us, 4us, 90us});  // median 4
  add("none", {});
  REQUIRE(workload.fastest(RnnCall::backward) != nullptr);
  CHECK(workload.fastest(RnnCall::backward)->variant.algorithm == "fast");
  CHECK(workload.fastest(RnnCall::forward) == nullptr);
}

TEST_CASE(
    "baseline: oneDNN's network, checked against double precision, as JSON that fits its "
    "schema") {
  if (!OnednnLstm::available()) {
    testing::skip("built without oneDNN");
    return;
  }
  const TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
  BaselineOptions options;
  options.spec = spec_file(folder,
                           R"({"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4,
                               "batch": 3, "hidden": 16})");
  options.out = (folder.path() / "out").string();
  options.library = "onednn";
  options.repetitions = 4;
  options.check = true;
  CHECK(run(options, {.out = out, .err = err, .interactive = false, .stop = nullptr}) == 0);
  const std::string text = read_file(folder.path() / "out" / "baseline.json");
  CHECK_NOTHROW(read_checked_json(text, baseline_schema(), "baseline"));
  const auto json = nlohmann::json::parse(text);
  const auto& variant = json.at("workloads").at(0).at("variants").at(0);
  CHECK(variant.at("difference").get<double>() > 0.0);  // it was compared: rounding differs
  CHECK(variant.at("difference").get<double>() < 1e-5);
  REQUIRE(variant.at("calls").size() == 2);
  CHECK(variant.at("calls").at(0).at("call") == "forward");
  CHECK(variant.at("calls").at(1).at("runs_us").size() == 4);
  CHECK(variant.at("calls").at(1).at("min_us") <= variant.at("calls").at(1).at("median_us"));
  CHECK(err.str().find("error") == std::string::npos);
  const Baselines back = read_baselines((folder.path() / "out" / "baseline.json").string());
  CHECK(baseline_json(back) == text);
}

TEST_CASE("baseline: a spec without a recurrent network is refused with what would do") {
  const TemporaryFolder folder;
  std::ostringstream out;
  BaselineOptions options;
  options.spec = spec_file(folder, R"({"kind": "grid", "layers": 2, "steps": 3})");
  options.out = (folder.path() / "out").string();
  options.library = "onednn";
  CHECK_THROWS_WITH_AS(
      static_cast<void>(
          run(options, {.out = out, .err = out, .interactive = false, .stop = nullptr})),
      doctest::Contains("no lstm or gru"),
      InputError);
}

/// A network that does nothing, of a library whose variant "broken" fails in its second forward
/// call.
class IdleRnn : public LibraryRnn {
 public:
  IdleRnn(bool fails, StopFlag* stops) : fails_(fails), stops_(stops) {}
  [[nodiscard]] bool has(RnnCall call) const override {
    return call == RnnCall::forward || call == RnnCall::backward;
  }
  Duration run(RnnCall call) override {
    if (stops_ != nullptr) *stops_ = true;
    if (fails_ && call == RnnCall::forward && ++calls_ == 2) throw DeviceError("INTERNAL_ERROR");
    return from_us(call == RnnCall::forward ? 2.0 : 5.0);
  }
  void poison() override {}
  [[nodiscard]] RecurrentResults<float> results() override { return {}; }

 private:
  bool fails_;
  StopFlag* stops_;
  int calls_ = 0;
};

struct IdleLibrary {
  bool answers = true;            ///< after a failure
  std::uint32_t broken_from = 0;  ///< networks of so many layers and more fail
  std::uint32_t stops_at = 1000;  ///< likewise: interrupted in its first call
  StopFlag stop{false};

  [[nodiscard]] TimedLibrary operator()() {
    return {.description = "idle",
            .variants = {{"broken", "eager"}, {"whole", "eager"}},
            .make =
                [this](const RecurrentSpec& spec,
                       const RecurrentInputs<float>& /*inputs*/,
                       const RnnVariant& variant) {
                  return std::make_unique<IdleRnn>(
                      variant.algorithm == "broken" && spec.layers >= broken_from,
                      spec.layers >= stops_at ? &stop : nullptr);
                },
            .synchronize =
                [this] {
                  if (!answers) throw DeviceError("context is lost");
                }};
  }
};

/// Of networks with 1, 2 and 3 layers.
struct IdleSession {
  TemporaryFolder folder{};
  IdleLibrary library{};
  std::ostringstream out{};
  std::ostringstream err{};

  int run() {
    BaselineOptions options;
    options.spec = spec_file(
        folder, R"({"kind": "lstm", "layers": [1, 2, 3], "steps": 2, "batch": 2, "hidden": 4})");
    options.out = (folder.path() / "out").string();
    options.library = "cudnn";
    options.repetitions = 4;
    return schedlab::run(options,
                         {.out = out, .err = err, .interactive = false, .stop = &library.stop},
                         [this] { return library(); });
  }
  [[nodiscard]] Baselines published() const {
    return read_baselines((folder.path() / "out" / "baseline.json").string());
  }
};

TEST_CASE("baseline: a variant that fails is noted, and the others go on") {
  IdleSession session;
  CHECK(session.run() == 0);
  const Baselines all = session.published();
  REQUIRE(all.workloads.size() == 3);
  for (const BaselineWorkload& workload : all.workloads) {
    CHECK(workload.variants.at(0).note == "INTERNAL_ERROR");
    CHECK(workload.variants.at(0).calls.empty());
    CHECK(workload.variants.at(1).find(RnnCall::backward)->runs.size() == 4);
    CHECK(workload.fastest(RnnCall::backward)->variant.algorithm == "whole");
  }
}

TEST_CASE("baseline: networks that are finished stay when the device does not answer any more") {
  IdleSession session;
  session.library.answers = false;
  session.library.broken_from = 3;
  CHECK_THROWS_WITH_AS(static_cast<void>(session.run()),
                       doctest::Contains("layers=3, steps=2, batch=2, hidden=4, data_type=fp32, "
                                         "broken, eager: INTERNAL_ERROR; the device does not "
                                         "answer any more: context is lost"),
                       DeviceError);
  REQUIRE(session.published().workloads.size() == 2);
  CHECK(session.published().workloads.at(1).fastest(RnnCall::forward) != nullptr);
}

TEST_CASE("baseline: Ctrl-C keeps the networks that are finished, and says so") {
  IdleSession session;
  session.library.stops_at = 2;
  CHECK_THROWS_WITH_AS(static_cast<void>(session.run()),
                       doctest::Contains("out has the network that is finished"),
                       Interrupted);
  CHECK(session.published().workloads.size() == 1);
  IdleSession early;
  early.library.stops_at = 1;
  CHECK_THROWS_WITH_AS(static_cast<void>(early.run()), "stopped; nothing was written", Interrupted);
  CHECK_FALSE(std::filesystem::exists(early.folder.path() / "out"));
}

TEST_CASE("baseline: what a library does not do is noted, with its reason") {
  if (!OnednnLstm::available()) {
    testing::skip("built without oneDNN");
    return;
  }
  BaselineRequest request;
  request.repetitions = 1;
  const Baselines all = measure_baselines(
      request,
      workloads_of(R"({"kind": "gru", "pass": "backward", "layers": 1, "steps": 2, "batch": 2,
                       "hidden": 16})"));
  const BaselineVariant& variant = all.workloads.at(0).variants.at(0);
  CHECK(variant.note.find("lstm") != std::string::npos);
  CHECK(variant.find(RnnCall::forward) == nullptr);
}

}  // namespace
}  // namespace schedlab
