// SPDX-License-Identifier: Apache-2.0
#include "cli/reference/command_facts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// "TEXT:{a,b}" -> its words; "UINT:INT in [1 - 9]" -> the narrower type.
void read_type(const std::string& type, ArgumentFacts& facts) {
  const std::size_t open = type.find('{');
  if (open != std::string::npos && type.back() == '}') {
    facts.choices = split(type.substr(open + 1, type.size() - open - 2), ',');
    facts.value = "WORD";
    return;
  }
  const std::size_t colon = type.find(':');
  facts.value = colon == std::string::npos ? type : type.substr(colon + 1);
}

/// Flags that set false are named "--no-pin{false}".
std::string without_value(const std::string& name) {
  return name.substr(0, name.find('{'));
}

ArgumentFacts facts_of(const CLI::Option& option) {
  ArgumentFacts facts;
  facts.positional = option.get_positional() && !option.nonpositional();
  for (const std::string& name : split(option.get_name(facts.positional, true), ',')) {
    facts.names.push_back(without_value(name));
  }
  if (option.get_type_size() != 0) read_type(option.get_type_name(), facts);
  facts.standard = option.get_default_str();
  facts.meaning = option.get_description();
  facts.required = option.get_required();
  return facts;
}

void read_footer(const std::string& footer, VerbFacts& verb) {
  static const std::string mark = "Examples:\n";
  const std::size_t at = footer.find(mark);
  verb.details = footer.substr(0, at);
  while (!verb.details.empty() && verb.details.back() == '\n') verb.details.pop_back();
  if (at == std::string::npos) return;
  for (const std::string& line : split(footer.substr(at + mark.size()), '\n')) {
    verb.examples.push_back(line.substr(line.find_first_not_of(' ')));
  }
}

}  // namespace

std::vector<VerbFacts> verb_facts(const CLI::App& program) {
  std::vector<VerbFacts> verbs;
  for (const CLI::App* app : program.get_subcommands([](const CLI::App*) { return true; })) {
    VerbFacts verb;
    verb.name = app->get_name();
    verb.summary = app->get_description();
    read_footer(app->get_footer(), verb);
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_group().empty()) verb.arguments.push_back(facts_of(*option));
    }
    verbs.push_back(std::move(verb));
  }
  return verbs;
}

std::string synopsis(const VerbFacts& verb) {
  std::string text = "schedlab " + verb.name;
  bool more = false;
  for (const ArgumentFacts& each : verb.arguments) {
    if (each.positional) {
      const std::string& name = each.names.front();
      text += " " + (each.required ? name : fmt::format("[{}]", name));
    } else if (each.required) {
      text += fmt::format(" {} {}", each.names.back(), each.value);
    } else {
      more = true;
    }
  }
  return text + (more ? " [flags]" : "");
}

}  // namespace schedlab
