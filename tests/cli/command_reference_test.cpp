// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_reference.hpp"
#include "cli/cmd_sweep.hpp"
#include "cli/reference/command_facts.hpp"
#include "cli/reference/command_pages.hpp"
#include "cli/reference/reference_page.hpp"
#include "sim/base/error.hpp"

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace schedlab {
namespace {

/// A program with two of the verbs.
struct SmallProgram {
  SmallProgram() {
    add_to(app, sweep);
    add_to(app, reference);
    add_examples(app);
  }
  CLI::App app{"what it is for"};
  SweepOptions sweep;
  ReferenceOptions reference;
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("The facts of a verb are what CLI11 was told: names, words, defaults, what is required") {
  const SmallProgram program;
  const auto verbs = verb_facts(program.app);
  REQUIRE(verbs.size() == 2);
  CHECK(verbs[0].name == "sweep");
  CHECK(synopsis(verbs[0]) == "schedlab sweep SPEC --out TEXT [flags]");
  CHECK(std::find(verbs[0].examples.begin(),
                  verbs[0].examples.end(),
                  "schedlab sweep experiments/quickstart.json --out out/quickstart") !=
        verbs[0].examples.end());
  CHECK_FALSE(holds(verbs[0].details, "Examples"));
  const auto& arguments = verbs[1].arguments;
  const auto format = std::find_if(arguments.begin(), arguments.end(), [](const auto& each) {
    return each.names.front() == "FORMAT";
  });
  REQUIRE(format != arguments.end());
  CHECK(format->positional);
  CHECK(format->required);
  CHECK(format->choices == std::vector<std::string>{"bash_completion", "man", "markdown"});
}

TEST_CASE("In a manual page no text is taken for a request, and dashes can be searched for") {
  CLI::App app{".starts with a dot"};
  app.add_subcommand("sweep", "back\\slash");
  add_examples(app);
  const std::string page = manual_page(app, "1.0");
  CHECK(holds(page, "\n\\&.starts with a dot"));
  CHECK(holds(page, "back\\eslash"));
  CHECK(holds(page, "\\-\\-out out/quickstart"));
}

TEST_CASE("A bar or a line break in a text does not end the cell of a table") {
  CHECK(table_cell("a|b\nc") == "a/b c");
}

TEST_CASE("Reference pages need what list and schema print") {
  CHECK_THROWS_AS(registry_pages("no JSON", "{}"), ContractViolation);
  CHECK_THROWS_AS(registry_pages("{}", "{}"), ContractViolation);
}

}  // namespace
}  // namespace schedlab
