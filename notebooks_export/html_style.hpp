// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/text_buffer.hpp"

#include <string_view>

namespace schedlab {

/// <tag class="css_class">text</tag>, the text escaped; no class if it is empty.
inline void html_element(TextBuffer& out,
                         std::string_view tag,
                         std::string_view text,
                         std::string_view css_class = {}) {
  out << '<' << tag;
  if (!css_class.empty()) out << " class=\"" << css_class << '"';
  out << '>';
  out.xml(text) << "</" << tag << '>';
}

/// The same, and the end of the line.
inline void html_line(TextBuffer& out,
                      std::string_view tag,
                      std::string_view text,
                      std::string_view css_class = {}) {
  html_element(out, tag, text, css_class);
  out << '\n';
}

/// The look of every report: it needs nothing from outside the file.
inline constexpr std::string_view html_style = R"(
body { font-family: "DejaVu Sans", Verdana, Arial, sans-serif; font-size: 14px; line-height: 1.45;
       color: #222; background: #fff; max-width: 1160px; margin: 2em auto; padding: 0 1.5em; }
h1 { font-size: 1.7em; margin-bottom: 0.2em; }
h2 { font-size: 1.2em; margin-top: 2.2em; border-bottom: 1px solid #ccc; padding-bottom: 0.2em; }
.lead { color: #555; margin-top: 0; }
table { border-collapse: collapse; margin: 0.8em 0; }
th, td { padding: 0.28em 0.7em; border-bottom: 1px solid #e2e2e2; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #888; font-weight: bold; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.all td, .all th { font-size: 12px; padding: 0.15em 0.5em; }
.scroll { overflow-x: auto; }
.warning { border-left: 4px solid #D55E00; background: #fdf3ec; padding: 0.5em 1em; margin: 0.5em 0; }
figure { margin: 1.2em 0; }
svg { max-width: 100%; height: auto; }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; font-size: 12px; }
.note { color: #666; font-size: 12px; }
@media print { body { margin: 0; max-width: none; } figure, tr { page-break-inside: avoid; }
               .scroll { overflow: visible; } }
)";

/// A page up to the begin of its body.
inline void begin_html_page(TextBuffer& out, std::string_view title) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>";
  out.xml(title) << "</title>\n<style>" << html_style << "</style>\n</head>\n<body>\n";
}

inline void end_html_page(TextBuffer& out) {
  out << "</body>\n</html>\n";
}

inline void html_figure(TextBuffer& out, std::string_view svg) {
  out << "<figure>\n" << svg << "</figure>\n";
}

}  // namespace schedlab
