// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Picks out of what mpirun prints what a user needs: lines of the program pass, mpirun's own
/// framed paragraphs are kept back and read for what became of the ranks.
class MpirunMessages {
 public:
  /// One line without its end; returns true if it is to be shown.
  bool take(const std::string& line);
  /// "rank 1 was ended by signal 9 (Killed)"; empty if mpirun says nothing of the kind.
  [[nodiscard]] std::string cause() const;
  /// A line that starts with "error:" has passed.
  [[nodiscard]] bool program_said() const { return program_said_; }
  /// mpirun's paragraphs.
  [[nodiscard]] const std::vector<std::string>& paragraphs() const { return paragraphs_; }

 private:
  std::vector<std::string> paragraphs_;
  bool in_paragraph_ = false;
  bool program_said_ = false;
};

/// Starts this program again on so many ranks of this computer, with the given arguments, and waits
/// for its end: also as root, also with fewer cores than ranks (which yield when idle), without a
/// remote shell. Returns the exit code: 0 if all ranks ended with 0. If a rank dies, mpirun ends
/// the others, and a message says which.
/// Throws InfeasibleError if there is no mpirun, or this program was built without MPI.
[[nodiscard]] int run_on_ranks(std::uint32_t ranks,
                               const std::vector<std::string>& arguments,
                               const Terminal& terminal);

}  // namespace schedlab
