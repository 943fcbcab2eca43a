// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation_page.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/html_style.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {

std::string percent(double share, int decimals) {
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

std::string readable_us(double us) {
  return readable(from_us(us));
}

void ValidationHtml::begin(const std::string& title) {
  begin_html_page(out_, title);
}

void ValidationHtml::element(std::string_view tag,
                             std::string_view text,
                             std::string_view css_class) {
  html_line(out_, tag, text, css_class);
}

void ValidationHtml::figure(const std::string& svg) {
  html_figure(out_, svg);
}

void ValidationHtml::head(const std::vector<std::string>& names) {
  out_ << "<div class=\"scroll\"><table class=\"all\">\n<tr>";
  for (const std::string& name : names) element("th", name);
  out_ << "</tr>\n";
}

void ValidationHtml::row(const std::vector<std::string>& cells, std::size_t words) {
  out_ << "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) element("td", cells[i], i < words ? "" : "n");
  out_ << "</tr>\n";
}

void ValidationHtml::end() {
  out_ << "</table></div>\n";
}

std::string ValidationHtml::take() {
  end_html_page(out_);
  return std::move(out_).take();
}

}  // namespace schedlab
