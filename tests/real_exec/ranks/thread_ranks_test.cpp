// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/thread_ranks.hpp"

#include "sim/base/error.hpp"
#include "tests/real_exec/ranks/link_checks.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;

namespace {

std::string failure_of(int ranks, const std::function<void(RankLink&)>& work) {
  try {
    run_on_threads(ranks, work);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no failure";
}

}  // namespace

TEST_CASE("ranks on threads exchange messages and sums") {
  for (const int ranks : {1, 2, 5}) {
    CAPTURE(ranks);
    CHECK(failure_of(ranks, testing::check_link) == "no failure");
  }
}

TEST_CASE("a rank that fails ends the waits of the others") {
  const std::string message = failure_of(3, [](RankLink& link) {
    if (link.rank() == 1) throw InfeasibleError("out of luck");
    std::byte nothing{};
    link.receive({&nothing, 1}, 1, 0);
  });
  CHECK(message == "out of luck");
}

TEST_CASE("ranks that wait for each other are told so, instead of waiting for ever") {
  const std::string message = failure_of(2, [](RankLink& link) {
    const std::byte nothing{};
    link.send({&nothing, 1}, 1 - link.rank(), 3);  // both send first, and nothing is buffered
  });
  CHECK(message.starts_with("the ranks wait for each other:"));
  CHECK(message.find("rank 0 sends 1 bytes to 1 (tag 3)") != std::string::npos);
}

TEST_CASE("a rank that waits for one that has ended is told so") {
  const std::string message = failure_of(2, [](RankLink& link) {
    std::byte nothing{};
    if (link.rank() == 0) link.receive({&nothing, 1}, 1, 0);
  });
  CHECK(message.find("rank 0 receives from 1 (tag 0)") != std::string::npos);
}

TEST_CASE("a message that is too long is an error") {
  const std::string message = failure_of(2, [](RankLink& link) {
    std::vector<std::byte> bytes(link.rank() == 0 ? 8 : 4);
    if (link.rank() == 0) link.send(bytes, 1, 0);
    if (link.rank() == 1) link.receive(bytes, 0, 0);
  });
  CHECK(message.find("8 bytes for 4") != std::string::npos);
}
