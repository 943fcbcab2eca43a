// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/cmd_validate.hpp"
#include "studies/base/terminal.hpp"
#include "studies/spec/spec.hpp"

namespace schedlab {

/// One validation from spec to folder: predicted, measured, compared, written. As run() of
/// cmd_validate.hpp, with a spec that is read already.
[[nodiscard]] int run_validation(const ValidateOptions& options,
                                 const Terminal& terminal,
                                 const ValidateParts& parts,
                                 const Spec& spec);

}  // namespace schedlab
