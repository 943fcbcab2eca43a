// SPDX-License-Identifier: Apache-2.0
#include "sim/base/json_node.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_json_node(text, "a.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a value remembers its pointer in the file") {
  const JsonNode root = parse_json_node(R"({"a": [1, {"b/c": "x"}]})", "a.json");
  const JsonNode& list = *root.find("a");
  CHECK(list.pointer == "/a");
  CHECK(list.items[0].pointer == "/a/0");
  // RFC 6901: a slash inside a key is written ~1.
  CHECK(list.items[1].find("b/c")->pointer == "/a/1/b~1c");
  CHECK(list.items[1].find("b/c")->text() == "x");
  CHECK(root.find("z") == nullptr);
}

TEST_CASE("a whole number is an integer however it is written") {
  const JsonNode root = parse_json_node("[2.0, 3e2, -0.0, 2.5, 1e300]", "a.json");
  CHECK(root.items[0].scalar == OptionValue{std::int64_t{2}});
  CHECK(root.items[1].scalar == OptionValue{std::int64_t{300}});
  CHECK(root.items[2].scalar == OptionValue{std::int64_t{0}});
  CHECK(root.items[3].scalar == OptionValue{2.5});
  CHECK(root.items[4].kind == JsonKind::number);  // beyond 2^53 not every integer is a double
}

TEST_CASE("a syntax error is reported with line and column") {
  // Line 2 is `  "b" 2}`: the unexpected 2 stands in column 7.
  CHECK(error_of("{\"a\": 1,\n  \"b\" 2}").find("a.json: line 2, column 7: ") == 0);
  CHECK(error_of("").find("a.json: line 1, column 1: ") == 0);
  CHECK(error_of("{} {}").find("a.json: line 1, column 4: ") == 0);
}

TEST_CASE("a key given twice is an error, also in a nested object") {
  CHECK(error_of(R"({"a": 1, "a": 2})") ==
        "a.json: /a: found the key \"a\" twice, expected each key once");
  CHECK(error_of(R"({"p": [{"n": 1, "n": 1}]})") ==
        "a.json: /p/0/n: found the key \"n\" twice, expected each key once");
}

TEST_CASE("hostile nesting and integers are refused, not crashed on") {
  CHECK(error_of(std::string(100000, '[')).find("more than 64 levels of nesting") !=
        std::string::npos);
  CHECK(error_of(R"({"a": 9223372036854775808})") ==
        "a.json: /a: found 9223372036854775808, expected an integer of at most 63 bits");
  CHECK(error_of(R"({"a": 9223372036854775807})") == "no error");
  CHECK(error_of(R"({"a": [1, 1e999]})") ==
        "a.json: /a/1: found 1e999, expected a number of at most 1.8e308 in size");
  CHECK(error_of("\"\xff\"").find("a syntax error") != std::string::npos);  // no UTF-8
}

}  // namespace
}  // namespace schedlab
