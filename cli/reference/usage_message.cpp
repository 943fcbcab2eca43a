// SPDX-License-Identifier: Apache-2.0
#include "cli/reference/usage_message.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace schedlab {
namespace {

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

std::string unknown(const std::string& what,
                    const std::string& word,
                    const std::vector<std::string>& known,
                    const std::string& help) {
  const std::string closest = closest_spelling(word, known);
  return fmt::format("error: found the {} \"{}\", expected one of {}\n  {}\n",
                     what,
                     word,
                     fmt::join(known, ", "),
                     closest.empty() ? help : fmt::format("did you mean \"{}\"?", closest));
}

/// "--out=x" -> "--out", "-j4" -> "-j"
std::string name_of(const std::string& flag) {
  return flag[1] == '-' ? flag.substr(0, flag.find('=')) : flag.substr(0, 2);
}

const ArgumentFacts* argument(const VerbFacts& verb, const std::string& name) {
  const auto found = std::ranges::find_if(verb.arguments, [&](const ArgumentFacts& each) {
    return std::ranges::find(each.names, name) != each.names.end();
  });
  return found == verb.arguments.end() ? nullptr : &*found;
}

/// The first flag that the verb does not have; empty if there is none.
std::string unknown_flag(const VerbFacts& verb, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;
    std::string name = name_of(words[i]);
    const ArgumentFacts* known = argument(verb, name);
    if (known == nullptr) return name;
    if (!known->value.empty() && name == words[i]) ++i;  // what follows is its value
  }
  return {};
}

std::vector<std::string> long_flags(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const ArgumentFacts& each : verb.arguments) {
    if (!each.positional) names.push_back(each.names.back());
  }
  return names;
}

/// A value that the parser has refused.
struct RefusedValue {
  std::string name;
  std::string found;
};

/// Reads the parser's words: "Could not convert: --jobs = x", "--width: Value 5 not in range 1 to
/// 2", "--timelines: x not in {a,b}". Empty if they are about something else.
RefusedValue refused_value(const std::string& reason) {
  static const std::string not_converted = "Could not convert: ";
  if (reason.starts_with(not_converted)) {
    const std::size_t equals = reason.find(" = ");
    if (equals == std::string::npos) return {};
    return {.name = reason.substr(not_converted.size(), equals - not_converted.size()),
            .found = reason.substr(equals + 3)};
  }
  const std::size_t colon = reason.find(": ");
  if (colon == std::string::npos) return {};
  std::size_t from = colon + 2;
  std::size_t to = reason.find(" not in {", from);
  if (to == std::string::npos) {
    static const std::string value = "Value ";
    to = reason.find(" not in range ", from);
    if (to == std::string::npos || reason.compare(from, value.size(), value) != 0) return {};
    from += value.size();
  }
  return {.name = reason.substr(0, colon), .found = reason.substr(from, to - from)};
}

/// "FLOAT in [1 - 9]" -> "a number from 1 to 9"
std::string expected_of(const ArgumentFacts& facts) {
  if (!facts.choices.empty()) return fmt::format("one of {}", fmt::join(facts.choices, ", "));
  if (facts.value.empty()) return "no value: it is a flag";
  const std::size_t open = facts.value.find(" in [");
  const std::string type = facts.value.substr(0, open);
  if (type != "INT" && type != "UINT" && type != "FLOAT") return facts.value;
  std::string text = type == "FLOAT" ? "a number" : "a whole number";
  const std::size_t dash = facts.value.find(" - ", open);
  if (open == std::string::npos || dash == std::string::npos || facts.value.back() != ']') {
    return type == "UINT" ? text + ", 0 or more" : text;
  }
  return text + fmt::format(" from {} to {}",
                            facts.value.substr(open + 5, dash - open - 5),
                            facts.value.substr(dash + 3, facts.value.size() - dash - 4));
}

/// Empty if the parser's words are not about a value.
std::string value_message(const VerbFacts& verb,
                          const std::string& reason,
                          const std::string& help) {
  const RefusedValue refused = refused_value(reason);
  const ArgumentFacts* facts = argument(verb, refused.name);
  if (facts == nullptr) return {};
  const std::string closest = closest_spelling(refused.found, facts->choices);
  return fmt::format("error: {}: found \"{}\", expected {}\n  {}\n",
                     refused.name,
                     refused.found,
                     expected_of(*facts),
                     closest.empty() ? help : fmt::format("did you mean \"{}\"?", closest));
}

}  // namespace

std::string usage_message(const std::vector<VerbFacts>& verbs,
                          const std::vector<std::string>& words,
                          const std::string& reason) {
  std::vector<std::string> names;
  names.reserve(verbs.size());
  for (const VerbFacts& verb : verbs) names.push_back(verb.name);
  const auto word = std::ranges::find_if_not(words, is_flag);
  if (word == words.end()) {
    return fmt::format(
        "error: found no verb, expected one of {}\n  schedlab --help says what each does\n",
        fmt::join(names, ", "));
  }
  const auto verb = std::ranges::find(verbs, *word, &VerbFacts::name);
  if (verb == verbs.end()) {
    return unknown("verb", *word, names, "schedlab --help says what each does");
  }
  const std::string help = fmt::format("schedlab {} --help has all arguments", verb->name);
  const std::string flag = unknown_flag(*verb, {std::next(word), words.end()});
  if (!flag.empty()) return unknown("flag", flag, long_flags(*verb), help);
  const std::string value = value_message(*verb, reason, help);
  if (!value.empty()) return value;
  return fmt::format("error: {}: {}\n  {}\n", verb->name, reason, help);
}

}  // namespace schedlab
