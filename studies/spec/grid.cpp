// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/grid.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace schedlab {
namespace {

constexpr std::uint64_t max_scenarios = 1'000'000'000'000;

std::uint32_t bit(Part part) {
  return 1U << static_cast<unsigned>(part);
}

/// The seed reaches workloads, policies and the draws of a machine that scatters.
std::uint32_t parts_touched(Part part) {
  return part == Part::seed
             ? bit(Part::seed) | bit(Part::workload) | bit(Part::policy) | bit(Part::variability)
             : bit(part);
}

/// Product that stops growing beyond the limit.
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return a > max_scenarios / std::max<std::uint64_t>(b, 1) ? max_scenarios + 1 : a * b;
}

std::optional<Part> part_from(const std::string& key) {
  for (std::size_t i = 0; i < part_count; ++i) {
    if (key == to_string(static_cast<Part>(i))) return static_cast<Part>(i);
  }
  return std::nullopt;
}

/// Of all lists at or below `node`; the columns of lists that advance together tell rows apart
/// together.
void expect_lists_told_apart(const JsonNode& node, const Spec& spec) {
  const bool zipped = std::any_of(spec.zip.begin(), spec.zip.end(), [&](const auto& group) {
    return std::find(group.begin(), group.end(), node.pointer) != group.end();
  });
  if (node.kind == JsonKind::array && !zipped) expect_told_apart(node, spec.file);
  for (const JsonNode& below : node.items) expect_lists_told_apart(below, spec);
}

std::string dotted(const std::string& path) {
  std::string name = path.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

Grid::Grid(const Spec& spec, const std::vector<std::string>& reserved) : file_(spec.file) {
  for (std::size_t i = 0; i < spec.root.keys.size(); ++i) {
    if (const auto part = part_from(spec.root.keys[i])) {
      expect_lists_told_apart(spec.root.items[i], spec);
      parts_[static_cast<std::size_t>(*part)] =
          compile(spec.root.items[i], "/" + spec.root.keys[i], *part, true);
    }
  }
  auto& machine = parts_[static_cast<std::size_t>(Part::machine)];
  if (machine && machine->node->kind == JsonKind::array) {
    machine->labels = machine_labels(*machine->node, spec.folder);
  }
  apply_zip(spec);
  number_scenarios();
  name_columns(reserved);
}

Grid::Choice Grid::compile(const JsonNode& node, const std::string& path, Part part, bool always) {
  Choice choice;
  choice.node = &node;
  if (node.kind == JsonKind::array) {
    compile_list(choice, path, part, always);
  } else if (node.kind == JsonKind::object) {
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string below = is_identity_key(node.keys[i]) ? path : path + "/" + node.keys[i];
      choice.children.push_back(compile(node.items[i], below, part, always));
      choice.count = times(choice.count, alternatives(choice.children.back()));
    }
  }
  return choice;
}

void Grid::compile_list(Choice& list, const std::string& path, Part part, bool always) {
  list.column = column_of(path, list.node->items.size());
  list.labels = axis_labels(*list.node);
  if (always) list.dimension = dimensions_.size();
  if (always) dimensions_.emplace_back();
  std::uint64_t total = 0;
  for (const JsonNode& item : list.node->items) {
    list.prefix.push_back(total);
    list.children.push_back(compile(item, path, part, false));
    total = std::min(total + list.children.back().count, max_scenarios + 1);
  }
  list.count = total;
  if (always) {
    Dimension& dimension = dimensions_[list.dimension];
    dimension.lists = {list.node};
    dimension.count = total;
    dimension.parts = parts_touched(part);
  }
}

std::size_t Grid::column_of(const std::string& path, std::size_t values) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].path != path) continue;
    columns_[i].values += values;
    return i;
  }
  columns_.push_back({.name = {}, .path = path, .values = values});
  return columns_.size() - 1;
}

std::size_t Grid::zipped_dimension(const Spec& spec, std::size_t group, std::size_t member) const {
  const std::string& pointer = spec.zip[group][member];
  std::vector<std::string> known;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    for (const JsonNode* list : dimensions_[i].lists) {
      if (list->pointer == pointer) return i;
      known.push_back(list->pointer);
    }
  }
  throw InputError({.file = file_,
                    .pointer = fmt::format("/zip/{}/{}", group, member),
                    .found = fmt::format("\"{}\"", pointer),
                    .expected = known.empty()
                                    ? "a list in this spec: it has none"
                                    : fmt::format("the pointer of a list in this spec: {}",
                                                  fmt::join(known, ", ")),
                    .hint = did_you_mean(pointer, known)});
}

void Grid::apply_zip(const Spec& spec) {
  std::vector<std::size_t> target(dimensions_.size());
  std::iota(target.begin(), target.end(), std::size_t{0});
  std::set<std::size_t> used;
  for (std::size_t group = 0; group < spec.zip.size(); ++group) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < spec.zip[group].size(); ++i) {
      members.push_back(zipped_dimension(spec, group, i));
      const Dimension& first = dimensions_[members.front()];
      const Dimension& here = dimensions_[members.back()];
      const std::string where = fmt::format("/zip/{}/{}", group, i);
      if (!used.insert(members.back()).second) {
        throw InputError({file_,
                          where,
                          fmt::format("\"{}\" again", spec.zip[group][i]),
                          "each list in one group only",
                          {}});
      }
      if (here.count != first.count) {
        throw InputError({file_,
                          where,
                          fmt::format("{} values", here.count),
                          fmt::format("{} as in {}", first.count, spec.zip[group].front()),
                          "lists that advance together are equally long"});
      }
    }
    const std::size_t keep = *std::min_element(members.begin(), members.end());
    for (const std::size_t member : members) {
      target[member] = keep;
      dimensions_[keep].parts |= dimensions_[member].parts;
    }
  }
  std::vector<Dimension> kept;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const bool stays = target[i] == i;
    target[i] = stays ? kept.size() : target[target[i]];
    if (stays) kept.push_back(std::move(dimensions_[i]));
  }
  dimensions_ = std::move(kept);
  for (auto& part : parts_) {
    if (part) renumber(*part, target);
  }
}

void Grid::renumber(Choice& choice, const std::vector<std::size_t>& target) {
  if (choice.dimension != none) choice.dimension = target[choice.dimension];
  for (Choice& child : choice.children) renumber(child, target);
}

void Grid::number_scenarios() {
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    dimensions_[i].stride = size_;
    size_ = times(size_, dimensions_[i].count);
  }
  if (size_ > max_scenarios) {
    throw InputError({.file = file_,
                      .pointer = "/",
                      .found = "a grid of more than 10^12 scenarios",
                      .expected = "fewer axes, shorter lists, or zipped ones",
                      .hint = {}});
  }
  const auto rank = [&](std::size_t i) {
    if ((dimensions_[i].parts & bit(Part::workload)) != 0) return 0;
    return (dimensions_[i].parts &
            (bit(Part::machine) | bit(Part::cost_model) | bit(Part::ranks))) != 0
               ? 1
               : 2;
  };
  order_.resize(dimensions_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return rank(a) < rank(b);
  });
  std::uint64_t stride = 1;
  for (std::size_t i = order_.size(); i-- > 0;) {
    Dimension& dimension = dimensions_[order_[i]];
    dimension.position_stride = stride;
    stride *= dimension.count;
  }
}

void Grid::name_columns(const std::vector<std::string>& reserved) {
  const auto tail = [](const AxisColumn& column) {
    return column.path.substr(column.path.rfind('/') + 1);
  };
  for (AxisColumn& column : columns_) {
    const std::string word = tail(column);
    const auto same = std::count_if(columns_.begin(), columns_.end(), [&](const AxisColumn& other) {
      return tail(other) == word;
    });
    const bool taken = std::find(reserved.begin(), reserved.end(), word) != reserved.end();
    column.name = same > 1 || taken ? dotted(column.path) : word;
  }
}

std::uint64_t Grid::scenario_at(std::uint64_t position) const {
  std::uint64_t scenario = 0;
  for (const Dimension& dimension : dimensions_) {
    scenario += position / dimension.position_stride % dimension.count * dimension.stride;
  }
  return scenario;
}

std::vector<Grid::Digit> Grid::digits() const {
  std::vector<Digit> digits;
  for (const Dimension& dimension : dimensions_) {
    Digit& digit = digits.emplace_back();
    for (const JsonNode* list : dimension.lists) digit.pointers.push_back(list->pointer);
    digit.count = dimension.count;
    digit.stride = dimension.stride;
    digit.of_policy = dimension.parts == bit(Part::policy);
  }
  return digits;
}

std::uint64_t Grid::part_count(Part part) const {
  std::uint64_t count = 1;
  for (const Dimension& dimension : dimensions_) {
    if ((dimension.parts & bit(part)) != 0) count *= dimension.count;
  }
  return count;
}

std::uint64_t Grid::part_index(std::uint64_t scenario, Part part) const {
  std::uint64_t index = 0;
  for (const Dimension& dimension : dimensions_) {
    if ((dimension.parts & bit(part)) == 0) continue;
    index = index * dimension.count + digit(scenario, dimension);
  }
  return index;
}

Grid::Digits Grid::part_digits(Part part, std::uint64_t index) const {
  Digits digits(dimensions_.size(), 0);
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    if ((dimensions_[i].parts & bit(part)) == 0) continue;
    digits[i] = index % dimensions_[i].count;
    index /= dimensions_[i].count;
  }
  return digits;
}

std::uint64_t Grid::own_count(Part part) const {
  std::uint64_t count = 1;
  for (const Dimension& dimension : dimensions_) {
    if (dimension.parts == bit(part)) count *= dimension.count;
  }
  return count;
}

std::uint64_t Grid::with_part(std::uint64_t scenario, Part part, std::uint64_t wanted) const {
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    const Dimension& dimension = dimensions_[i];
    if (dimension.parts != bit(part)) continue;
    scenario -= digit(scenario, dimension) * dimension.stride;
    scenario += wanted % dimension.count * dimension.stride;
    wanted /= dimension.count;
  }
  return scenario;
}

std::optional<JsonNode> Grid::part_value(Part part, std::uint64_t index) const {
  const auto& choice = parts_[static_cast<std::size_t>(part)];
  if (!choice) return std::nullopt;
  return concrete(*choice, part_digits(part, index), 0);
}

std::optional<std::int64_t> Grid::part_seed(Part part, std::uint64_t index) const {
  const auto& seed = parts_[static_cast<std::size_t>(Part::seed)];
  if (!seed) return std::nullopt;
  return std::get<std::int64_t>(concrete(*seed, part_digits(part, index), 0).scalar);
}

std::string Grid::part_label(Part part, std::uint64_t index) const {
  const auto& choice = parts_[static_cast<std::size_t>(part)];
  if (!choice) return {};
  // The label of an element depends on its list (is its name unique there?): ask for the cell
  // first.
  std::vector<Cell> cells(columns_.size());
  const Digits digits = part_digits(part, index);
  write_labels(*choice, digits, 0, cells);
  const std::string path = "/" + std::string{to_string(part)};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].path == path && cells[i].index() != 0) return schedlab::to_string(cells[i]);
  }
  return component_label(concrete(*choice, digits, 0));
}

JsonNode Grid::concrete(const Choice& choice, const Digits& digits, std::uint64_t index) const {
  const JsonNode& node = *choice.node;
  if (node.kind == JsonKind::array) {
    if (choice.dimension != none) index = digits[choice.dimension];
    const auto after = std::upper_bound(choice.prefix.begin(), choice.prefix.end(), index);
    const auto element = static_cast<std::size_t>(after - choice.prefix.begin()) - 1;
    return concrete(choice.children[element], digits, index - choice.prefix[element]);
  }
  if (node.kind != JsonKind::object) return node;
  JsonNode copy{
      .kind = node.kind, .scalar = {}, .keys = node.keys, .items = {}, .pointer = node.pointer};
  copy.items.resize(node.items.size());
  for (std::size_t i = node.items.size(); i-- > 0;) {  // the last member varies fastest
    const std::uint64_t count = alternatives(choice.children[i]);
    copy.items[i] = concrete(choice.children[i], digits, index % count);
    index /= count;
  }
  return copy;
}

void Grid::write_labels(const Choice& choice,
                        const Digits& digits,
                        std::uint64_t index,
                        std::vector<Cell>& cells) const {
  if (choice.node->kind == JsonKind::array) {
    if (choice.dimension != none) index = digits[choice.dimension];
    const auto after = std::upper_bound(choice.prefix.begin(), choice.prefix.end(), index);
    const auto element = static_cast<std::size_t>(after - choice.prefix.begin()) - 1;
    cells[choice.column] = choice.labels[element];
    write_labels(choice.children[element], digits, index - choice.prefix[element], cells);
    return;
  }
  for (std::size_t i = choice.children.size(); i-- > 0;) {
    const std::uint64_t count = alternatives(choice.children[i]);
    write_labels(choice.children[i], digits, index % count, cells);
    index /= count;
  }
}

std::vector<Cell> Grid::axis_values(std::uint64_t scenario) const {
  Digits digits(dimensions_.size());
  for (std::size_t i = 0; i < dimensions_.size(); ++i) digits[i] = digit(scenario, dimensions_[i]);
  std::vector<Cell> cells(columns_.size());
  for (const auto& part : parts_) {
    if (part) write_labels(*part, digits, 0, cells);
  }
  return cells;
}

std::string Grid::describe(std::uint64_t scenario) const {
  const std::vector<Cell> cells = axis_values(scenario);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].index() == 0) continue;
    words.push_back(fmt::format("{}={}", columns_[i].name, schedlab::to_string(cells[i])));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace schedlab
