// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/json_leaves.hpp"
#include "hw_models/machine_spec.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The limits of a number in a machine file.
struct NumberRange {
  double minimum = 0;
  double maximum = 0;
  bool integer = false;
};

/// Reads the leaves of a machine file by pointer and remembers what was asked for, so that whatever
/// is left over can be refused together with the closest key that would have been read.
class MachineReader {
 public:
  MachineReader(std::vector<JsonLeaf> leaves, std::string file);

  /// {"value": number, "source" | "assumed" | "measured" | "fitted": text}, optionally with "low"
  /// and "high"; none if the file has no such key.
  [[nodiscard]] std::optional<double> number(const std::string& pointer, const NumberRange& range);
  /// A bare number inside an object that carries the origin of all its numbers.
  [[nodiscard]] double bare_number(const std::string& pointer, const NumberRange& range);
  /// {"value", "low", "high"} inside an object that carries the origin of all its numbers.
  [[nodiscard]] NumberSource number_with_interval(const std::string& pointer,
                                                  const NumberRange& range);
  /// A number inside a section whose numbers all have one origin; not among sources().
  [[nodiscard]] double plain_number(const std::string& pointer, const NumberRange& range);
  /// Reads the origin in the object at `pointer` for the numbers noted since `first`.
  void origin_for(const std::string& pointer, std::size_t first);
  [[nodiscard]] std::optional<std::string> text(const std::string& pointer);
  [[nodiscard]] std::string required_text(const std::string& pointer, const std::string& meaning);
  /// Keys of the object (or indices of the array) at `pointer`, in the order of the file.
  [[nodiscard]] std::vector<std::string> children(const std::string& pointer);

  /// Throws for the first key that was not read.
  void refuse_the_rest() const;
  [[noreturn]] void reject(const std::string& pointer,
                           std::string found,
                           std::string expected,
                           std::string hint = {}) const;
  /// Every number read so far, with its origin.
  [[nodiscard]] std::vector<NumberSource>& sources() { return sources_; }

 private:
  void note_known(const std::string& pointer);
  [[nodiscard]] const JsonLeaf* find(const std::string& pointer);
  [[nodiscard]] double checked(const JsonLeaf& leaf, const NumberRange& range) const;
  [[nodiscard]] std::vector<std::string> known_keys(const std::string& parent) const;

  std::vector<JsonLeaf> leaves_;
  std::string file_;
  std::map<std::string, std::size_t, std::less<>> index_;  // pointer -> leaf
  std::set<std::string> known_;                            // pointers asked for, and their parents
  std::vector<bool> used_;
  std::vector<NumberSource> sources_;
};

}  // namespace schedlab
