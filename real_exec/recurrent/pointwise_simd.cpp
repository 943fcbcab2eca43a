// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/pointwise_simd.hpp"

namespace schedlab::detail {
namespace {

InstructionSet find_instruction_set() {
#if defined(__x86_64__)
  // What x86-64-v4 and x86-64-v3 stand for, as far as these kernels use it.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return InstructionSet::avx512;
  if (avx2) return InstructionSet::avx2;
#endif
  return InstructionSet::any;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet found = find_instruction_set();
  return found;
}

}  // namespace schedlab::detail
