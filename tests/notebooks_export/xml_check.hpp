// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::testing {

/// Why `text` is not well-formed XML, empty if it is: tags balanced, attributes quoted, `<` and `&`
/// only where they belong. Knows the subset that SVG needs; written apart from what writes it.
[[nodiscard]] inline std::string xml_problem(std::string_view text) {
  const auto entity_ends = [&text](std::size_t i) {
    const std::size_t end = text.find(';', i);
    if (end == std::string_view::npos) return false;
    const std::string_view name = text.substr(i + 1, end - i - 1);
    return name == "amp" || name == "lt" || name == "gt" || name == "quot" || name == "#39";
  };
  std::vector<std::string> open;
  int roots = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '&' && !entity_ends(i)) return "bare & at " + std::to_string(i);
    if (text[i] != '<') {
      if (open.empty() && text[i] != '\n') return "text outside of the root";
      ++i;
      continue;
    }
    const bool closing = text.substr(i, 2) == "</";
    std::size_t at = i + (closing ? 2 : 1);
    std::string name;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0)) {
      name += text[at++];
    }
    if (name.empty()) return "bare < at " + std::to_string(i);
    bool empty_element = false;
    while (at < text.size() && text[at] != '>') {
      if (text[at] == '<') return "< inside the tag " + name;
      if (text[at] == '"') {
        const std::size_t end = text.find('"', at + 1);
        if (end == std::string_view::npos) return "open quote in " + name;
        for (std::size_t j = at; j < end; ++j) {
          if (text[j] == '<' || (text[j] == '&' && !entity_ends(j)))
            return "bad attribute in " + name;
        }
        at = end;
      }
      empty_element = text[at] == '/';
      ++at;
    }
    if (at == text.size()) return "open tag " + name;
    i = at + 1;
    if (closing) {
      if (open.empty() || open.back() != name) return "unexpected </" + name + ">";
      open.pop_back();
    } else if (!empty_element) {
      if (open.empty() && ++roots > 1) return "two roots";
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "unclosed " + open.back();
}

/// How often `part` occurs in `text`.
[[nodiscard]] inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace schedlab::testing
