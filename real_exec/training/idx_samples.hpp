// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/labelled_samples.hpp"

#include <filesystem>

namespace schedlab {

/// Pictures and labels in the four IDX files in which MNIST is distributed, all in one folder:
/// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte,
/// t10k-labels-idx1-ubyte, as they are or compressed (.gz). Values are bytes divided by 255, the
/// t10k files are the test. Source: Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST database of
/// handwritten digits. Throws InputError naming the file: missing, no IDX file of bytes, pictures
/// that are not `shape` (of one channel), more or fewer labels than pictures, or bytes missing or
/// left over.
[[nodiscard]] TrainingData read_idx_folder(const std::filesystem::path& folder,
                                           const SampleShape& shape);

}  // namespace schedlab
