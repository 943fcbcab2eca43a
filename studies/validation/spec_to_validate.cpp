// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/spec_to_validate.hpp"

#include "sim/base/error.hpp"
#include "studies/execution/cuda_execution.hpp"
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

/// What is predicted and what is measured are of the same data type and connections.
Spec with_cuda_options(const Spec& spec, const ValidateOptions& options) {
  const char* given = options.connections > 0 ? "--connections" : nullptr;
  if (!options.precision.empty()) given = "--precision";
  if (!options.products.empty()) given = "--products";
  if (given == nullptr) return spec;
  if (!cuda_device_from(options.device)) {
    throw InputError({.file = given,
                      .pointer = {},
                      .found = options.device.empty() ? "no device" : "--device " + options.device,
                      .expected = "--device cuda with it",
                      .hint = {}});
  }
  std::string text = spec.text;
  if (!options.precision.empty()) text = text_with_data_type(text, options.precision, spec.file);
  if (options.connections > 0) text = text_with_connections(text, options.connections);
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
  return with_cuda_options(spec, options);
}

}  // namespace schedlab
