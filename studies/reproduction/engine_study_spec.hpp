// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/engine_class.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// Published times of one network's training step on one core group.
struct PublishedNetwork {
  std::string workload;
  /// Times of the classes of EngineStudySpec::classes, in their order.
  std::vector<double> array_ms;
  std::vector<double> management_ms;
  double array_step_s = 0;
  double management_step_s = 0;
};

/// One class of operators that was timed.
struct TimedClass {
  EngineClass engine_class = EngineClass::data_split;
  std::vector<std::string> operations;  ///< those that were timed
};

/// What a study of an acceleration engine is made of: published times, what they are times of, and
/// the runs on several core groups that the fitted costs are used for.
struct EngineStudySpec {
  std::string file;  ///< for messages
  std::string machine;
  std::int64_t batch = 32;
  std::vector<TimedClass> classes;
  std::vector<PublishedNetwork> networks;  ///< at least three, so that a pair leaves one
  /// Share of the time that no timed class accounts for which each operator takes whatever its
  /// size, which totals do not say.
  std::vector<double> operator_shares;
  std::vector<std::int64_t> splits;
  std::vector<std::string> policies;
  std::vector<double> scheduling_us;  ///< what handing an operator to a core group takes
};

/// Throws InputError with file, pointer, found and expected: what the schema forbids, lists of
/// different lengths, a class or network given twice.
[[nodiscard]] EngineStudySpec parse_engine_study(const std::string& text, const std::string& file);

/// JSON Schema (draft 7).
[[nodiscard]] std::string engine_study_schema();

}  // namespace schedlab
