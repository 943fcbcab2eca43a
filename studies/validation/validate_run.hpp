// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"
#include "studies/spec/spec.hpp"
#include "studies/validation/validate_verb.hpp"

namespace schedlab {

/// One validation from spec to folder: predicted, measured, compared, written. As run() of
/// validate_verb.hpp, with a spec that is read already.
[[nodiscard]] int run_validation(const ValidateOptions& options,
                                 const Terminal& terminal,
                                 const ValidateParts& parts,
                                 const Spec& spec);

}  // namespace schedlab
