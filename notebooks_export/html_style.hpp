// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/embedded_texts.hpp"
#include "sim/trace/text_buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
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
.out, tr.more, [hidden] { display: none; }
.controls, .series { display: flex; flex-wrap: wrap; gap: 0.3em 0.8em; align-items: center; font-size: 12px; }
.controls { margin: 0.6em 0; }
.controls.out { display: none; }
.controls input { min-width: 18em; }
.controls button, .controls input, .controls select { font: inherit; }
button.sort { all: unset; cursor: pointer; }
button.sort:focus-visible, [role=button]:focus-visible { outline: 2px solid #0072B2; }
th[aria-sort=ascending] button.sort::after { content: " \25B2"; }
th[aria-sort=descending] button.sort::after { content: " \25BC"; }
[role=button] { cursor: pointer; }
[aria-pressed=false] { opacity: 0.35; }
@media screen and (max-width: 760px) { figure { overflow-x: auto; } figure > svg { max-width: none; width: 760px; } }
.mark { display: inline-block; width: 11px; height: 11px; margin-right: 4px; vertical-align: -1px; }
.count { color: #666; }
.explore canvas { width: 100%; }
.hint { position: fixed; z-index: 9; background: #222; color: #fff; font-size: 12px; padding: 3px 7px;
        border-radius: 3px; pointer-events: none; white-space: pre-line; max-width: 40em; }
@media print { body { margin: 0; max-width: none; } figure, tr { page-break-inside: avoid; }
               .scroll { overflow: visible; } .controls, .hint { display: none; }
               tr.more { display: table-row; } }
)";

/// A page up to the begin of its body. Browsers load nothing that it does not hold itself.
inline void begin_html_page(TextBuffer& out,
                            std::string_view title,
                            std::string_view style = html_style) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>";
  out.xml(title) << "</title>\n<style>" << style << "</style>\n</head>\n<body>\n";
}

/// The end of a page, with some of the embedded scripts.
inline void end_html_page(TextBuffer& out, std::initializer_list<std::string_view> scripts) {
  out << "<script>\n";
  for (const std::string_view script : scripts) out << embedded_text(script);
  out << "</script>\n</body>\n</html>\n";
}

/// JSON for a script, in an element with these attributes. A `<` of a text is written as an escape,
/// so that no name ends the element.
inline void html_json(TextBuffer& out, std::string_view attributes, std::string_view json) {
  out << "<script type=\"application/json\"" << attributes << '>';
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t next = std::min(json.find('<', at), json.size());
    out << json.substr(at, next - at);
    if (next < json.size()) out << "\\u003c";
    at = next + 1;
  }
  out << "</script>\n";
}

inline void html_figure(TextBuffer& out, std::string_view svg) {
  out << "<figure>\n" << svg << "</figure>\n";
}

}  // namespace schedlab
