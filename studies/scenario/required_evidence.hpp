// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_evidence.hpp"
#include "sim/plan/policy.hpp"

#include <string>

namespace schedlab {

/// The kernels of a problem that only a data sheet tells the times of: "gemm fp32 (24 kernels),
/// pointwise fp32 (96 kernels)", in the order of kinds and types; empty: none. Without copies and
/// collectives, which links and networks tell.
[[nodiscard]] std::string kernels_of_data_sheets(const Problem& problem);

/// Why a problem does not have the evidence that `--require` names, for people; empty: it has, or
/// `required` is empty.
/// Throws InputError for a word that is none of CostEvidence.
[[nodiscard]] std::string lacking_evidence(const std::string& required, const Problem& problem);

}  // namespace schedlab
