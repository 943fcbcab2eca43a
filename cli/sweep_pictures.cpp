// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_pictures.hpp"

namespace schedlab {

void draw_sweep(const SweepPictures& /*sweep*/, RunFiles& /*files*/) {}

}  // namespace schedlab
