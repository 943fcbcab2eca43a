// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/mpi_link.hpp"

#include "tests/real_exec/ranks/link_checks.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

using namespace schedlab;

TEST_CASE("ranks of MPI exchange messages and sums") {
  if (!launched_ranks()) {
    testing::skip("not started by mpirun");
    return;
  }
  const auto link = open_mpi();
  CHECK(link->size() == *launched_ranks());
  CHECK_NOTHROW(testing::check_link(*link));
}
