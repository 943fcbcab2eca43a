// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// One flag or argument of a verb, as its help shows it.
struct ArgumentFacts {
  std::vector<std::string> names;    ///< "-o", "--out"; of a positional one "SPEC"
  std::string value;                 ///< what follows a flag: "TEXT", "INT in [1 - 1000]"; or empty
  std::vector<std::string> choices;  ///< words it may be; empty: anything
  std::string standard;              ///< default; empty: none
  std::string meaning;
  bool positional = false;
  bool required = false;
};

/// One verb.
struct VerbFacts {
  std::string name;
  std::string summary;
  std::string details;                ///< what its help says below the flags, without examples
  std::vector<std::string> examples;  ///< commands
  std::vector<ArgumentFacts> arguments;
};

/// What the command line accepts, in the order of the program's help.
[[nodiscard]] std::vector<VerbFacts> verb_facts(const CLI::App& program);

/// "schedlab sweep SPEC --out TEXT [options]": all that must be given.
[[nodiscard]] std::string synopsis(const VerbFacts& verb);

}  // namespace schedlab
