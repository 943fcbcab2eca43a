// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "profiler/cupti_library.hpp"

#include <cstdint>
#include <span>

namespace schedlab {

/// Appends the records of a buffer that CUPTI has filled (aligned to 8 bytes) to `log`. What cannot
/// be used is counted in `log.problems`: kernels, copies and memsets without times (CUPTI had no
/// memory for them) or that end before they start, records of unknown kinds (their size is unknown,
/// so the rest of the buffer is lost), records that are cut off, and external correlations of
/// others. Records of kinds that are not wanted are passed over. A buffer is read once: what its
/// records own is freed.
void parse_activity_buffer(const CuptiLibrary& cupti,
                           std::span<std::uint8_t> buffer,
                           ActivityLog& log);

}  // namespace schedlab
