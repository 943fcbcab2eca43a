// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/text_buffer.hpp"
#include "studies/validation/validation_files.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Paragraphs, figures and tables of the report of a validation.
class ValidationHtml {
 public:
  static constexpr std::size_t most_table_rows = 500;

  void begin(const std::string& title);
  void element(std::string_view tag, std::string_view text, std::string_view css_class = {});
  void figure(const std::string& svg);
  /// A table begins with the names of its columns.
  void head(const std::vector<std::string>& names);
  /// The first `words` cells are words, the others numbers.
  void row(const std::vector<std::string>& cells, std::size_t words);
  void end();
  /// The page, complete.
  [[nodiscard]] std::string take();

 private:
  TextBuffer out_;
};

/// "4.8 %"
[[nodiscard]] std::string percent(double share, int decimals = 1);
/// "-4.8 %"
[[nodiscard]] std::string signed_percent(double share);
/// "1.23 ms"
[[nodiscard]] std::string readable_us(double us);

/// Is the order of the policies right, by how much do they win, and how sure is that?
void write_order_sections(const ValidationReport& report, ValidationHtml& page);

}  // namespace schedlab
