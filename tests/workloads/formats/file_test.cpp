// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.hpp"

#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "sim/base/input_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
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

namespace {

/// A FIFO that a thread writes `text` into.
class WrittenPipe {
 public:
  WrittenPipe(const std::filesystem::path& path, std::string text) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    writer_ = std::thread([path, text = std::move(text)] {
      std::ofstream pipe(path, std::ios::binary);
      pipe << text;
    });
  }
  WrittenPipe(const WrittenPipe&) = delete;
  WrittenPipe& operator=(const WrittenPipe&) = delete;
  ~WrittenPipe() { writer_.join(); }

 private:
  std::thread writer_;
};

/// Sets the limit of inputs, until the end of a test.
class Limited {
 public:
  explicit Limited(const char* bytes) { ::setenv(input_limit_variable, bytes, 1); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() { ::unsetenv(input_limit_variable); }
};

}  // namespace

TEST_CASE("a pipe can be read as often as a file") {
  const TemporaryFolder folder;
  const std::string text(300'000, 'x');  // more than a pipe holds
  const auto path = folder.path() / "pipe";
  const WrittenPipe pipe(path, text);
  CHECK(read_file(path) == text);
  CHECK(read_file(path) == text);
  const auto source = open_file(path);
  std::string first(4, ' ');
  CHECK(source->read(first.data(), first.size()) == 4);
  CHECK(read_file_or_gzip(path) == text);
}

TEST_CASE("a compressed pipe is decompressed") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "pipe";
  const WrittenPipe pipe(path, gzip("a graph"));
  CHECK(read_file_or_gzip(path) == "a graph");
  CHECK(read_file_or_gzip(path) == "a graph");
}

TEST_CASE("devices are refused, and what is larger than the limit") {
  const TemporaryFolder folder;
  for (const char* device : {"/dev/zero", "/dev/null", "/dev/urandom"}) {
    CHECK_THROWS_WITH_AS((void)read_file(device), doctest::Contains("found a device"), InputError);
    CHECK_THROWS_AS((void)open_file(device), InputError);
  }
  const auto path = folder.path() / "large";
  write_file_atomically(path, std::string(1001, 'x'));
  CHECK(read_file(path).size() == 1001);
  {
    const Limited limited("1000");
    CHECK_THROWS_WITH_AS((void)read_file(path),
                         doctest::Contains("found more than 1000 bytes, expected an input of at "
                                           "most that many\n  if it is meant, set the "
                                           "environment variable SCHEDLAB_MAX_INPUT_BYTES"),
                         InputError);
    const auto pipe_path = folder.path() / "pipe";
    const WrittenPipe pipe(pipe_path, std::string(1001, 'x'));
    CHECK_THROWS_AS((void)read_file(pipe_path), InputError);
    // 900 bytes that become 1100.
    CHECK_THROWS_AS((void)gunzip(gzip(std::string(1100, 'x')), "x.gz"), InputError);
    CHECK(gunzip(gzip(std::string(1000, 'x')), "x.gz").size() == 1000);
  }
  // Who asks for more than the limit also means what a file grows to.
  const std::string zeros(std::size_t{70} << 20U, '\0');
  const std::string bomb = gzip(zeros);
  CHECK_THROWS_WITH_AS((void)gunzip(bomb, "x.gz"), doctest::Contains("400 times"), InputError);
  const Limited raised("100000000");
  CHECK(gunzip(bomb, "x.gz").size() == zeros.size());
}

TEST_CASE("a message about a text with zero bytes is whole") {
  const InputError error(
      {.file = "a", .pointer = {}, .found = std::string("\"\0\"", 3), .expected = "b", .hint = {}});
  CHECK(std::string{error.what()} == "a: found \"\\x00\", expected b");
}
