// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: every file of the corpus, every prefix of the first
// kilobyte, then seeded mutations. The count is bounded and the seed fixed, so a run can be
// repeated anywhere.
//   fuzz_TARGET CORPUS_FOLDER [MUTATIONS [SEED]]
#include "sim/base/rng.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t longest_input = 1U << 16U;

void run(const std::string& bytes) {
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::vector<std::string> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream file{path, std::ios::binary};
    corpus.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  return corpus;
}

/// Pieces that parsers trip over, inserted whole.
constexpr std::string_view pieces[] = {"0",     "-1",         "18446744073709551616",
                                       "1e999", "4294967295", "NaN",
                                       "\"",    "\\",         "\\u0000",
                                       "\xFF",  "[[[[",       "]",
                                       "{",     "}",          ",",
                                       ":",     "\n",         "#",
                                       "%",     "@",          " ",
                                       "\t",    "null",       "true",
                                       "needs", "tasks"};

std::string mutate(const std::vector<std::string>& corpus, schedlab::Rng& random) {
  std::string text = corpus[random.below(corpus.size())];
  const auto place = [&] { return static_cast<std::size_t>(random.below(text.size() + 1)); };
  const std::uint64_t edits = 1 + random.below(6);
  for (std::uint64_t i = 0; i < edits; ++i) {
    const std::size_t at = place();
    switch (random.below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.insert(at, pieces[random.below(std::size(pieces))]);
        break;
      case 2:
        text.erase(at, 1 + random.below(16));
        break;
      case 3: {  // a piece of the text again, elsewhere
        const std::string part = text.substr(place(), 1 + random.below(64));
        text.insert(std::min(at, text.size()), part);
        break;
      }
      case 4: {  // the end of another input
        const std::string& other = corpus[random.below(corpus.size())];
        text = text.substr(0, at) + other.substr(random.below(other.size() + 1));
        break;
      }
      default:
        text.resize(at);
    }
  }
  if (text.size() > longest_input) text.resize(longest_input);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " CORPUS_FOLDER [MUTATIONS [SEED]]\n";
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::cerr << argv[1] << " has no files\n";
    return 2;
  }
  const auto mutations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20'000ULL;
  schedlab::Rng random{argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1ULL};
  for (const std::string& input : corpus) {
    run(input);
    for (std::size_t n = 0; n < std::min<std::size_t>(input.size(), 1024); ++n) {
      run(input.substr(0, n));
    }
  }
  for (std::uint64_t i = 0; i < mutations; ++i) run(mutate(corpus, random));
  std::cout << corpus.size() << " inputs, their prefixes and " << mutations << " mutations\n";
  return 0;
}
