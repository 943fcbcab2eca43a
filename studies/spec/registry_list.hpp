// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// One thing that a spec or a flag may name.
struct ListedEntry {
  std::string name;
  std::string summary;
  std::string source{};
  std::vector<OptionSpec> options{};
  bool show_defaults = true;
};

struct ListedSection {
  std::string title;
  std::vector<ListedEntry> entries;
};

/// What the registries hold, in the order that lists have: workloads, presets, machines, cost
/// models, policies, `systems` (published ones, which studies reproduce), variability, hosts,
/// launch modes, layers and nodes.
[[nodiscard]] std::vector<ListedSection> registry_sections(std::vector<ListedEntry> systems);
/// An entry with its options, in indented lines.
[[nodiscard]] std::string entry_text(const ListedEntry& entry);
/// All entries as one JSON object, section by section.
[[nodiscard]] std::string sections_json(const std::vector<ListedSection>& sections);

/// Does the name mean a machine, one that ships or a file?
[[nodiscard]] bool is_machine(const std::string& name);
/// Every number of one machine with where it comes from, as text or JSON. Throws InputError.
[[nodiscard]] std::string machine_listing(const std::string& name, bool as_json);
/// The file of a machine, to copy and change. Throws InputError.
[[nodiscard]] std::string machine_file_text(const std::string& name);
/// The machines that ship.
[[nodiscard]] std::vector<std::string> listed_machines();

}  // namespace schedlab
