// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/input_digest.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "workloads/traces/chakra_ranks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <set>

namespace schedlab {
namespace {

/// FNV-1a, 64 bits; offset basis and prime from the authors' reference
/// (draft-eastlake-fnv, "The FNV Non-Cryptographic Hash Algorithm").
std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  }
  return hash;
}

/// Machine names with a slash or ".json" are paths too, so every word of this kind counts.
void collect_words(const JsonNode& node, std::set<std::string>& words) {
  if (node.kind == JsonKind::string) {
    const std::string& word = node.text();
    const bool may_be_path = word.find_first_of("/.") != std::string::npos;
    if (may_be_path || node.pointer.find("path") != std::string::npos) words.insert(word);
  }
  for (const JsonNode& item : node.items) collect_words(item, words);
}

}  // namespace

std::string input_digest(const Spec& spec) {
  std::set<std::string> words;
  for (const Part part : {Part::workload, Part::machine}) {
    if (const JsonNode* node = spec.part(part)) collect_words(*node, words);
  }
  std::string digest;
  for (const std::string& word : words) {
    const std::filesystem::path given{word};
    const std::filesystem::path path = given.is_absolute() ? given : spec.folder / given;
    std::string bytes;
    try {
      if (!is_rank_pattern(path)) {
        bytes = read_file(path);
      } else {
        for (const std::filesystem::path& file : files_of_ranks(path)) bytes += read_file(file);
      }
    } catch (const InputError&) {
      continue;
    }
    digest += fmt::format("{} {} {:016x}\n", word, bytes.size(), hash_of(bytes));
  }
  return digest;
}

}  // namespace schedlab
