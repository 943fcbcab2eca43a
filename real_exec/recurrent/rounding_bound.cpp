// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/rounding_bound.hpp"

namespace schedlab {

double rounding_bound(DataType type) {
  switch (type) {
    case DataType::fp32:
      return 1e-4;
    case DataType::tf32:
      return 1e-2;
    default:
      return 5e-2;
  }
}

}  // namespace schedlab
