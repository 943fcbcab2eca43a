// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/toolkit_library.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {

LoadedLibrary toolkit_library(std::string what, std::string_view name, int major_version) {
  const std::string file = fmt::format("lib{}.so.{}", name, major_version);
  return {std::move(what), {file, SCHEDLAB_CUDA_LIBRARY_DIR "/" + file}};
}

}  // namespace schedlab::detail
