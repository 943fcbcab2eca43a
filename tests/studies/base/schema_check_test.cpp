// SPDX-License-Identifier: Apache-2.0
#include "studies/base/schema_check.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

const std::string counts_schema =
    R"({"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}},
        "required": ["count"], "additionalProperties": false})";

std::string problem(const PreparedSchema& schema, const std::string& text) {
  try {
    schema.check(parse_json_node(text, "f.json"), text, "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a prepared schema says of each file what it says of that file alone") {
  const PreparedSchema schema{counts_schema};
  for (const std::string text :
       {R"({"count": 0})", R"({"count": 2})", R"({"coun": 2})", R"({"count": 3})", "[]"}) {
    CAPTURE(text);
    CHECK(problem(schema, text) == problem(PreparedSchema{counts_schema}, text));
  }
  CHECK(problem(schema, R"({"count": 2})").empty());
  CHECK(problem(schema, R"({"count": 0})").find("f.json: /count: found 0, expected at least 1") ==
        0);
  CHECK(problem(schema, R"({"coun": 2})").find("did you mean \"count\"?") != std::string::npos);
}

}  // namespace schedlab
