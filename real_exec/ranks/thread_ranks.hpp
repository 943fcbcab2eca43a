// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"

#include <functional>

namespace schedlab {

/// Runs `work` once per rank, each on a thread of its own, linked through memory. A send ends only
/// when it is received, so that what runs here needs no buffers of a library.
///
/// Throws what the first rank that failed threw; the others' waits end with DeviceError. If all
/// ranks that still run wait for each other, they all fail with DeviceError naming what each waits
/// for.
void run_on_threads(int ranks, const std::function<void(RankLink&)>& work);

}  // namespace schedlab
