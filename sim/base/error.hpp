// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What is wrong with an input, in the four parts every message has.
struct InputProblem {
  std::string file;      ///< file name or flag, as the user gave it
  std::string pointer;   ///< JSON pointer, or "line 17"; empty: the whole input
  std::string found;     ///< what stands there
  std::string expected;  ///< what would be right
  std::string hint;      ///< what to do, e.g. the closest name; may be empty
};

/// The user's file or flag is at fault. what(): "FILE: POINTER: found X, expected Y\n  HINT".
class InputError : public std::runtime_error {
 public:
  explicit InputError(InputProblem problem);
  [[nodiscard]] const InputProblem& problem() const { return problem_; }

 private:
  InputProblem problem_;
};

/// The request is well formed but cannot be met (memory, legality of a cut, a missing feature of a
/// machine).
class InfeasibleError : public std::runtime_error {
 public:
  InfeasibleError(const std::string& message,
                  std::string resource,
                  std::string needed,
                  std::string available);
  explicit InfeasibleError(const std::string& message) : std::runtime_error(message) {}
  [[nodiscard]] const std::string& resource() const { return resource_; }
  [[nodiscard]] const std::string& needed() const { return needed_; }
  [[nodiscard]] const std::string& available() const { return available_; }

 private:
  std::string resource_;
  std::string needed_;
  std::string available_;
};

/// A device, its driver or a profiler failed.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Our bug, or that of a policy's author: a stated precondition does not hold.
class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void contract_violation(const char* condition,
                                     const char* file,
                                     int line,
                                     const std::string& culprit);
}  // namespace detail

/// The closest of `candidates` to `word` by edit distance, empty when none is near enough to be a
/// likely misspelling (distance at most a third of the longer word, at least 1).
[[nodiscard]] std::string closest_spelling(std::string_view word,
                                           const std::vector<std::string>& candidates);

}  // namespace schedlab

/// Checks a precondition in every build; `culprit` (a std::string expression, evaluated only on
/// failure) names the task, stream or value at fault.
#define SCHEDLAB_EXPECTS(condition, culprit)                                           \
  do {                                                                                 \
    if (!(condition)) [[unlikely]]                                                     \
      ::schedlab::detail::contract_violation(#condition, __FILE__, __LINE__, culprit); \
  } while (false)
