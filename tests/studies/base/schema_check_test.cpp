// SPDX-License-Identifier: Apache-2.0
#include "studies/base/schema_check.hpp"

#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "studies/spec/spec_schema.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

const std::string counts_schema =
    R"({"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}},
        "required": ["count"], "additionalProperties": false})";

/// The message about a text; empty if it fits.
std::string problem(const PreparedSchema& schema, const std::string& text) {
  try {
    schema.check(parse_json_node(text, "f.json"), "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// What a schema says of a wrong file.
struct Wrong {
  std::string text;
  std::string message;  ///< without "f.json: "
};

struct Case {
  std::string schema;
  std::vector<std::string> right;
  std::vector<Wrong> wrong;
};

/// A pair of each keyword's verdicts; those of draft 7, json-schema.org/draft-07.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {R"({"type": "integer"})",
       {"1", "-3", "2.0"},
       {{"1.5", "/: found 1.5, expected an integer"},
        {R"("1")", "/: found \"1\", expected an integer"},
        {"true", "/: found true, expected an integer"},
        {"null", "/: found null, expected an integer"},
        {"1e300", "/: found 1e+300, expected an integer of at most 63 bits"}}},
      {R"({"type": ["number", "null"]})",
       {"1", "1.5", "null"},
       {{"[]", "/: found an empty list, expected a number or null"}}},
      {R"({"type": "string", "minLength": 1})",
       {R"("a")"},
       {{R"("")", "/: found \"\", expected a text of at least 1 bytes"}}},
      {R"({"const": 1})",
       {"1", "1.0"},
       {{"2", "/: found 2, expected 1"},
        {"true", "/: found true, expected 1"},
        {R"("1")", "/: found \"1\", expected one of 1"}}},
      {R"({"enum": ["whole", "layers"]})",
       {R"("whole")"},
       {{R"("layer")",
         "/: found \"layer\", expected one of whole, layers\n  did you mean \"layers\"?"},
        {"3", "/: found 3, expected one of whole, layers"}}},
      {R"({"type": "number", "minimum": 0, "maximum": 1})",
       {"0", "1", "0.5"},
       {{"-1", "/: found -1, expected a value from 0 to 1"},
        {"1.5", "/: found 1.5, expected a value from 0 to 1"}}},
      {R"({"type": "number", "exclusiveMinimum": 0, "maximum": 10})",
       {"0.1", "10"},
       {{"0", "/: found 0, expected above 0 and at most 10"},
        {"11", "/: found 11, expected above 0 and at most 10"}}},
      {R"({"minimum": 0, "exclusiveMaximum": 1})",
       {"0", "\"any text\""},
       {{"1", "/: found 1, expected at least 0 and below 1"}}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2})",
       {"[1]", "[1, 2]"},
       {{"[]", "/: found an empty list, expected at least one value"},
        {"[1, 2, 3]", "/: found a list of 3, expected at most 2 values"},
        {R"([1, "b"])", "/1: found \"b\", expected an integer"}}},
      {R"({"type": "array", "minItems": 3, "maxItems": 3})",
       {"[1, 2, 3]"},
       {{"[1]", "/: found a list of 1, expected a list of 3"}}},
      {R"({"items": [{"enum": ["launch"]}]})",
       {R"(["launch", 7])", "[]", "3"},
       {{R"(["lunch", 7])",
         "/0: found \"lunch\", expected one of launch\n  did you mean \"launch\"?"}}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}})",
       {"{}", R"({"a": 1})"},
       {{R"({"a": "b"})", "/a: found \"b\", expected an integer"}}},
      {R"({"properties": {"a": {}}, "required": ["a"]})",
       {R"({"a": 1, "b": 2})", "3"},
       {{"{}", "/: found no \"a\", expected the key \"a\""}}},
      {R"({"dependencies": {"threads": ["registers"], "registers": ["threads"]}})",
       {"{}", R"({"threads": 1, "registers": 2})"},
       {{R"({"threads": 1})",
         "/: found \"threads\" without \"registers\", expected both or neither"}}},
      {R"({"oneOf": [{"required": ["source"]}, {"required": ["assumed"]}]})",
       {R"({"source": "s"})", R"({"assumed": "s"})"},
       {{"{}",
         "/: found an object, expected exactly one of the key \"source\", the key "
         "\"assumed\""},
        {R"({"source": "s", "assumed": "a"})",
         "/: found 2 alternatives at once, expected exactly one of the key \"source\", the key "
         "\"assumed\""}}},
      {R"({"anyOf": [{"type": "integer"}, {"const": "auto"}], "description": "batch"})",
       {"3", R"("auto")"},
       {{"[]", "/: found an empty list, expected an integer, or \"auto\""}}},
      {R"({"anyOf": [{"type": "object", "properties": {"kind": {"const": "file"}},
                      "required": ["kind"], "additionalProperties": false},
                     {"type": "object", "properties": {"kind": {"const": "lstm"}, "steps": {}},
                      "required": ["kind"], "additionalProperties": false}]})",
       {R"({"kind": "file"})", R"({"kind": "lstm", "steps": 2})"},
       {{R"({"kind": "lstn"})",
         "/kind: found \"lstn\", expected one of file, lstm\n  did you mean \"lstm\"?"},
        {R"({"kind": "lstm", "step": 2})",
         "/step: found the unknown key \"step\", expected one of kind, steps\n  did you mean "
         "\"steps\"?"},
        {R"({"kin": "lstm"})",
         "/: found no \"kind\", expected \"kind\": one of file, lstm\n  should \"kin\" be "
         "\"kind\"?"}}},
      {R"({"definitions": {"count": {"type": "integer"}}, "properties":
           {"a": {"$ref": "#/definitions/count"}}})",
       {R"({"a": 1})"},
       {{R"({"a": "b"})", "/a: found \"b\", expected an integer"}}}};
  return all;
}

}  // namespace

TEST_CASE("every keyword that schemas use lets right values pass and says what is wrong") {
  for (const Case& each : cases()) {
    CAPTURE(each.schema);
    const PreparedSchema schema{each.schema};
    for (const std::string& text : each.right) {
      CAPTURE(text);
      CHECK(problem(schema, text) == "");
    }
    for (const Wrong& wrong : each.wrong) {
      CAPTURE(wrong.text);
      CHECK(problem(schema, wrong.text) == "f.json: " + wrong.message);
    }
  }
}

TEST_CASE("a schema that says what is not checked is refused") {
  for (const std::string schema : {R"({"pattern": "a+"})",
                                   R"({"properties": {"a": {"uniqueItems": true}}})",
                                   R"({"anyOf": [{}], "type": "string"})",
                                   R"({"items": true})",
                                   "no JSON"}) {
    CAPTURE(schema);
    CHECK_THROWS_AS(PreparedSchema{schema}, ContractViolation);
  }
}

TEST_CASE("the schemas of specs and machines use checked keywords only") {
  CHECK_NOTHROW(PreparedSchema{spec_schema()});
  const PreparedSchema machine{machine_schema()};
  for (const std::string& name : machine_names()) {
    CAPTURE(name);
    CHECK(problem(machine, std::string{machine_text(name)}) == "");
  }
}

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
