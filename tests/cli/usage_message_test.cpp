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

}  // namespace
}  // namespace schedlab
