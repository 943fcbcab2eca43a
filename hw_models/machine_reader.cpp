// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_reader.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array<std::pair<std::string_view, Origin>, 4> origins{
    {{"source", Origin::source},
     {"assumed", Origin::assumed},
     {"measured", Origin::measured},
     {"fitted", Origin::fitted}}};

std::string shown(const JsonLeaf& leaf) {
  struct Show {
    std::string operator()(std::monostate /*nothing*/) const { return "nothing"; }
    std::string operator()(const std::string& s) const { return fmt::format("\"{}\"", s); }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
  };
  return std::visit(Show{}, leaf.value);
}

std::string parent_of(const std::string& pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

std::string expected_number(const NumberRange& range) {
  const std::string kind = range.integer ? "a whole number" : "a number";
  return std::isinf(range.maximum)
             ? fmt::format("{} of at least {}", kind, range.minimum)
             : fmt::format("{} from {} to {}", kind, range.minimum, range.maximum);
}

}  // namespace

MachineReader::MachineReader(std::vector<JsonLeaf> leaves, std::string file)
    : leaves_(std::move(leaves)), file_(std::move(file)), used_(leaves_.size(), false) {
  for (std::size_t i = 0; i < leaves_.size(); ++i) index_.emplace(leaves_[i].pointer, i);
}

void MachineReader::note_known(const std::string& pointer) {
  for (std::string p = pointer; known_.insert(p).second && !p.empty();) p = parent_of(p);
}

const JsonLeaf* MachineReader::find(const std::string& pointer) {
  note_known(pointer);
  const auto found = index_.find(pointer);
  if (found == index_.end()) return nullptr;
  used_[found->second] = true;
  return &leaves_[found->second];
}

void MachineReader::reject(const std::string& pointer,
                           std::string found,
                           std::string expected,
                           std::string hint) const {
  throw InputError({.file = file_,
                    .pointer = pointer,
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

double MachineReader::checked(const JsonLeaf& leaf, const NumberRange& range) const {
  double value = NAN;
  if (const auto* integer = std::get_if<std::int64_t>(&leaf.value)) {
    value = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&leaf.value)) {
    value = *real;
  }
  const bool whole = !range.integer || value == std::floor(value);
  if (value >= range.minimum && value <= range.maximum && whole) return value;
  reject(leaf.pointer, shown(leaf), expected_number(range));
}

std::optional<double> MachineReader::number(const std::string& pointer, const NumberRange& range) {
  if (const JsonLeaf* bare = find(pointer)) {
    reject(
        pointer,
        fmt::format("{} without its source", shown(*bare)),
        R"({"value": NUMBER, "source": "..."} or, instead of the source, "assumed", "measured" or "fitted")",
        "every number of a machine says where it comes from");
  }
  if (children(pointer).empty()) return std::nullopt;
  const JsonLeaf* value = find(pointer + "/value");
  if (value == nullptr) reject(pointer, "no \"value\"", expected_number(range));
  const std::size_t first = sources_.size();
  sources_.push_back({.pointer = pointer, .value = checked(*value, range), .text = {}});
  if (const JsonLeaf* low = find(pointer + "/low")) sources_[first].low = checked(*low, range);
  if (const JsonLeaf* high = find(pointer + "/high")) sources_[first].high = checked(*high, range);
  origin_for(pointer, first);
  return sources_[first].value;
}

double MachineReader::bare_number(const std::string& pointer, const NumberRange& range) {
  const JsonLeaf* leaf = find(pointer);
  if (leaf == nullptr) reject(pointer, "nothing", expected_number(range));
  sources_.push_back({.pointer = pointer, .value = checked(*leaf, range), .text = {}});
  return sources_.back().value;
}

NumberSource MachineReader::number_with_interval(const std::string& pointer,
                                                 const NumberRange& range) {
  sources_.push_back({.pointer = pointer,
                      .value = plain_number(pointer + "/value", range),
                      .text = {},
                      .low = plain_number(pointer + "/low", range),
                      .high = plain_number(pointer + "/high", range)});
  return sources_.back();
}

double MachineReader::plain_number(const std::string& pointer, const NumberRange& range) {
  const JsonLeaf* leaf = find(pointer);
  if (leaf == nullptr) reject(pointer, "nothing", expected_number(range));
  return checked(*leaf, range);
}

void MachineReader::origin_for(const std::string& pointer, std::size_t first) {
  std::vector<std::string> given;
  for (const auto& [word, origin] : origins) {
    const std::optional<std::string> why = text(fmt::format("{}/{}", pointer, word));
    if (!why) continue;
    given.emplace_back(word);
    if (why->empty()) {
      reject(fmt::format("{}/{}", pointer, word), "an empty text", "where the number comes from");
    }
    for (std::size_t i = first; i < sources_.size(); ++i) {
      sources_[i].origin = origin;
      sources_[i].text = *why;
    }
  }
  if (given.size() == 1) return;
  reject(pointer,
         given.empty() ? "a number without its source"
                       : fmt::format("{} together", fmt::join(given, " and ")),
         R"(one of "source", "assumed", "measured" and "fitted")",
         "every number of a machine says where it comes from");
}

std::optional<std::string> MachineReader::text(const std::string& pointer) {
  const JsonLeaf* leaf = find(pointer);
  if (leaf == nullptr) return std::nullopt;
  const auto* value = std::get_if<std::string>(&leaf->value);
  if (value == nullptr) reject(pointer, shown(*leaf), "a text");
  return *value;
}

std::string MachineReader::required_text(const std::string& pointer, const std::string& meaning) {
  const std::optional<std::string> value = text(pointer);
  if (!value || value->empty()) reject(pointer, value ? "an empty text" : "nothing", meaning);
  return *value;
}

std::vector<std::string> MachineReader::children(const std::string& pointer) {
  note_known(pointer);
  const std::string prefix = pointer + "/";
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const std::string& leaf = leaves_[i].pointer;
    if (leaf == pointer) {
      used_[i] = std::holds_alternative<std::monostate>(leaves_[i].value);  // an empty list is fine
    }
    if (!leaf.starts_with(prefix)) continue;
    std::string key = leaf.substr(prefix.size(), leaf.find('/', prefix.size()) - prefix.size());
    if (keys.empty() || keys.back() != key) keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> MachineReader::known_keys(const std::string& parent) const {
  std::vector<std::string> keys;
  for (const std::string& pointer : known_) {
    if (!pointer.empty() && parent_of(pointer) == parent) keys.push_back(last_key(pointer));
  }
  return keys;
}

void MachineReader::refuse_the_rest() const {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (used_[i]) continue;
    const std::string& pointer = leaves_[i].pointer;
    std::size_t end = pointer.find('/', 1);
    while (end != std::string::npos && known_.contains(pointer.substr(0, end))) {
      end = pointer.find('/', end + 1);
    }
    const std::string culprit = pointer.substr(0, end);
    if (known_.contains(culprit) || culprit.empty()) {
      reject(culprit, shown(leaves_[i]), "an object");
    }
    const std::vector<std::string> keys = known_keys(parent_of(culprit));
    const std::string key = last_key(culprit);
    const std::string close = closest_spelling(key, keys);
    reject(culprit,
           fmt::format("the unknown key \"{}\"", key),
           fmt::format("one of {}", fmt::join(keys, ", ")),
           close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close));
  }
}

}  // namespace schedlab
