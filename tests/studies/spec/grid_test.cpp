// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/grid.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace schedlab {
namespace {

/// A spec around the parts under test; `rest` starts with a comma or is empty.
Spec spec_with(const std::string& workload,
               const std::string& policy,
               const std::string& rest = "") {
  return parse_spec(
      R"({"workload": )" + workload + R"(, "machine": "v100", "policy": )" + policy + rest + "}",
      "a.json");
}

std::vector<std::string> rows(const Grid& grid) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < grid.size(); ++i) all.push_back(grid.describe(i));
  return all;
}

std::string error_of(const Spec& spec) {
  try {
    const Grid grid(spec);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a spec without lists is one scenario without axes") {
  const Spec spec = spec_with(R"({"kind": "lstm", "layers": 2})", R"("heft")");
  const Grid grid(spec);
  CHECK(grid.size() == 1);
  CHECK(grid.axes().empty());
  CHECK(grid.part_label(Part::policy, 0) == "heft");
}

TEST_CASE("the first axis of the file varies slowest") {
  const Spec spec = spec_with(R"({"kind": "lstm", "layers": [2, 4]})", R"(["heft", "peft"])");
  const Grid grid(spec);
  CHECK(rows(grid) == std::vector<std::string>{"layers=2, policy=heft",
                                               "layers=2, policy=peft",
                                               "layers=4, policy=heft",
                                               "layers=4, policy=peft"});
}

TEST_CASE("a list inside an element multiplies that element only") {
  const Spec spec = spec_with(R"({"kind": "lstm"})",
                              R"(["diagonal", {"name": "heft", "max_streams": [2, 4]}, "peft"])");
  const Grid grid(spec);
  // 1 + 2 + 1 alternatives.
  CHECK(rows(grid) == std::vector<std::string>{"policy=diagonal",
                                               "policy=heft, max_streams=2",
                                               "policy=heft, max_streams=4",
                                               "policy=peft"});
  const JsonNode node = grid.part_value(Part::policy, 2).value();
  CHECK(node.find("max_streams")->scalar == OptionValue{std::int64_t{4}});
  CHECK(node.find("max_streams")->pointer == "/policy/1/max_streams/1");
}

TEST_CASE("a list of names in an object is the axis of what it names") {
  const Spec spec =
      spec_with(R"({"kind": "lstm"})", R"({"name": ["heft", "peft"], "max_streams": [2, 4]})");
  const Grid grid(spec);
  CHECK(rows(grid) == std::vector<std::string>{"policy=heft, max_streams=2",
                                               "policy=heft, max_streams=4",
                                               "policy=peft, max_streams=2",
                                               "policy=peft, max_streams=4"});
}

TEST_CASE("elements with one name are told apart by their knobs, or by their labels") {
  const Spec knobs = spec_with(
      R"({"kind": "lstm"})",
      R"([{"name": "heft", "max_streams": 2}, {"name": "heft", "max_streams": 4}, "peft"])");
  CHECK(rows(Grid(knobs)) == std::vector<std::string>{"policy=heft(max_streams=2)",
                                                      "policy=heft(max_streams=4)",
                                                      "policy=peft"});
  const Spec labels = spec_with(
      R"({"kind": "lstm"})",
      R"([{"name": "heft", "max_streams": 2, "label": "two"}, {"name": "heft", "max_streams": 4}])");
  CHECK(rows(Grid(labels)) == std::vector<std::string>{"policy=two", "policy=heft"});
}

TEST_CASE("alternatives that rows could not tell apart are refused") {
  CHECK(error_of(spec_with(R"({"kind": "lstm", "layers": [2, 4, 2]})", R"("heft")")) ==
        "a.json: /workload/layers/2: found \"2\" again, as in /workload/layers/0, expected each "
        "alternative of an axis once");
  CHECK(error_of(spec_with(R"({"kind": "lstm"})", R"(["heft", {"name": "heft"}])"))
            .find("a.json: /policy/1: found \"heft\" again, as in /policy/0") == 0);
  CHECK(error_of(spec_with(R"({"kind": "lstm"})",
                           R"([{"name": "heft", "label": "a"}, {"name": "peft", "label": "a"}])"))
            .find("give each a \"label\"") != std::string::npos);
  // Zipped lists may repeat values: layers and hidden together tell rows apart.
  CHECK(error_of(spec_with(R"({"kind": "lstm", "layers": [2, 2], "hidden": [64, 128]})",
                           R"("heft")",
                           R"(, "zip": [["/workload/layers", "/workload/hidden"]])")) ==
        "no error");
  // The column of max_streams tells these apart.
  CHECK(error_of(spec_with(R"({"kind": "lstm"})",
                           R"([{"name": "heft", "max_streams": [2, 4]},
                               {"name": "heft", "max_streams": [8, 16]}])")) == "no error");
}

TEST_CASE("axes with one name get the name of their part, and reserved names are avoided") {
  const Spec spec = parse_spec(
      R"({"workload": {"kind": "random_layered", "layers": [3, 4], "seed": [1, 2]},
          "machine": "v100", "policy": {"name": "random", "seed": [5, 6]}})",
      "a.json");
  const Grid grid(spec, {"layers"});
  REQUIRE(grid.axes().size() == 3);
  CHECK(grid.axes()[0].name == "workload.layers");  // "layers" is taken
  CHECK(grid.axes()[1].name == "workload.seed");
  CHECK(grid.axes()[2].name == "policy.seed");
  CHECK(grid.axes()[2].path == "/policy/seed");
}

TEST_CASE("zipped axes advance together, across parts") {
  const Spec spec = spec_with(R"({"kind": "lstm", "layers": [2, 4], "batch": [8, 16]})",
                              R"({"name": "heft", "max_streams": [5, 9]})",
                              R"(, "zip": [["/workload/layers", "/policy/max_streams"]])");
  const Grid grid(spec);
  CHECK(rows(grid) == std::vector<std::string>{"layers=2, batch=8, max_streams=5",
                                               "layers=2, batch=16, max_streams=5",
                                               "layers=4, batch=8, max_streams=9",
                                               "layers=4, batch=16, max_streams=9"});
  CHECK(grid.part_count(Part::workload) == 4);
  CHECK(grid.part_count(Part::policy) == 2);
  CHECK(grid.part_index(3, Part::policy) == 1);
  CHECK(grid.own_count(Part::policy) == 1);  // its only axis belongs to the workload too
}

TEST_CASE("wrong zip groups are named with what would be right") {
  const std::string layers = R"({"kind": "lstm", "layers": [2, 4, 8]})";
  CHECK(error_of(spec_with(
            layers, R"(["heft", "peft"])", R"(, "zip": [["/workload/layers", "/policy"]])")) ==
        "a.json: /zip/0/1: found 2 values, expected 3 as in /workload/layers\n"
        "  lists that advance together are equally long");
  CHECK(error_of(spec_with(
            layers, R"(["heft", "peft"])", R"(, "zip": [["/workload/layer", "/policy"]])")) ==
        "a.json: /zip/0/0: found \"/workload/layer\", expected the pointer of a list in this spec: "
        "/workload/layers, /policy\n  did you mean \"/workload/layers\"?");
  CHECK(error_of(spec_with(
            layers, R"("heft")", R"(, "zip": [["/workload/layers", "/workload/layers"]])")) ==
        "a.json: /zip/0/1: found \"/workload/layers\" again, expected each list in one group only");
}

TEST_CASE("a part is numbered by its own axes, and every scenario is reached once") {
  const Spec spec = parse_spec(
      R"({"policy": ["heft", "peft", "diagonal"], "machine": ["p100", "v100"],
          "workload": {"kind": "lstm", "layers": [2, 4]}})",
      "a.json");
  const Grid grid(spec);
  REQUIRE(grid.size() == 12);
  std::set<std::uint64_t> seen;
  std::uint64_t changes = 0;  // of the workload, in the order of work
  for (std::uint64_t at = 0; at < grid.size(); ++at) {
    const std::uint64_t scenario = grid.scenario_at(at);
    seen.insert(scenario);
    const std::uint64_t workload = grid.part_index(scenario, Part::workload);
    if (at > 0 && workload != grid.part_index(grid.scenario_at(at - 1), Part::workload)) ++changes;
    // Workload is the last axis of the file, so it is the last digit: 2 values.
    CHECK(workload == scenario % 2);
    CHECK(grid.part_index(scenario, Part::policy) == scenario / 4);
  }
  CHECK(seen.size() == 12);
  CHECK(changes == 1);  // each workload is made once
}

TEST_CASE("with_part changes the axes of one part and nothing else") {
  const Spec spec = spec_with(R"({"kind": "lstm", "layers": [2, 4]})", R"(["heft", "peft"])");
  const Grid grid(spec);
  CHECK(grid.describe(grid.with_part(3, Part::policy, 0)) == "layers=4, policy=heft");
  CHECK(grid.describe(grid.with_part(0, Part::policy, 1)) == "layers=2, policy=peft");
}

TEST_CASE("the seed belongs to workload and policy") {
  const Spec spec =
      spec_with(R"({"kind": "random_layered"})", R"("random")", R"(, "seed": [7, 8])");
  const Grid grid(spec);
  CHECK(grid.size() == 2);
  CHECK(grid.part_count(Part::workload) == 2);
  CHECK(grid.part_seed(Part::policy, 1) == std::int64_t{8});
}

TEST_CASE("a grid of millions is worked out by number, and absurd ones are refused") {
  std::string values = "1";
  for (int i = 2; i <= 1000; ++i) values += "," + std::to_string(i);
  const Spec large = spec_with(R"({"kind": "lstm", "layers": [)" + values + R"(], "steps": [)" +
                                   values + R"(], "batch": [)" + values + "]}",
                               R"("heft")");
  const Grid grid(large);
  REQUIRE(grid.size() == 1'000'000'000);
  // 123456789 = layers 123, steps 456, batch 789, counted from 0; the values count from 1.
  CHECK(grid.describe(123'456'789) == "layers=124, steps=457, batch=790");
  const Spec absurd = spec_with(R"({"kind": "lstm", "layers": [)" + values + R"(], "steps": [)" +
                                    values + R"(], "batch": [)" + values + R"(], "hidden": [)" +
                                    values + R"(], "input": [)" + values + "]}",
                                R"("heft")");
  CHECK(error_of(absurd).find("more than 10^12 scenarios") != std::string::npos);
}

TEST_CASE("a machine file is called by the name in it, unless two would have one name") {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder.path() / "first.json", R"({"name": "my_card"})");
  write_file_atomically(folder.path() / "second.json", R"({"name": "v100"})");
  const auto labels = [&](const std::string& machines) {
    const Spec spec =
        parse_spec(R"({"workload": "small", "policy": "heft", "machine": )" + machines + "}",
                   "a.json",
                   folder.path());
    const Grid grid(spec);
    return std::vector<Cell>{grid.axis_values(0).front(), grid.axis_values(1).front()};
  };
  CHECK(labels(R"(["v100", "first.json"])") ==
        std::vector<Cell>{std::string{"v100"}, std::string{"my_card"}});
  CHECK(labels(R"(["v100", "second.json"])") ==
        std::vector<Cell>{std::string{"v100"}, std::string{"second.json"}});
  // Whoever reads the machine says that it is not there.
  CHECK(labels(R"(["v100", "missing.json"])") ==
        std::vector<Cell>{std::string{"v100"}, std::string{"missing.json"}});
}

}  // namespace
}  // namespace schedlab
