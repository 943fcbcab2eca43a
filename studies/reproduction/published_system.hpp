// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/sweep/table.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace schedlab {

/// Rows of a grid: those whose axes have one of the values given.
struct RunSelector {
  std::map<std::string, std::vector<Cell>> axes;
};

/// A sum of products of columns and numbers: 2L + 1 is {{2, "layers"}, {1}}.
using AxisFormula = std::vector<std::vector<std::variant<double, std::string>>>;

/// What is worked out of the runs of a grid, one sample for each combination of what is open.
struct Measure {
  enum class Kind : std::uint8_t {
    value,  ///< metric of one run (divided by `per`)
    ratio,  ///< value of a run of runs[0] over that of runs[1], all other axes equal
    trend,  ///< value or ratio at the largest value of the axis `along` over that at the smallest
    order,  ///< runs from slow to fast: the smallest of slower / faster over neighbours
  };
  Kind kind = Kind::value;
  std::string metric = "makespan_us";
  std::vector<RunSelector> runs;
  std::string along;
  AxisFormula per;
};

/// What a row's simulated value rests on. A row has the last of those that apply.
enum class Evidence : std::uint8_t {
  predicted,           ///< nothing published of this system went into any model
  measured,            ///< run for real, not simulated: on what, when and where
  derived,             ///< predicted; the published side is worked out from printed numbers
  predicted_from_fit,  ///< other numbers of the publication were fitted
  reading_chosen,      ///< a reading of the publication, chosen after its number was known
  fitted,              ///< on this number
  by_construction,     ///< what the model or the publication's own tables say anyway
};
template <>
struct EnumNames<Evidence> {
  static constexpr auto names = name_list("predicted",
                                          "measured",
                                          "derived",
                                          "predicted_from_fit",
                                          "reading_chosen",
                                          "fitted",
                                          "by_construction");
};

/// Which samples decide whether a number is met.
enum class JudgedBy : std::uint8_t {
  median,  ///< a number, or what holds mostly
  all,     ///< what the publication says of every case: each sample must meet it
};
template <>
struct EnumNames<JudgedBy> {
  static constexpr auto names = name_list("median", "all");
};

template <>
struct EnumNames<Measure::Kind> {
  static constexpr auto names = name_list("value", "ratio", "trend", "order");
};

/// One published number, range or tendency.
struct PublishedPoint {
  std::string text;  ///< as a reader finds it: "x 0.75", "mostly below 30 %"
  /// A number, or the limits of a range, as printed: met within `equal_within`.
  std::optional<double> value, low, high;
  /// Limits that words became ("faster", "mostly below 30 %"): met beyond them, without tolerance.
  std::optional<double> above, below;
  RunSelector at;       ///< conditions the publication states
  RunSelector over;     ///< conditions on the last of the measure's runs alone
  std::string reading;  ///< where words had to become a limit: how they were read
  // Of the claim, unless the point says otherwise:
  Evidence evidence = Evidence::predicted;
  std::string basis;    ///< fitted on what, derived how, which reading
  std::string repeats;  ///< the claim that already counts this number
  std::string why;      ///< of a miss: what an experiment shows
  JudgedBy judged_by = JudgedBy::median;
};

/// Relative difference up to which a simulated value counts as a printed one: one for all rows.
inline constexpr double equal_within = 0.05;  // assumed: printing and run-to-run noise

/// What a publication says, and which runs answer it.
struct Claim {
  std::string id;
  std::string text;
  std::string where;  ///< section, table or figure
  std::string unit;
  std::string open;       ///< what the publication leaves open; an axis of the grid
  std::string grid;       ///< empty where nothing is simulated
  std::string by;         ///< the axis that a claim about all cases speaks of
  std::string remark;     ///< what else a reader of the row needs
  std::string no_answer;  ///< why nothing can be simulated; empty otherwise
  std::string pointer;    ///< where it stands in its file
  Measure measure;
  std::vector<PublishedPoint> published;
};

/// What a grid of a system is, by the word "schedlab" of its spec.
enum class GridKind : std::uint8_t {
  sweep,         ///< scenarios like those of any sweep; no word
  passes,        ///< passes over data, as `schedlab buckets` has them: "buckets"
  engine_study,  ///< costs of operator classes and what follows from them: "engine_study"
  recorded,      ///< runs that were made once, elsewhere: "recorded"
};

/// Scenarios that answer claims.
struct SystemGrid {
  std::string name;
  std::string about;
  std::string spec;        ///< text of a spec file
  std::string quick_spec;  ///< the same with fewer values
  GridKind kind = GridKind::sweep;
  std::string pointer;
};

/// The claims of one publication. No model and no policy reads them.
struct PublishedSystem {
  std::string file;  ///< for messages
  std::string name;
  std::string title;
  std::string source;
  std::vector<std::string> notes;
  std::vector<SystemGrid> grids;
  std::vector<Claim> claims;
};

/// The measure of a claim with the conditions of one of its points.
[[nodiscard]] Measure measure_at(const Claim& claim, const PublishedPoint& point);

/// Reads a system file. Throws InputError with file, pointer, found and expected: what the schema
/// forbids, claims about unknown grids, ids given twice.
[[nodiscard]] PublishedSystem parse_system(const std::string& text, const std::string& file);

/// A system that ships by its name, or a file by its path. Throws InputError if it is neither.
[[nodiscard]] PublishedSystem load_system(const std::string& name_or_path);

/// A system file that was compiled into the library.
struct SystemText {
  std::string_view name;
  std::string_view text;
};
/// All of them; defined in a generated source file.
[[nodiscard]] const std::vector<SystemText>& system_texts();
[[nodiscard]] std::vector<std::string> system_names();

/// JSON Schema (draft 7) of system files.
[[nodiscard]] std::string system_schema();

}  // namespace schedlab
