// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan_check.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::python {

/// The plan checker has found something in a plan that was to be run.
class FindingsError : public std::runtime_error {
 public:
  FindingsError(const std::string& message, std::vector<Finding> findings)
      : std::runtime_error(message), findings_(std::move(findings)) {}
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<Finding> findings_;
};

}  // namespace schedlab::python
