// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "studies/scenario/prepared_problem.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab::python {

/// A problem as a Python policy sees it; what it shows outlives the policy's call.
class ProblemView {
 public:
  /// `steps`: how many calls of builders a policy may make for it; 0: without end.
  explicit ProblemView(std::shared_ptr<const PreparedProblem> prepared, std::uint64_t steps = 0)
      : prepared_(std::move(prepared)), problem_(prepared_->problem()), limit_(steps) {}

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const PreparedProblem& prepared() const { return *prepared_; }
  /// In microseconds alone on the first device, one per task; made once.
  [[nodiscard]] const pybind11::array_t<double>& durations_us();
  /// One call of a builder. Throws InfeasibleError beyond the limit.
  void step() {
    if (++steps_ > limit_ && limit_ != 0) [[unlikely]]
      too_many_steps();
  }

 private:
  [[noreturn]] void too_many_steps() const;

  std::shared_ptr<const PreparedProblem> prepared_;
  Problem problem_;
  std::uint64_t limit_;
  std::uint64_t steps_ = 0;
  std::optional<pybind11::array_t<double>> durations_us_;  // made while the lock is held
};

/// A policy that a Python function makes plans for: called with a ProblemView, it returns a Plan,
/// which is checked before it is used.
class PythonPolicy final : public Policy {
 public:
  /// `whole`: the problem that the scenario runs; `steps` as ProblemView has it; 0:
  /// 10,000 and 1,000 per task.
  PythonPolicy(pybind11::object function,
               std::string name,
               std::shared_ptr<const PreparedProblem> whole,
               std::uint64_t steps);
  PythonPolicy(const PythonPolicy&) = delete;
  PythonPolicy& operator=(const PythonPolicy&) = delete;
  ~PythonPolicy() override;

  [[nodiscard]] std::string_view name() const override { return name_; }
  /// Throws what the function raises, FindingsError for a plan with findings.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  pybind11::object function_;
  std::string name_;
  std::shared_ptr<const PreparedProblem> planned_;
  std::uint64_t steps_;
};

}  // namespace schedlab::python
