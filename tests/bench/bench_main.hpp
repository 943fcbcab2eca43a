// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace schedlab::bench {

/// What a benchmark program does, which it defines itself; the result is its exit status. What is
/// thrown is printed, and fails.
int run(int argc, char** argv);

}  // namespace schedlab::bench
