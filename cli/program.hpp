// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/reference/command_facts.hpp"
#include "studies/base/terminal.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace schedlab {

/// A command line that was refused; what() says why, with the nearest verb, flag or word.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The verbs, their options and what runs them: what the program and the Python package declare
/// alike.
class Program {
 public:
  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// In the order of the help.
  [[nodiscard]] std::vector<VerbFacts> verbs() const;

  /// A verb with its options, chosen by a command line.
  struct Chosen {
    std::function<int(const Terminal&)> run;  ///< valid as long as the program
    bool keeps = false;  ///< an interrupt lets it end by itself; else it has nothing to keep
    std::string text{};  ///< help or version, where that was asked for; there is no `run` then
  };
  /// Reads the words of a command line, without the program's name. Once for each Program.
  /// Throws UsageError.
  [[nodiscard]] Chosen choose(std::vector<std::string> words);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace schedlab
