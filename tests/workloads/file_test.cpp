// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.hpp"

#include "sim/base/error.hpp"
#include "tests/cli/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace schedlab;
using schedlab::testing::TemporaryFolder;

TEST_CASE("what was written is read, and no temporary file is left") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.bin";
  const std::string bytes{"zero \0 and \xFF", 12};
  write_file_atomically(path, "longer text that is replaced");
  write_file_atomically(path, bytes);
  CHECK(read_file(path) == bytes);
  CHECK(read_file(path).capacity() >= bytes.size() + 64);
  for (const auto& entry : std::filesystem::directory_iterator{folder.path()}) {
    CHECK(entry.path().extension() != ".tmp");
  }
}

TEST_CASE("a file that cannot be read or written is named") {
  try {
    (void)read_file("no/such/file.json");
    FAIL("read");
  } catch (const InputError& error) {
    CHECK(std::string{error.what()} ==
          "no/such/file.json: found no such file, expected a file that can be read");
  }
  const TemporaryFolder folder;
  CHECK_THROWS_AS((void)read_file(folder.path()), InputError);
  CHECK_THROWS_AS(write_file_atomically("no/such/file.json", "x"), InputError);
}

TEST_CASE("writers of one path never mix their bytes") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "shared.txt";
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 25; ++i) write_file_atomically(path, std::string(10'000, letter));
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string text = read_file(path);
  REQUIRE(text.size() == 10'000);
  CHECK(std::count(text.begin(), text.end(), text.front()) == 10'000);
}
