// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/spec/spec.hpp"
#include "studies/validation/validate_verb.hpp"

#include <iosfwd>
#include <string>

namespace schedlab {

/// The machine file that counts: the one given, else that of the recording; empty: the spec's own.
[[nodiscard]] std::string machine_file(const ValidateOptions& options);

/// The spec of the options on that machine, with the data type and the connections that they want
/// of a CUDA device, so that what is predicted is what is measured. Throws InputError for a spec
/// that cannot be read, and for options of a CUDA device without one.
[[nodiscard]] Spec spec_to_validate(const ValidateOptions& options, std::ostream* notes = nullptr);

}  // namespace schedlab
