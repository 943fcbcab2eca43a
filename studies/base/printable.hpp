// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/axis.hpp"  // counted()

#include <streambuf>
#include <string>
#include <string_view>

namespace schedlab {

/// Text out of a user's file as it may go to a screen: control characters other than ends of lines
/// and tabs and bytes that are not UTF-8 become \xNN, and what changes the direction of text
/// \uNNNN, so that a name cannot move the cursor, hide a line or reverse it. JSON stays JSON.
[[nodiscard]] std::string printable(std::string_view text);

/// Passes on what is written, line by line, as printable() shows it.
class PrintableBuffer final : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf& target) : target_(target) {}

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  [[nodiscard]] bool flush_line(std::size_t size);

  std::streambuf& target_;
  std::string pending_;
};

}  // namespace schedlab
