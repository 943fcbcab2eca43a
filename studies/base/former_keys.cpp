// SPDX-License-Identifier: Apache-2.0
#include "studies/base/former_keys.hpp"

#include "studies/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// Goes through a JSON text key by key; strings are looked at as they are written, escapes and all.
class KeyRenamer {
 public:
  KeyRenamer(std::string_view text, std::vector<FormerKey> keys)
      : text_(text), keys_(std::move(keys)) {}

  /// Calls found(pointer, new name) for each old key.
  template <class Found>
  std::string run(const Found& found) {
    std::string result;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '"') {
        const std::size_t end = end_of_string(at);
        const std::string_view written = text_.substr(at + 1, end - at - 1);
        const FormerKey* const old = expects_key_ ? find(written) : nullptr;
        if (old != nullptr) found(pointer(), old->now);
        result += fmt::format("\"{}", old != nullptr ? old->now : written);
        at = end;
      } else {
        enter_or_leave(text_[at]);
      }
      if (at < text_.size()) result += text_[at];
    }
    return result;
  }

 private:
  struct Level {
    bool list = false;
    std::size_t item = 0;
    std::string key{};
  };

  [[nodiscard]] std::size_t end_of_string(std::size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at) {
      if (text_[at] == '\\') ++at;
    }
    return std::min(at, text_.size());
  }

  void enter_or_leave(char c) {
    if (c == '{' || c == '[') {
      levels_.push_back({.list = c == '['});
    } else if ((c == '}' || c == ']') && !levels_.empty()) {
      levels_.pop_back();
    } else if (c == ',' && !levels_.empty()) {
      ++levels_.back().item;
    }
    if (c == '{' || c == '}' || c == '[' || c == ']' || c == ',') {
      expects_key_ = c == '{' || (c == ',' && !levels_.empty() && !levels_.back().list);
    } else if (c == ':') {
      expects_key_ = false;
    }
  }

  [[nodiscard]] const FormerKey* find(std::string_view key) {
    levels_.back().key = key;
    const auto found =
        std::ranges::find_if(keys_, [&](const FormerKey& former) { return is_here(former.at); });
    return found == keys_.end() ? nullptr : &*found;
  }

  [[nodiscard]] static std::string name(const Level& level) {
    return level.list ? fmt::format("{}", level.item) : level.key;
  }

  [[nodiscard]] bool is_here(std::string_view pattern) const {
    for (const Level& level : levels_) {
      if (pattern.empty()) return false;
      pattern.remove_prefix(1);
      const std::string_view part = pattern.substr(0, pattern.find('/'));
      if (part == "*" ? !level.list : part != name(level)) return false;
      pattern.remove_prefix(part.size());
    }
    return pattern.empty();
  }

  [[nodiscard]] std::string pointer() const {
    std::string result;
    for (const Level& level : levels_) result += "/" + name(level);
    return result;
  }

  std::string_view text_;
  std::vector<FormerKey> keys_;
  std::vector<Level> levels_;
  bool expects_key_ = false;
};

}  // namespace

std::span<const FormerKey> former_keys() {
  static const std::vector<FormerKey> keys{
      {"spec", "/workload/groups", "replicas"},
      {"spec", "/workload/*/groups", "replicas"},
      {"spec", "/workload/chunks", "virtual_stages"},
      {"spec", "/workload/*/chunks", "virtual_stages"},
      {"training", "/groups", "replicas"},
      {"training", "/chunks", "virtual_stages"},
      {"training", "/rounds", "iterations"},
      {"training", "/verified_rounds", "verified_iterations"},
      {"partition", "/most_replicas", "max_replicas"},
      {"partition", "/most_down_sets", "max_down_sets"},
      {"recording", "/probes", "speed_checks"},
      {"baseline", "/workloads/*/variants/*/kernels_in_flight/most", "max"},
  };
  return keys;
}

std::string with_new_keys(std::string text,
                          std::string_view kind,
                          const std::string& file,
                          std::ostream* notes,
                          std::span<const FormerKey> keys) {
  std::vector<FormerKey> wanted;
  for (const FormerKey& key : keys) {
    const std::string_view old = key.at.substr(key.at.rfind('/') + 1);
    if (key.kind == kind && text.find(fmt::format("\"{}\"", old)) != std::string::npos) {
      wanted.push_back(key);
    }
  }
  if (wanted.empty()) return text;
  return KeyRenamer{text, std::move(wanted)}.run(
      [&](const std::string& pointer, std::string_view now) {
        if (notes == nullptr) return;
        *notes << fmt::format(
            "note: {}: {} is now called \"{}\"; the old name is read in this version only\n",
            printable(file),
            printable(pointer),
            now);
      });
}

}  // namespace schedlab
