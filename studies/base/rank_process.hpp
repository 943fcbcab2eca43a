// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"
#include "studies/base/terminal.hpp"

#include <functional>

namespace schedlab {

/// Does the work of one rank, in a process that an MPI launcher started, and returns its exit code.
/// An exception of `work` is reported with the rank's number and ends all ranks, as the others may
/// wait for this one.
[[nodiscard]] int run_as_rank(const Terminal& terminal, const std::function<int(RankLink&)>& work);

/// Reads what all ranks must agree on, on each of them. If it throws an InputError on any, rank 0
/// reports the first and all get false. Called by all ranks.
[[nodiscard]] bool ranks_agree(RankLink& link,
                               const Terminal& terminal,
                               const std::function<void()>& read);

}  // namespace schedlab
