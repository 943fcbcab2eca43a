// SPDX-License-Identifier: Apache-2.0
#include "cli/reference/usage_message.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

const std::vector<VerbFacts>& two_verbs() {
  const auto flag = [](std::vector<std::string> names, const std::string& value) {
    return ArgumentFacts{.names = std::move(names),
                         .value = value,
                         .choices = {},
                         .standard = {},
                         .meaning = {},
                         .positional = false,
                         .required = false};
  };
  const auto verb = [](const std::string& name, std::vector<ArgumentFacts> arguments) {
    return VerbFacts{.name = name,
                     .summary = {},
                     .details = {},
                     .examples = {},
                     .arguments = std::move(arguments)};
  };
  static const std::vector<VerbFacts> verbs{
      verb("simulate", {flag({"-o", "--out"}, "TEXT")}),
      verb("sweep", {flag({"-o", "--out"}, "TEXT"), flag({"-j"}, "INT"), flag({"--resume"}, "")})};
  return verbs;
}

std::string said(const std::vector<std::string>& words) {
  return usage_message(two_verbs(), words, "the parser's words");
}

TEST_CASE("a verb that does not exist is answered with the nearest one") {
  CHECK(said({"simulat", "x.json"}) ==
        "error: found the verb \"simulat\", expected one of simulate, sweep\n  did you mean "
        "\"simulate\"?\n");
  CHECK(said({"fly"}).find("schedlab --help says what each does") != std::string::npos);
}

TEST_CASE("a command line without a verb is answered with all of them") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, std::vector<std::string>{"--json"}}) {
    CHECK(said(words).find("found no verb, expected one of simulate, sweep") != std::string::npos);
  }
}

TEST_CASE("a flag that the verb does not have is named before anything else that is wrong") {
  CHECK(said({"sweep", "--resum", "x.json"}).find("did you mean \"--resume\"?") !=
        std::string::npos);
  CHECK(said({"simulate", "--resume"}).find("found the flag \"--resume\", expected one of --out") !=
        std::string::npos);
}

TEST_CASE("values of flags are not taken for flags, and what is not understood is the parser's") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"sweep", "--out", "--odd"},
                                                std::vector<std::string>{"sweep", "--out=x", "-j4"},
                                                std::vector<std::string>{"sweep", "-j", "-4"}}) {
    CHECK(said(words) ==
          "error: sweep: the parser's words\n  schedlab sweep --help has all arguments\n");
  }
}

TEST_CASE("a refused value is answered with what was found and what was expected") {
  std::vector<VerbFacts> verbs = two_verbs();
  std::vector<ArgumentFacts>& arguments = verbs[1].arguments;
  const auto add = [&arguments](const std::string& name, const std::string& value) {
    arguments.push_back(arguments.front());
    arguments.back().names = {name};
    arguments.back().value = value;
  };
  add("--width", "FLOAT in [300 - 20000]");
  add("--jobs", "UINT");
  add("--timelines", "WORD");
  arguments.back().choices = {"all", "best", "none"};
  const auto answer = [&verbs](const std::string& reason) {
    return usage_message(verbs, {"sweep", "x.json"}, reason);
  };
  const std::string help = "\n  schedlab sweep --help has all arguments\n";
  CHECK(answer("--timelines: alle not in {all,best,none}") ==
        "error: --timelines: found \"alle\", expected one of all, best, none\n  did you mean "
        "\"all\"?\n");
  CHECK(answer("Could not convert: --jobs = -3") ==
        "error: --jobs: found \"-3\", expected a whole number, 0 or more" + help);
  CHECK(answer("--width: Value 5 not in range 300.000000 to 20000.000000") ==
        "error: --width: found \"5\", expected a number from 300 to 20000" + help);
  // About an argument that the verb does not have: the parser's words.
  CHECK(answer("--height: Value 5 not in range 1 to 2") ==
        "error: sweep: --height: Value 5 not in range 1 to 2" + help);
}

}  // namespace
}  // namespace schedlab
