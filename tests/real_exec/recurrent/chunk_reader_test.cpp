// SPDX-License-Identifier: Apache-2.0
// Chunks of sequences in files, and threads that read them.
#include "real_exec/recurrent/chunk_reader.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

using namespace schedlab;

namespace {

const std::vector<std::int64_t> lengths{3, 1, 4, 1, 5, 9, 2};

SequenceCorpus small_corpus() {
  return {lengths, 2, 3, 7};
}

}  // namespace

TEST_CASE("batches from files are those of the corpus, whoever reads the files") {
  const SequenceCorpus corpus = small_corpus();
  const ChunkFiles files{corpus, 3, 32};  // 20 bytes of values, 12 of padding
  for (const std::uint32_t producers : {1U, 2U, 5U}) {
    for (const std::size_t ahead : {0U, 1U, 4U}) {
      CAPTURE(producers);
      CAPTURE(ahead);
      ChunkReader reader{files, {2, 0, 1}, producers, ahead};
      const std::array<std::vector<std::uint32_t>, 3> batches{{{6}, {1, 0, 2}, {3, 5}}};
      for (const auto& members : batches) {
        CHECK(files.file_of(members.front()) == files.file_of(members.back()));
        const SequenceRecords read = files.records(reader.next());
        PaddedBatch expected;
        PaddedBatch found;
        corpus.fill(members, 4, 9, 1.0F, expected);
        corpus.fill(members, 4, 9, 1.0F, found, {}, &read);
        CHECK(found.x == expected.x);
        CHECK(found.target == expected.target);
      }
      CHECK(reader.bytes() == Bytes{25 * 32});
      CHECK(reader.reading() > Duration{0});
      CHECK(reader.waited() > Duration{0});
    }
  }
}

TEST_CASE("a reader that is left early stops, and its files go with their owner") {
  std::filesystem::path path;
  {
    const ChunkFiles files{small_corpus(), 1, 20};
    path = files.path(0);
    ChunkReader reader{files, {0, 1, 2, 3, 4, 5, 6}, 2, 1};
    CHECK(reader.next().size() == 3 * 5);
    files.drop_cached();
    CHECK(std::filesystem::exists(path));
  }
  CHECK(!std::filesystem::exists(path.parent_path()));
}

TEST_CASE("a file that is gone is named where its chunk is asked for") {
  const ChunkFiles files{small_corpus(), 3, 20};
  std::filesystem::remove(files.path(1));
  ChunkReader reader{files, {0, 1}, 2, 1};
  CHECK(!reader.next().empty());
  CHECK_THROWS_WITH_AS(
      static_cast<void>(reader.next()), doctest::Contains("chunk_1"), InfeasibleError);
}

TEST_CASE("records that do not hold a step are refused") {
  CHECK_THROWS_WITH_AS(
      (ChunkFiles{small_corpus(), 3, 16}), doctest::Contains("from 20 on"), InfeasibleError);
  CHECK_THROWS_AS((ChunkFiles{small_corpus(), 3, 22}), InfeasibleError);
}
