// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/spec/spec.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One axis as a column of results.
struct AxisColumn {
  std::string
      name;  ///< shortest tail of the path that is unambiguous: "layers", "policy.max_streams"
  std::string path;        ///< pointer without list indices: "/policy/max_streams"
  std::size_t values = 0;  ///< how many alternatives the lists of this path have in all
};

/// The scenarios of a spec, numbered from 0 in the order of the file: the first axis varies
/// slowest.
///
/// A list is an axis; a list inside an element of a list belongs to that element only, so
/// ["a", {"name": "b", "k": [1, 2]}] has three alternatives. Nothing is expanded in advance: each
/// scenario is worked out from its number, whatever the size of the grid.
class Grid {
 public:
  /// `reserved`: column names that axes must not take. `spec` must outlive the grid.
  /// Throws InputError for wrong zip groups and for more than 10^12 scenarios.
  explicit Grid(const Spec& spec, const std::vector<std::string>& reserved = {});

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::vector<AxisColumn>& axes() const { return columns_; }
  /// One cell per axis; missing where the axis does not apply.
  [[nodiscard]] std::vector<Cell> axis_values(std::uint64_t scenario) const;
  /// "layers=2, policy=heft", for messages.
  [[nodiscard]] std::string describe(std::uint64_t scenario) const;

  /// Lists that advance together: one digit of the scenario number, number / stride % count.
  struct Digit {
    std::vector<std::string> pointers;  ///< of the lists
    std::uint64_t count = 1;
    std::uint64_t stride = 1;
    bool of_policy = false;  ///< belongs to the policy alone
  };
  /// Those of lists that are there in every scenario, slowest first: together they are the number.
  [[nodiscard]] std::vector<Digit> digits() const;

  // Parts repeat over the grid: many scenarios share a workload. Each part is numbered by itself.
  [[nodiscard]] std::uint64_t part_count(Part part) const;
  [[nodiscard]] std::uint64_t part_index(std::uint64_t scenario, Part part) const;
  /// The part without lists; nullopt when the spec leaves it out.
  [[nodiscard]] std::optional<JsonNode> part_value(Part part, std::uint64_t index) const;
  /// The seed that goes with this alternative of a workload or policy; nullopt: none given.
  [[nodiscard]] std::optional<std::int64_t> part_seed(Part part, std::uint64_t index) const;
  /// A name for the alternative, as in the results.
  [[nodiscard]] std::string part_label(Part part, std::uint64_t index) const;

  /// The order of work: scenarios with equal workloads follow each other, then those with equal
  /// machines, so that graphs and costs are made once. A permutation of the scenarios.
  [[nodiscard]] std::uint64_t scenario_at(std::uint64_t position) const;

  /// The scenario that differs from this one only in axes that belong to `part` alone, where it has
  /// the alternative `wanted` of them (see own_count()).
  [[nodiscard]] std::uint64_t with_part(std::uint64_t scenario,
                                        Part part,
                                        std::uint64_t wanted) const;
  /// Number of combinations of the axes that belong to `part` alone.
  [[nodiscard]] std::uint64_t own_count(Part part) const;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// A value with the lists below it.
  struct Choice {
    const JsonNode* node = nullptr;
    std::uint64_t count = 1;            // alternatives
    std::vector<Choice> children;       // members or elements
    std::vector<std::uint64_t> prefix;  // of a list: alternatives before each element
    std::vector<Cell> labels;           // of a list: one per element
    std::size_t column = none;          // of a list
    std::size_t dimension = none;       // of a list that is there in every scenario
  };
  /// Lists that advance together: one digit of the scenario number.
  struct Dimension {
    std::vector<const JsonNode*> lists;
    std::uint64_t count = 1;
    std::uint64_t stride = 1;           // in scenario numbers
    std::uint64_t position_stride = 1;  // in the order of work
    std::uint32_t parts = 0;            // bit set of the parts it belongs to
  };
  using Digits = std::vector<std::uint64_t>;  // one per dimension

  [[nodiscard]] Choice compile(const JsonNode& node,
                               const std::string& path,
                               Part part,
                               bool always);
  void compile_list(Choice& list, const std::string& path, Part part, bool always);
  [[nodiscard]] std::size_t column_of(const std::string& path, std::size_t values);
  void apply_zip(const Spec& spec);
  [[nodiscard]] std::size_t zipped_dimension(const Spec& spec,
                                             std::size_t group,
                                             std::size_t member) const;
  void renumber(Choice& choice, const std::vector<std::size_t>& target);
  void number_scenarios();
  void name_columns(const std::vector<std::string>& reserved);

  [[nodiscard]] static std::uint64_t alternatives(const Choice& choice) {
    return choice.dimension == none ? choice.count : 1;
  }
  [[nodiscard]] static std::uint64_t digit(std::uint64_t number, const Dimension& dimension) {
    return number / dimension.stride % dimension.count;
  }
  [[nodiscard]] Digits part_digits(Part part, std::uint64_t index) const;
  // `index` numbers the alternatives of the lists below `choice` that have no dimension.
  [[nodiscard]] JsonNode concrete(const Choice& choice,
                                  const Digits& digits,
                                  std::uint64_t index) const;
  void write_labels(const Choice& choice,
                    const Digits& digits,
                    std::uint64_t index,
                    std::vector<Cell>& cells) const;

  std::string file_;
  std::array<std::optional<Choice>, schedlab::part_count> parts_;
  std::vector<Dimension> dimensions_;
  std::vector<std::size_t> order_;  // dimensions by the order of work, slowest first
  std::vector<AxisColumn> columns_;
  std::uint64_t size_ = 1;
};

}  // namespace schedlab
