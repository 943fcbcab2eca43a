// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/options.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Where a number of a machine comes from; the same words as in the file.
enum class Origin : std::uint8_t { source, assumed, measured, fitted };
template <>
struct EnumNames<Origin> {
  static constexpr auto names = name_list("source", "assumed", "measured", "fitted");
};

/// One number of a machine and where it comes from.
struct NumberSource {
  std::string pointer;  ///< JSON pointer in the machine file
  double value = 0;     ///< in the unit of the key
  Origin origin = Origin::assumed;
  std::string text;  ///< the publication, the reason, how it was measured or fitted
  /// Between which the value lies with 95 %; both 0: not given.
  double low = 0;
  double high = 0;

  friend bool operator==(const NumberSource&, const NumberSource&) = default;
};

/// A machine as read from its file.
struct MachineSpec {
  std::string name;
  std::string description;
  Platform platform;
  std::vector<NumberSource> sources;  ///< of every number, in the order in which they are read

  friend bool operator==(const MachineSpec&, const MachineSpec&) = default;
};

/// The machines that the library carries, by name.
[[nodiscard]] std::vector<std::string> machine_names();
/// The JSON text of one of them; ContractViolation for an unknown name.
[[nodiscard]] std::string_view machine_text(std::string_view name);

/// A machine that the library carries, or one from a file: a word with a '/' or with ".json" at its
/// end is a path. Throws InputError (unknown name with the closest one, unreadable file, wrong
/// content).
[[nodiscard]] MachineSpec load_machine(std::string_view name_or_path);

/// Reads the JSON text of a machine; `file` is named in messages. Format: docs/machine_format.md.
///
/// Errors   InputError with file, JSON pointer, what was found, what was expected and, for an
///          unknown key, the closest one. A number that does not say where it comes from is an
///          error.
[[nodiscard]] MachineSpec read_machine(std::string_view text, const std::string& file);

/// The JSON text of a machine: its numbers as `sources` has them, its profile if it has one.
/// Reading it again gives the same machine.
[[nodiscard]] std::string write_machine(const MachineSpec& machine);

/// Sets where a number comes from, whether the machine has it already or not.
void note_source(MachineSpec& machine, NumberSource source);
/// Gives the machine these numbers, with their origins; pointers as in a machine file.
void set_numbers(MachineSpec& machine, const std::vector<NumberSource>& numbers);

/// What a scenario may change in a machine: every number of the sections "host" and "device", by
/// its name in the file, "host" (host_spec.hpp) and "node" (node_spec.hpp; single numbers are
/// changed after these), "units" (that matrix products run on), "unlimited_units" and "sharing".
/// The defaults only fix the types: what is not given is kept.
[[nodiscard]] const std::vector<OptionSpec>& machine_options();

/// Changes some numbers of a machine; their origin becomes `assumed`, "set by the scenario".
/// "unlimited_units": true takes the limit off every class of units, so that each kernel runs as if
/// alone; what a kernel takes alone stays the same.
/// Throws InputError with pointer "/NAME" and the closest spelling.
void apply_overrides(MachineSpec& machine, const std::map<std::string, OptionValue>& given);

/// JSON Schema (draft 7) of machine files, as JSON text.
[[nodiscard]] std::string machine_schema();

}  // namespace schedlab
