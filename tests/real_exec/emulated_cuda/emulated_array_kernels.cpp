// SPDX-License-Identifier: Apache-2.0
// The device code of this file, compiled for the host.
#include "real_exec/cuda/array_kernels.cu"
