// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/spec_to_validate.hpp"

#include "sim/base/error.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/spec/spec_edits.hpp"
#include "studies/spec/spec_machine.hpp"
#include "studies/validation/recording.hpp"

#include <filesystem>

namespace schedlab {
namespace {

/// The spec with its machine replaced by a file.
Spec with_machine(const Spec& spec, const std::string& machine) {
  return parse_spec(text_on_machine(spec.text, machine), spec.file, spec.folder);
}

/// What is predicted and what is measured are of the same data type, connections and launch.
Spec with_device_options(const Spec& spec, const ValidateOptions& options) {
  expect_flags_of(options.device,
                  {{"--connections", options.connections > 0},
                   {"--precision", !options.precision.empty()},
                   {"--products", !options.products.empty()}});
  if (options.connections == 0 && options.precision.empty() && options.launch.empty()) return spec;
  std::string text = spec.text;
  if (!options.precision.empty()) text = text_with_data_type(text, options.precision, spec.file);
  if (options.connections > 0) text = text_with_connections(text, options.connections);
  if (!options.launch.empty()) text = text_with_launch(text, options.launch);
  return parse_spec(text, spec.file, spec.folder);
}

}  // namespace

std::string machine_file(const ValidateOptions& options) {
  if (!options.machine.empty() || options.recording.empty()) return options.machine;
  const std::filesystem::path recorded =
      std::filesystem::path{options.recording} / recorded_machine;
  std::error_code ignored;
  return std::filesystem::exists(recorded, ignored) ? recorded.string() : std::string{};
}

Spec spec_to_validate(const ValidateOptions& options, std::ostream* notes) {
  Spec spec = load_spec(options.spec, notes);
  const std::string machine = machine_file(options);
  if (!machine.empty()) spec = with_machine(spec, machine);
  return with_device_options(spec, options);
}

}  // namespace schedlab
