// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace schedlab {

/// The JSON Schema (draft 7) of specs, as text. Made from the registries of workloads, machines,
/// cost models and policies, so that a new knob is in the schema, the checks and the help at once.
/// A list is allowed wherever a value is.
[[nodiscard]] std::string spec_schema();

}  // namespace schedlab
