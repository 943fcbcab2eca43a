// SPDX-License-Identifier: Apache-2.0
#include "hw_models/library_reader.hpp"

#include "hw_models/pipelined_product.hpp"
#include "hw_models/residual_trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr NumberRange share{0.001, 1, false};
constexpr NumberRange share_or_none{0, 1, false};
constexpr NumberRange side{1, 65536, true};
constexpr NumberRange no_side{0, 65536, true};
constexpr NumberRange split{1, 64, true};
constexpr NumberRange microseconds{0, 1e6, false};
constexpr NumberRange nanoseconds{0, 1e6, false};
constexpr NumberRange factor{0.01, 100, false};
constexpr NumberRange moves{0, 1000, false};

DataType read_type(MachineReader& reader, const std::string& at) {
  const std::string word = reader.required_text(at, "a data type");
  const std::vector<std::string>& names = enum_names<DataType>();
  if (std::find(names.begin(), names.end(), word) == names.end()) {
    reader.reject(at,
                  fmt::format("the unknown type \"{}\"", word),
                  fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return enum_value<DataType>(word);
}

/// The thread block of the known tile of the same sides, else of one with the same area.
void set_block(const std::vector<GemmTile>& known, GemmTile& tile) {
  for (const GemmTile& other : known) {
    if (other.m * other.n != tile.m * tile.n) continue;
    tile.block = other.block;
    if (std::max(other.m, other.n) == std::max(tile.m, tile.n)) return;
  }
}

GemmTile read_tile(MachineReader& reader,
                   const std::string& at,
                   const std::vector<GemmTile>& known) {
  GemmTile tile{.m = static_cast<std::int64_t>(reader.bare_number(at + "/m", side)),
                .n = static_cast<std::int64_t>(reader.bare_number(at + "/n", side)),
                .efficiency = reader.bare_number(at + "/efficiency", share)};
  const auto same = std::find_if(known.begin(), known.end(), [&](const GemmTile& other) {
    return other.m == tile.m && other.n == tile.n;
  });
  if (same != known.end()) tile.block = same->block;
  return tile;
}

RecurrentPassCost read_pass(MachineReader& reader, const std::string& at) {
  return {.fixed = from_us(reader.bare_number(at + "/fixed_us", microseconds)),
          .early = from_us(reader.bare_number(at + "/early_us", microseconds)),
          .memory_share = reader.bare_number(at + "/memory_share", share),
          .efficiency = reader.bare_number(at + "/efficiency", share),
          .narrow_efficiency = reader.bare_number(at + "/narrow_efficiency", share_or_none),
          .slow_step = from_us(reader.bare_number(at + "/slow_step_ns", nanoseconds) / 1e3)};
}

WeightGradientCost read_weight_gradient(MachineReader& reader, const std::string& at) {
  return {.fixed = from_us(reader.bare_number(at + "/fixed_us", microseconds)),
          .efficiency = reader.bare_number(at + "/efficiency", share),
          .result_moves = reader.bare_number(at + "/result_moves", moves),
          .operand_moves = reader.bare_number(at + "/operand_moves", moves)};
}

FittedValue read_fitted(MachineReader& reader, const std::string& at, const NumberRange& range) {
  const NumberSource number = reader.number_with_interval(at, range);
  return {.value = number.value, .low = number.low, .high = number.high};
}

ResidualTree read_residuals(MachineReader& reader, const std::string& at) {
  constexpr const char* expected = "a tree of residuals, such as \"m16 -3 k512 2.5 0.1\"";
  std::optional<ResidualTree> tree = tree_of(reader.required_text(at, expected));
  if (!tree) reader.reject(at, "no tree", expected);
  return *std::move(tree);
}

/// Tiles and parameters of pipelined kernels, where the file has them.
void read_pipelined(MachineReader& reader,
                    const std::string& at,
                    const std::vector<GemmTile>& known,
                    MatrixLibrary& library) {
  PipelinedProducts& made = library.pipelined.emplace();
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    const ParameterInfo& info = product_parameters()[i];
    made.values[i] = read_fitted(
        reader, fmt::format("{}/pipelined/{}", at, info.name), {info.minimum, info.maximum, false});
  }
  for (const std::string& index : reader.children(at + "/tiles")) {
    const std::string tile = fmt::format("{}/tiles/{}", at, index);
    made.efficiencies.push_back(read_fitted(reader, tile + "/efficiency", share));
    library.tiles.push_back({.m = static_cast<std::int64_t>(reader.bare_number(tile + "/m", side)),
                             .n = static_cast<std::int64_t>(reader.bare_number(tile + "/n", side)),
                             .efficiency = made.efficiencies.back().value});
    set_block(known, library.tiles.back());
  }
  for (const std::string& index : reader.children(at + "/intervals")) {
    const std::string one = fmt::format("{}/intervals/{}", at, index);
    const double rows = made.intervals.empty() ? 0 : made.intervals.back().rows;
    made.intervals.push_back({reader.plain_number(one + "/rows", {rows + 1, 1e9, false}),
                              reader.plain_number(one + "/low", {0.001, 1000, false}),
                              reader.plain_number(one + "/high", {0.001, 1000, false})});
  }
  for (const std::string& index : reader.children(at + "/residuals")) {
    made.residuals.push_back(read_residuals(reader, fmt::format("{}/residuals/{}", at, index)));
  }
  // Of lists, how long they are: all their numbers have the library's origin.
  const auto note = [&](const char* list, std::size_t length) {
    if (length == 0) return;
    reader.sources().push_back(
        {.pointer = at + list, .value = static_cast<double>(length), .text = {}});
  };
  note("/intervals", made.intervals.size());
  note("/residuals", made.residuals.size());
}

void read_single_stage(MachineReader& reader,
                       const std::string& at,
                       const std::vector<GemmTile>& known,
                       MatrixLibrary& library) {
  const auto us = [&](const char* key) {
    return from_us(reader.bare_number(at + key, microseconds));
  };
  for (const std::string& index : reader.children(at + "/tiles")) {
    library.tiles.push_back(read_tile(reader, fmt::format("{}/tiles/{}", at, index), known));
  }
  library.call = us("/call_us");
  library.split = us("/split_us");
  library.tile_step = from_us(reader.bare_number(at + "/tile_step_ns", nanoseconds) / 1e3);
  library.max_split = static_cast<std::int64_t>(reader.bare_number(at + "/max_split", split));
  library.memory_share = reader.bare_number(at + "/memory_share", share);
  library.strided_share = reader.bare_number(at + "/strided_share", share);
  library.layout[static_cast<std::size_t>(GemmLayout::tn)] =
      reader.bare_number(at + "/layout_tn", factor);
  library.narrow_side = static_cast<std::int64_t>(reader.bare_number(at + "/narrow_side", no_side));
  library.narrow_efficiency = reader.bare_number(at + "/narrow_efficiency", share);
  library.recurrent = !reader.children(at + "/recurrent").empty();
  if (library.recurrent) {
    library.forward = read_pass(reader, at + "/recurrent/forward");
    library.data_gradient = read_pass(reader, at + "/recurrent/data_gradient");
    library.weight_gradient = read_weight_gradient(reader, at + "/recurrent/weight_gradient");
  }
}

MatrixLibrary read_library(MachineReader& reader,
                           const std::string& at,
                           const std::vector<GemmTile>& known) {
  const std::size_t first = reader.sources().size();
  MatrixLibrary library;
  library.name = reader.required_text(at + "/name", "the library and its version");
  for (const std::string& index : reader.children(at + "/types")) {
    library.types.push_back(read_type(reader, fmt::format("{}/types/{}", at, index)));
  }
  if (library.types.empty()) reader.reject(at + "/types", "no type", "at least one data type");
  if (reader.children(at + "/pipelined").empty()) {
    read_single_stage(reader, at, known, library);
  } else {
    read_pipelined(reader, at, known, library);
  }
  if (library.tiles.empty()) reader.reject(at + "/tiles", "no tile", "at least one tile");
  reader.origin_for(at, first);
  const NumberSource& origin = reader.sources().at(first);
  if (origin.origin != Origin::source && origin.origin != Origin::fitted &&
      !(library.pipelined && origin.origin == Origin::assumed)) {
    reader.reject(at, "numbers without a source", "\"source\" or \"fitted\": to what");
  }
  library.source = origin.text;
  library.assumed = origin.origin == Origin::assumed;
  return library;
}

}  // namespace

std::vector<MatrixLibrary> read_matrix_libraries(MachineReader& reader,
                                                 const std::vector<GemmTile>& known) {
  const std::string list = "/device/matrix_libraries";
  std::vector<MatrixLibrary> libraries;
  for (const std::string& index : reader.children(list)) {
    libraries.push_back(read_library(reader, fmt::format("{}/{}", list, index), known));
  }
  return libraries;
}

}  // namespace schedlab
