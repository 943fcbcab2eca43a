// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/net_spec.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The parameters of a whole net, in the order of TrainingStage::parameters(), as an .npz file that
/// NumPy reads: an uncompressed ZIP archive (APPNOTE 6.3.10) of fp32 arrays in .npy format 1.0,
/// `LAYER.ARRAY` by parameter_arrays(); a layer without a name is `layerI`. Equal parameters give
/// equal bytes.
[[nodiscard]] std::string parameters_npz(const NetSpec& net, std::span<const float> parameters);

/// Reads them again; also files of numpy.savez. Other arrays are not looked at.
/// Throws InputError naming file and array: no such archive, a compressed one, an array that is
/// missing, of another shape or no little-endian fp32 in C order.
[[nodiscard]] std::vector<float> read_parameters_npz(std::string_view bytes,
                                                     const std::string& file,
                                                     const NetSpec& net);

}  // namespace schedlab
