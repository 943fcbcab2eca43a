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

TEST_CASE("former keys: each that is still read becomes the present one") {
  struct Case {
    const char* kind;
    const char* before;
    const char* now;
  };
  for (const Case& one :
       {Case{"spec",
             R"({"workload": {"groups": 2, "chunks": 3}})",
             R"({"workload": {"replicas": 2, "virtual_stages": 3}})"},
        Case{"spec",
             R"({"workload": [{"kind": "a"}, {"groups": [1, 2], "chunks": 3}]})",
             R"({"workload": [{"kind": "a"}, {"replicas": [1, 2], "virtual_stages": 3}]})"},
        Case{"training",
             R"({"groups": 2, "chunks": 1, "rounds": 9, "verified_rounds": 3})",
             R"({"replicas": 2, "virtual_stages": 1, "iterations": 9, "verified_iterations": 3})"},
        Case{"partition",
             R"({"most_replicas": 2, "most_down_sets": 5})",
             R"({"max_replicas": 2, "max_down_sets": 5})"},
        Case{"recording", R"({"probes": []})", R"({"speed_checks": []})"},
        Case{"baseline",
             R"({"workloads": [{"variants": [{"kernels_in_flight": {"most": 4}}]}]})",
             R"({"workloads": [{"variants": [{"kernels_in_flight": {"max": 4}}]}]})"}}) {
    CAPTURE(one.before);
    std::ostringstream notes;
    CHECK(with_new_keys(one.before, one.kind, "f.json", &notes) == one.now);
    CHECK(notes.str().find("is now called") != std::string::npos);
  }
}

}  // namespace schedlab
