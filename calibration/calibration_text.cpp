// SPDX-License-Identifier: Apache-2.0
#include "calibration/calibration_text.hpp"

#include "calibration/device_report.hpp"
#include "hw_models/profile_fits.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

const KernelProfile& profile_of(const DeviceCalibration& made) {
  return *made.machine.platform.devices[DeviceId{0}].profile;
}

std::string classes_text(const ProfileFits& fits) {
  std::string text = "\n  error on shapes that were left out of the fit\n";
  text += fmt::format(
      "  {:<18} {:>7} {:>9} {:>9}   {}\n", "operation", "kernels", "median %", "90 % <", "shapes");
  for (const KernelClass& one : fits.classes()) {
    const std::string errors =
        one.held_out()
            ? fmt::format("{:>9.1f} {:>9.1f}", 100 * one.error(0.5), 100 * one.error(0.9))
            : fmt::format("{:>9} {:>9}", "-", "-");
    const std::string name = one.type() == DataType::fp32
                                 ? one.operation()
                                 : fmt::format("{} {}", one.operation(), to_string(one.type()));
    text += fmt::format(
        "  {:<18} {:>7} {}   {}\n", name, one.samples().size(), errors, one.range_text());
  }
  return text;
}

Json classes_json(const ProfileFits& fits) {
  Json classes = Json::array();
  for (const KernelClass& one : fits.classes()) {
    Json entry{{"operation", one.operation()},
               {"kind", std::string{to_string(one.kind())}},
               {"type", std::string{to_string(one.type())}},
               {"samples", one.samples().size()},
               {"valid", one.range_text()},
               {"held_out", one.held_out()}};
    if (one.held_out()) {
      entry["error_median"] = one.error(0.5);
      entry["error_p90"] = one.error(0.9);
    }
    classes.push_back(std::move(entry));
  }
  return classes;
}

Json names_of(const DeviceReport& sheet, RuleVerdict verdict) {
  Json names = Json::array();
  for (const MeasuredRule& rule : sheet.rules) {
    if (rule.verdict == verdict) names.push_back(rule.name);
  }
  return names;
}

}  // namespace

std::string device_report_file(const std::string& out, const std::string& ending) {
  return std::filesystem::path{out}.replace_extension("device_report" + ending).string();
}

std::string calibration_text(const MachineSpec& machine, const std::string& out, double seconds) {
  const KernelProfile& profile = *machine.platform.devices[DeviceId{0}].profile;
  const ProfileFits fits{profile};
  std::string text = fmt::format(
      "{}\n  {} kernels of {} classes in {:.0f} s; equal runs scatter by {:.1f} %\n  cut: a block "
      "for every {:.3g} FLOP or {:.3g} bytes, at most {}\n",
      machine.description,
      profile.samples.size(),
      fits.classes().size(),
      seconds,
      100 * profile.noise,
      profile.cut.flops_per_block,
      profile.cut.bytes_per_block,
      profile.units);
  for (const NumberSource& source : machine.sources) {
    if (source.origin != Origin::measured) continue;
    text += fmt::format("  {:<36} {:>10.3f}\n", source.pointer.substr(1), source.value);
  }
  for (const CoRunSlowDown& one : profile.co_run) {
    text += fmt::format("  {:<36} {:>10.3f}\n",
                        fmt::format("slow-down beside others/{}", to_string(one.kind)),
                        one.factor);
  }
  if (profile.hidden_latency > 0) {
    text +=
        fmt::format("  {:<36} {:>10.3f}\n", "latency hidden beside others", profile.hidden_latency);
  }
  text += classes_text(fits);
  return text + fmt::format("\nwrote {}\n", out);
}

std::string calibration_json(const MachineSpec& machine, const std::string& out, double seconds) {
  const KernelProfile& profile = *machine.platform.devices[DeviceId{0}].profile;
  const ProfileFits fits{profile};
  const Json summary{{"machine", machine.name},
                     {"out", out},
                     {"seconds", seconds},
                     {"samples", profile.samples.size()},
                     {"noise", profile.noise},
                     {"flops_per_block", profile.cut.flops_per_block},
                     {"bytes_per_block", profile.cut.bytes_per_block},
                     {"classes", classes_json(fits)}};
  return summary.dump(2) + "\n";
}

std::string device_calibration_json(const DeviceCalibration& made,
                                    const std::string& out,
                                    double seconds) {
  Json rules = Json::object();
  for (const RuleVerdict verdict : {RuleVerdict::agrees,
                                    RuleVerdict::differs,
                                    RuleVerdict::not_measured,
                                    RuleVerdict::not_simulated}) {
    rules[std::string{to_string(verdict)}] = names_of(made.rules, verdict);
  }
  const Json summary{{"machine", made.machine.name},
                     {"out", out},
                     {"device_report", device_report_file(out, ".json")},
                     {"seconds", seconds},
                     {"rules", std::move(rules)},
                     {"classes", classes_json(ProfileFits{profile_of(made)})}};
  return summary.dump(2) + "\n";
}

std::string device_calibration_text(const DeviceCalibration& made,
                                    const std::string& out,
                                    double seconds) {
  return device_report_text(made.rules) + classes_text(ProfileFits{profile_of(made)}) +
         fmt::format("\n{} kernels in {:.0f} s\nwrote {}, {} and {}\n",
                     profile_of(made).samples.size(),
                     seconds,
                     out,
                     device_report_file(out, ".json"),
                     device_report_file(out, ".md"));
}

}  // namespace schedlab
