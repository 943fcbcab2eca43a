// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// Where a reader of a graph file stands, kept in a few words, so that a JSON pointer is only
/// composed when something is wrong: /SECTION/ELEMENT/FIELD/INNER/INNER_FIELD. Keys must outlive
/// the place.
class JsonPlace {
 public:
  explicit JsonPlace(std::string file) : file_(std::move(file)) {}

  void leave() { depth_ = 0; }
  void enter(std::string_view section) { set_key(0, section); }
  void element(std::size_t index) { set_index(1, index); }
  void field(std::string_view key) { set_key(2, key); }
  void inner(std::size_t index) { set_index(3, index); }
  void inner_field(std::string_view key) { set_key(4, key); }

  [[nodiscard]] std::string pointer() const;

  // Each throws InputError at this place.
  [[noreturn]] void refuse(const std::string& found,
                           const std::string& expected,
                           const std::string& hint = {}) const;
  /// A value that is none of the allowed words.
  [[noreturn]] void refuse_name(std::string_view given,
                                const std::vector<std::string>& words) const;
  /// A key that the object may not have.
  [[noreturn]] void refuse_key(std::string_view given, const std::vector<std::string>& keys) const;
  /// A reference to something of kind `what` that does not exist: the file has `count` of it,
  /// `named` with a name. `names`: those to find the closest in.
  [[noreturn]] void refuse_name(std::string_view what,
                                std::string_view given,
                                const std::vector<std::string>& names,
                                std::size_t named,
                                std::int64_t count) const;

 private:
  struct Part {
    std::string_view key;
    std::size_t index = 0;
    bool is_index = false;
  };
  void set_key(std::size_t depth, std::string_view key) {
    parts_[depth].key = key;
    parts_[depth].is_index = false;
    depth_ = depth + 1;
  }
  void set_index(std::size_t depth, std::size_t index) {
    parts_[depth].index = index;
    parts_[depth].is_index = true;
    depth_ = depth + 1;
  }

  std::string file_;
  std::array<Part, 5> parts_;
  std::size_t depth_ = 0;
};

}  // namespace schedlab::detail
