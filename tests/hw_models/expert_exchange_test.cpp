// SPDX-License-Identifier: Apache-2.0
#include "hw_models/expert_exchange.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace schedlab;

namespace {

FittedParameters fitted(std::initializer_list<double> values) {
  FittedParameters made;
  for (const double value : values) made.values.push_back({value, value, value});
  return made;
}

constexpr Bandwidth device_link{100e9};

}  // namespace

TEST_CASE("a token goes once to each rank that has one of its experts") {
  // One expert: one rank. Two of eight, one on each rank: always two. All: everywhere.
  CHECK(expected_copies({.top_k = 1, .experts = 8}) == doctest::Approx(1));
  CHECK(expected_copies({.top_k = 2, .experts = 8}) == doctest::Approx(2));
  CHECK(expected_copies({.top_k = 8, .experts = 8}) == doctest::Approx(8));
  // Two of 16, two on each of eight ranks: the second is on the first's rank once in 15.
  CHECK(expected_copies({.top_k = 2, .experts = 16}) == doctest::Approx(1 + 14.0 / 15));
}

TEST_CASE("few units move their share, many wait for the link") {
  // 1000 tokens of 1000 elements to one rank: 2 MB. A unit moves 10 GB/s, the link 50: 200 us of a
  // unit, 40 us of the link. Nothing else takes time; what is slower decides (overlap 8).
  const FittedParameters plain = fitted({1, 0, 0, 0, 10, 0.5, 8, 0});
  ExpertExchange exchange{.tokens = 1000, .hidden = 1000, .top_k = 1, .experts = 8};
  exchange.units = 1;
  CHECK(exchange_time(plain, exchange, device_link).us == doctest::Approx(1 + 200));
  exchange.units = 20;
  CHECK(exchange_time(plain, exchange, device_link).us == doctest::Approx(1 + 40).epsilon(0.01));
  // The time of one unit over that of the link: units from which on the link decides.
  exchange.units = 1;
  const ExchangeTime one = exchange_time(plain, exchange, device_link);
  CHECK(one.units_us / one.link_us == doctest::Approx(5));
}

TEST_CASE("nothing but the base is left of a few tokens") {
  const FittedParameters all = fitted({25, 2, 0.1, 0.1, 10, 0.5, 3, 20});
  const ExpertExchange one{.tokens = 1, .hidden = 512, .top_k = 1, .experts = 8, .units = 8};
  const double us = exchange_time(all, one, device_link).us;  // 1 KiB a token: 2 us of its own
  CHECK(us > 27);
  CHECK(us < 27.1);
}
