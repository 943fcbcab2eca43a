// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace schedlab::testing {

/// Notes that the current test case cannot run here and says why; return from the test case
/// afterwards.
///
/// A program in which every test case that ran asked for this exits with 77, which ctest shows as
/// "Skipped". A program with one real result keeps that result: a skip never hides a failure.
void skip(std::string_view reason);

/// How many times `skip` was called in this program.
[[nodiscard]] int skip_count();

}  // namespace schedlab::testing
