// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_calibration.hpp"
#include "hw_models/machine_spec.hpp"

#include <string>

namespace schedlab {

// `out`: the machine file that was written, `seconds`: how long that took.

/// What a calibration of a CPU found, for people.
[[nodiscard]] std::string calibration_text(const MachineSpec& machine,
                                           const std::string& out,
                                           double seconds);
/// The same as JSON.
[[nodiscard]] std::string calibration_json(const MachineSpec& machine,
                                           const std::string& out,
                                           double seconds);
/// What a calibration of a device found, for people.
[[nodiscard]] std::string device_calibration_text(const DeviceCalibration& made,
                                                  const std::string& out,
                                                  double seconds);
/// The same as JSON.
[[nodiscard]] std::string device_calibration_json(const DeviceCalibration& made,
                                                  const std::string& out,
                                                  double seconds);

/// The device report beside a machine file: "out/mine.json" -> "out/mine.device_report" + `ending`.
[[nodiscard]] std::string device_report_file(const std::string& out, const std::string& ending);

}  // namespace schedlab
