// SPDX-License-Identifier: Apache-2.0
#include "hw_models/json_leaves.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

std::string message_of(std::string_view text) {
  try {
    static_cast<void>(json_leaves(text, "m.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("leaves come in the order of the file, each with its JSON pointer") {
  const auto leaves =
      json_leaves(R"({"b": {"x/y": 1, "t~": true}, "a": ["s", 2.5, {}], "n": null})", "m.json");
  REQUIRE(leaves.size() == 6);
  CHECK(leaves[0].pointer == "/b/x~1y");
  CHECK(std::get<std::int64_t>(leaves[0].value) == 1);
  CHECK(leaves[1].pointer == "/b/t~0");
  CHECK(std::get<bool>(leaves[1].value));
  CHECK(leaves[2].pointer == "/a/0");
  CHECK(std::get<std::string>(leaves[2].value) == "s");
  CHECK(leaves[3].pointer == "/a/1");
  CHECK(std::get<double>(leaves[3].value) == 2.5);
  CHECK(leaves[4].pointer == "/a/2");  // an empty object is a leaf without a value
  CHECK(std::holds_alternative<std::monostate>(leaves[4].value));
  CHECK(leaves[5].pointer == "/n");
  CHECK(last_key("/b/x~1y") == "x/y");
  CHECK(last_key("/b/t~0") == "t~");
  CHECK(last_key("/b/~01") == "~1");  // an escaped "~1", not a "/"
}

TEST_CASE("text that is not JSON is refused with line and column") {
  // The comma that should stand before "b" is missing: line 2, column 3.
  const std::string message = message_of("{\"a\": 1\n  \"b\": 2}");
  CAPTURE(message);
  CHECK(message.find("m.json") != std::string::npos);
  CHECK(message.find("line 2") != std::string::npos);
  CHECK(message_of("").find("line 1, column 1") != std::string::npos);
  CHECK(message_of("{\"a\": 1} x").find("line 1") != std::string::npos);
  CHECK(message_of("{\"a\": \"\xff\"}") != "no error");
  CHECK(message_of("{\"a\": 1e999}") != "no error");
}

TEST_CASE("a key that is given twice is refused by its pointer") {
  const std::string message = message_of(R"({"device": {"name": "a", "name": "b"}})");
  CAPTURE(message);
  CHECK(message.find("/device/name") != std::string::npos);
  CHECK(message.find("the key \"name\" twice") != std::string::npos);
}

TEST_CASE("nesting without end is refused, not followed") {
  CHECK(message_of(std::string(100'000, '[')).find("levels of nesting") != std::string::npos);
}

}  // namespace schedlab
