// SPDX-License-Identifier: Apache-2.0
#include "sim/base/gzip.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;

TEST_CASE("gzip: what was compressed comes back, whatever its length") {
  Rng rng(3);
  std::string noise;
  for (int i = 0; i < 700'000; ++i) noise += static_cast<char>(rng.next() & 0xFFU);
  for (const std::size_t length : {0U, 1U, 1000U, 262'144U, 700'000U}) {
    const std::string bytes = noise.substr(0, length);
    const std::string compressed = gzip(bytes);
    CHECK(is_gzip(compressed));
    CHECK(gunzip(compressed, "x.gz") == bytes);
    CHECK(gzip(bytes) == compressed);
  }
  const std::string zeros(1'000'000, '\0');
  CHECK(gzip(zeros).size() < 10'000);
  CHECK(gunzip(gzip(zeros), "x.gz") == zeros);
}

TEST_CASE("gzip: a file of several members is all of them") {
  CHECK(gunzip(gzip("one ") + gzip("two"), "x.gz") == "one two");
}

TEST_CASE("gzip: a file that ends early or is damaged is refused by name") {
  const std::string text(5000, 'a');
  const std::string whole = gzip(text);
  CHECK_THROWS_WITH_AS(static_cast<void>(gunzip(whole.substr(0, whole.size() - 6), "cut.gz")),
                       doctest::Contains("cut.gz"),
                       InputError);
  std::string damaged = whole;
  damaged[damaged.size() - 5] ^= 1;  // the sum over the text
  CHECK_THROWS_WITH_AS(
      static_cast<void>(gunzip(damaged, "bad.gz")), doctest::Contains("damaged"), InputError);
  CHECK_FALSE(is_gzip("{\"a\": 1}"));
}
