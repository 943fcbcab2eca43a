// SPDX-License-Identifier: Apache-2.0
#include "studies/base/former_keys.hpp"

#include <doctest/doctest.h>

#include <array>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

constexpr std::array<FormerKey, 3> known{{{"spec", "/workload/many", "count"},
                                          {"spec", "/workload/*/many", "count"},
                                          {"training", "/turns", "iterations"}}};

struct Read {
  explicit Read(const std::string& text, const char* kind = "spec") {
    std::ostringstream out;
    result = with_new_keys(text, kind, "s.json", &out, known);
    notes = out.str();
  }
  std::string result;
  std::string notes;
};

}  // namespace

TEST_CASE("former keys: an old key is renamed where it stands, and noted") {
  const Read one{R"({"name": "a", "workload": {"kind": "x", "many": [1, 2]}})"};
  CHECK(one.result == R"({"name": "a", "workload": {"kind": "x", "count": [1, 2]}})");
  CHECK(one.notes ==
        "note: s.json: /workload/many is now called \"count\"; the old name is read in this "
        "version only\n");

  const Read list{R"({"workload": [{"many": 1}, {"count": 2}, {"b": {}, "many": 3}]})"};
  CHECK(list.result == R"({"workload": [{"count": 1}, {"count": 2}, {"b": {}, "count": 3}]})");
  CHECK(list.notes.find("s.json: /workload/0/many is") != std::string::npos);
  CHECK(list.notes.find("s.json: /workload/2/many is") != std::string::npos);
  CHECK(list.notes.find("/workload/1") == std::string::npos);
}

TEST_CASE("former keys: the same text elsewhere is left alone") {
  for (const char* text :
       {R"({"many": 1, "workload": {"a": {"many": 1}, "name": "many", "list": ["many", "x"]}})",
        R"({"workload": {"name": "\"many\": {", "other": "many"}})",
        R"({"turns": 3})",
        R"([{"many": 1}])",
        "{\n  \"workload\": {\"count\": 1}  \n}\n",
        R"({"workload": {"x": "many)",
        R"("many")",
        R"(}]"many": 1)",
        ""}) {
    const Read read{text};
    CHECK(read.result == text);
    CHECK(read.notes.empty());
  }
  CHECK(Read{R"({"turns": 3})", "training"}.result == R"({"iterations": 3})");
}

}  // namespace schedlab
