// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_schema.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/explanation/replay_change.hpp"
#include "studies/explanation/replay_verb.hpp"
#include "tests/studies/explanation/imported_profile.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Session : testing::VerbSession {
  testing::TemporaryFolder folder;

  Session() { write_file_atomically(folder.path() / "profile.json", testing::small_profile()); }
  [[nodiscard]] ReplayOptions options() const {
    ReplayOptions options;
    options.traces = {(folder.path() / "profile.json").string()};
    return options;
  }
};

TEST_CASE("replay writes what it simulated, and every change as a trace of its own") {
  Session session;
  ReplayOptions options = session.options();
  options.mode = "copied_host_work";
  options.what_if = {
      "scale:gemm=0.5", "host=0.5", "streams=1", "policy=single_stream", "machine=a100,h100"};
  options.out = (session.folder.path() / "out").string();
  REQUIRE(session.call(options) == exit_done);
  const fs::path out = session.folder.path() / "out";
  for (const char* name : {"items.csv",
                           "trace.json",
                           "imported_trace.json",
                           "plan.json",
                           "what_if_1.json",
                           "what_if.csv",
                           "what_if_5.json"}) {
    CHECK(fs::exists(out / name));
  }
  const std::string text = read_file(out / "replay.json");
  static_cast<void>(session.call(SchemaOptions{.which = "replay"}));
  CHECK_NOTHROW(read_checked_json(text, session.out.str(), "replay"));
  const json report = json::parse(text);
  CHECK(report.at("predicted") == 2);
  const json& changes = report.at("what_if");
  REQUIRE(changes.size() == 5);
  // The gemm takes 150 us less, and nothing else is long.
  CHECK(changes.at(0).at("compared_with_us").get<double>() -
            changes.at(0).at("span_us").get<double>() ==
        doctest::Approx(150.0));
  // In one stream the small kernel runs behind the gemm: several streams win.
  CHECK(changes.at(2).at("speed_up").get<double>() < 1.0);
  CHECK(changes.at(2).at("note") == "so several streams win");
  CHECK(changes.at(3).at("speed_up").get<double>() < 1.0);
  CHECK(changes.at(4).at("speed_up").get<double>() > 1.0);
  CHECK(changes.at(4).at("note").get<std::string>().find("does not say what device") !=
        std::string::npos);
  for (const json& change : changes) {
    CHECK(change.at("base_span_error") == report.at("span_error"));
  }
}

TEST_CASE("items have the profile's numbers, and times have the digits of the profile") {
  Session session;
  ReplayOptions options = session.options();
  options.out = (session.folder.path() / "out").string();
  REQUIRE(session.call(options) == exit_done);
  const std::string items = read_file(session.folder.path() / "out" / "items.csv");
  CHECK(items.starts_with("rank,stream,correlation,graph,graph_node,name,"));
  CHECK(items.find("0,stream 7,1,,,gemm,1,0,27,27,0,300,300\n") != std::string::npos);
}

TEST_CASE("a stream goes into another, and kernels take what they take alone") {
  Session session;
  ReplayOptions options = session.options();
  options.what_if = {"stream:20=7", "streams=1", "stream:20=7,alone"};
  options.json = true;
  REQUIRE(session.call(options) == exit_done);
  const json changes = session.printed().at("what_if");
  CHECK(changes.at(0).at("span_us") == changes.at(1).at("span_us"));
  CHECK(changes.at(0).at("speed_up").get<double>() < 1.0);
  // Neither kernel runs alone anywhere in this profile.
  CHECK(changes.at(2).at("span_us") == changes.at(0).at("span_us"));
  CHECK(changes.at(2).at("note") ==
        "of 2 kernels beside other streams 0 have another time alone; the rest as recorded; alone "
        "changes nothing here");
  for (const char* wrong : {"stream:20=8", "stream:7=7", "stream:20", "stream=7"}) {
    options.what_if = {wrong};
    CHECK_THROWS_AS((void)session.call(options), InputError);
  }
}

TEST_CASE("changes with commas between them are made at once") {
  CHECK(change_parts("host=0.5,streams=1") == std::vector<std::string>{"host=0.5", "streams=1"});
  CHECK(change_parts("machine=a100,h100,host=0") ==
        std::vector<std::string>{"machine=a100,h100", "host=0"});
  CHECK(change_parts("scale:f<int, 2>=0.5") == std::vector<std::string>{"scale:f<int, 2>=0.5"});

  Session session;
  ReplayOptions options = session.options();
  options.json = true;
  // In whatever order: from the return of its launch (at 25 us; no latency is known) the gemm takes
  // 150 of 300 us, and the small kernel 40 behind it.
  options.what_if = {"streams=1,scale:gemm=0.5", "scale:gemm=0.5,streams=1"};
  REQUIRE(session.call(options) == exit_done);
  const json changes = json::parse(session.out.str()).at("what_if");
  CHECK(changes.at(0).at("span_us") == changes.at(1).at("span_us"));
  CHECK(changes.at(0).at("span_us").get<double>() == doctest::Approx(25.0 + 150 + 40));

  const auto refused = [&](const char* change, const char* message) {
    options.what_if = {change};
    CHECK_THROWS_WITH_AS(
        static_cast<void>(session.call(options)), doctest::Contains(message), InputError);
  };
  refused("host=0.5,host=0.1", "expected host once");
  refused("streams=1,policy=heft", "streams=N or policy=NAME");
  refused("host=0.5,steams=1", "expected one of the changes");
}

/// A profile whose two kernels overlap in one stream, which a replay does not know.
std::string overlapping_profile() {
  json profile = json::parse(testing::small_profile());
  for (json& event : profile["traceEvents"]) {
    if (event.at("name") == "small") {
      event["dur"] = 250;
      event["args"]["stream"] = 7;
    }
  }
  profile["deviceProperties"] = json::array({{{"id", 0}, {"name", "NVIDIA A100-SXM4-80GB"}}});
  return profile.dump();
}

TEST_CASE("changes of a replay that is far off are refused unless asked for") {
  Session session;
  write_file_atomically(session.folder.path() / "profile.json", overlapping_profile());
  ReplayOptions options = session.options();
  options.what_if = {"host=0.5"};
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("beyond with --despite-error"),
                       InfeasibleError);
  options.despite_error = true;
  REQUIRE(session.call(options) == exit_done);
  CHECK(session.out.str().find("% off\n") != std::string::npos);
}

TEST_CASE("a profile is taken to another machine only from its own") {
  Session session;
  write_file_atomically(session.folder.path() / "profile.json", overlapping_profile());
  ReplayOptions options = session.options();
  options.despite_error = true;
  options.what_if = {"machine=v100,h100"};
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("the profile's device, NVIDIA A100-SXM4-80GB"),
                       InputError);
  options.what_if = {"machine=a100,h100"};
  CHECK(session.call(options) == exit_done);

  CHECK(may_be_device("Tesla V100-SXM2-16GB", "NVIDIA Tesla V100-SXM2-16GB"));
  CHECK(may_be_device("Ascend910B1", "Huawei Ascend 910B1"));
  CHECK(may_be_device("a card", "NVIDIA H200"));
  CHECK_FALSE(may_be_device("NVIDIA A100-SXM4-80GB", "NVIDIA A10"));
  CHECK_FALSE(may_be_device("NVIDIA H100 80GB HBM3", "NVIDIA H200"));
}

TEST_CASE("a change that is none is refused with the list of changes") {
  Session session;
  ReplayOptions options = session.options();
  const auto refused = [&](const char* change, const char* message) {
    options.what_if = {change};
    CHECK_THROWS_WITH_AS(
        static_cast<void>(session.call(options)), doctest::Contains(message), InputError);
  };
  refused("faster", "changes are scale:PART=FACTOR");
  refused("scale:gemm=fast", "expected a factor from 0 to 1000");
  refused("scale:nothing=0.5", "the longest are \"gemm\"");
  refused("straggler:3=2", "a rank from 0 to 0");
  refused("machine=a100", "machine=FROM,TO");
  refused("policy=singel_stream", "single_stream");
  refused("graph_launch:nothing", "--what-if: found \"nothing\"");
}

TEST_CASE("a mode that is none is refused") {
  Session session;
  ReplayOptions options = session.options();
  options.mode = "copied";
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("found copied, expected copied_launches"),
                       InputError);
}

TEST_CASE(
    "another machine: matrix kernels by their peaks, others by bandwidth, collectives as are") {
  const MachineSpec a100 = load_machine("a100");
  const MachineSpec h100 = load_machine("h100");
  const Device& from = a100.platform.devices[DeviceId{0}];
  const Device& to = h100.platform.devices[DeviceId{0}];
  const auto speed_up = [&](const char* name, TaskKind kind) {
    return machine_speed_up(name, kind, from, to);
  };
  const auto fp16 = static_cast<std::size_t>(DataType::fp16);
  CHECK(speed_up("ampere_h16816gemm_64x64", TaskKind::fixed) ==
        doctest::Approx(to.rates.matrix.at(fp16) / from.rates.matrix.at(fp16)));
  CHECK(speed_up("vectorized_elementwise_kernel", TaskKind::fixed) ==
        doctest::Approx(to.rates.memory / from.rates.memory));
  CHECK(speed_up("ncclKernel_AllReduce", TaskKind::collective) == 1.0);
}

/// An operator of an execution trace that works on a buffer of its own.
json traced_operator(int id, const char* name, int storage) {
  const json tensors = json::array({json::array({storage, storage, 0, 64, 4, "cuda:0"})});
  json made{{"id", id}, {"parent", 1}, {"rf_id", id}, {"tid", 1}, {"name", name}};
  for (const char* side : {"input", "output"}) {
    made[std::string{side} + "s"] = tensors;
    made[std::string{side} + "_shapes"] = json::array({json::array({64})});
    made[std::string{side} + "_types"] = json::array({"Tensor(float)"});
  }
  return made;
}

TEST_CASE("a policy plans with the dependencies of an execution trace, where there is one") {
  Session session;
  const fs::path traced = session.folder.path() / "et.json";
  const json nodes =
      json::array({traced_operator(2, "aten::mm", 10), traced_operator(3, "aten::add", 11)});
  write_file_atomically(traced, json{{"schema", "1.0.1"}, {"nodes", nodes}}.dump());
  // The small profile with all in one stream: 300 us, then 200.
  json profile = json::parse(testing::small_profile());
  for (json& event : profile.at("traceEvents")) {
    if (event.at("name") == "cudaDeviceSynchronize") event["dur"] = 500;
    if (event.at("name") != "small") continue;
    event["ts"] = 1'000'000 + 327;
    event["dur"] = 200;
    event["args"]["stream"] = 7;
  }
  write_file_atomically(session.folder.path() / "profile.json", profile.dump());
  ReplayOptions options = session.options();
  options.what_if = {"policy=heft"};
  options.json = true;
  const auto speed_up = [&] {
    REQUIRE(session.call(options) == exit_done);
    return json::parse(session.out.str()).at("what_if").at(0).at("speed_up").get<double>();
  };
  CHECK(speed_up() <= 1.0);  // in the order of the stream nothing can be beside anything
  options.execution_trace = traced.string();
  CHECK(speed_up() > 1.2);  // 200 us beside 300, and not behind them
  options.what_if = {"host=0.5"};
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("expected --what-if policy=NAME"),
                       InputError);
}

}  // namespace
}  // namespace schedlab
