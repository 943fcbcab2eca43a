// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "calibration/device_experiments.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/machine/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

enum class RuleVerdict : std::uint8_t {
  agrees,         ///< counts and answers are equal, other values within the interval or 10 %
  differs,        ///< the simulator assumes something else
  not_measured,   ///< see the note
  not_simulated,  ///< measured, but the simulated machine gives no answer
};
template <>
struct EnumNames<RuleVerdict> {
  static constexpr auto names = name_list("agrees", "differs", "not_measured", "not_simulated");
};

/// One rule of a device: what was asked, what came out, and what the simulator makes of it.
struct MeasuredRule {
  std::string name;
  std::string question;
  std::string unit;               ///< as RuleReading
  std::string pointer;            ///< likewise
  std::optional<double> value{};  ///< median over the runs
  double low = 0;                 ///< 95 % interval of the median (bootstrap)
  double high = 0;
  double spread = 0;  ///< interquartile range of the runs
  std::size_t runs = 0;
  bool at_least = false;
  std::optional<double> assumed{};  ///< read off the simulated machine by the same experiment
  bool assumed_at_least = false;
  RuleVerdict verdict = RuleVerdict::not_measured;
  std::string note{};

  friend bool operator==(const MeasuredRule&, const MeasuredRule&) = default;
};

struct DeviceReport {
  std::string device;    ///< that was measured
  std::string software;  ///< its driver and toolkit
  std::string date;
  std::string machine;  ///< that was simulated for comparison
  std::vector<MeasuredRule> rules;

  /// nullptr if there is none of the name.
  [[nodiscard]] const MeasuredRule* find(std::string_view name) const;
  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

/// Runs all experiments on `device`, and each once more on the simulator of the machine that the
/// device is believed to be; where its sharing model gives no answer, under the model `blocks`.
[[nodiscard]] DeviceReport make_device_report(DeviceBench& device,
                                              const Platform& believed,
                                              const BenchEffort& effort,
                                              const RuleProgress& progress);

/// device_report.json; schema: `schedlab schema device_report`.
[[nodiscard]] std::string device_report_json(const DeviceReport& sheet);
[[nodiscard]] std::string device_report_schema();
/// A table for a terminal.
[[nodiscard]] std::string device_report_text(const DeviceReport& sheet);
/// The same, with questions and notes, in Markdown.
[[nodiscard]] std::string device_report_markdown(const DeviceReport& sheet);

}  // namespace schedlab
