// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/code_names.hpp"

#include <fmt/format.h>

#include <cctype>

namespace schedlab {
namespace {

/// What C++ keeps for itself, and macros of headers that emitted programs include.
bool is_reserved(const std::string& word) {
  static const std::unordered_set<std::string> words{
      "alignas",   "alignof", "and",      "and_eq",   "asm",       "auto",    "bitand",
      "bitor",     "bool",    "break",    "case",     "catch",     "char",    "class",
      "compl",     "concept", "const",    "continue", "decltype",  "default", "delete",
      "do",        "double",  "else",     "enum",     "explicit",  "export",  "extern",
      "false",     "float",   "for",      "friend",   "goto",      "if",      "inline",
      "int",       "long",    "main",     "mutable",  "namespace", "new",     "noexcept",
      "not",       "not_eq",  "nullptr",  "operator", "or",        "or_eq",   "private",
      "protected", "public",  "register", "requires", "return",    "short",   "signed",
      "sizeof",    "static",  "struct",   "switch",   "template",  "this",    "throw",
      "true",      "try",     "typedef",  "typeid",   "typename",  "union",   "unsigned",
      "using",     "virtual", "void",     "volatile", "wchar_t",   "while",   "xor",
      "xor_eq",    "assert",  "errno",    "linux",    "unix",      "stdin",   "stdout",
      "stderr",    "CHECK",   "NULL",     "EOF"};
  return words.count(word) > 0;
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 &&
         static_cast<unsigned char>(letter) < 0x80;
}

}  // namespace

std::string CodeNames::add(std::string_view name) {
  std::string word;
  for (const char letter : name) {
    if (is_word(letter)) {
      word += letter;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  constexpr std::size_t longest = 60;
  if (word.size() > longest) word.resize(longest);
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
    word.insert(0, "task_");
  }
  std::string unique = word;
  std::size_t& number = numbers_[word];
  while (is_reserved(unique) || !used_.insert(unique).second) {
    unique = fmt::format("{}_{}", word, ++number + 1);
  }
  return unique;
}

std::string text_literal(std::string_view text) {
  std::string made = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      made += '\\';
      made += letter;
    } else if (code < 0x20 || code >= 0x7F || letter == '?') {
      made += fmt::format("\\{:03o}", code);  // also no trigraphs
    } else {
      made += letter;
    }
  }
  return made + "\"";
}

std::string comment(std::string_view text) {
  std::string made{text};
  for (char& letter : made) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == '\\' || letter == '?') letter = ' ';
  }
  return made;
}

}  // namespace schedlab
