// SPDX-License-Identifier: Apache-2.0
#include "calibration/table_calibration.hpp"

#include "calibration/attention_fit.hpp"
#include "calibration/collective_fit.hpp"
#include "calibration/product_fit.hpp"
#include "sim/base/wall_clock.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace schedlab {
namespace {

/// What fits the operators of one kind; adding one is a line here.
struct Procedure {
  std::string_view kind;
  OperatorFit (*fit)(const std::vector<TableRow>&, DataType, const TableOptions&, MachineSpec&);
  bool by_type = true;  ///< each type for itself; else all together, as bf16
};
constexpr Procedure procedures[] = {{"gemm", &calibrate_products},
                                    {"attention", &calibrate_attention},
                                    {"collective", &calibrate_collectives, false},
                                    {"expert_exchange", &calibrate_exchanges, false}};

struct Group {
  std::string kind;
  DataType type;
  std::vector<TableRow> rows;
};

std::vector<Group> groups_of(const std::vector<OperatorTable>& tables) {
  std::vector<Group> groups;
  for (const OperatorTable& table : tables) {
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string kind = table.kind(row);
      const auto procedure = std::find_if(std::begin(procedures),
                                          std::end(procedures),
                                          [&](const Procedure& one) { return one.kind == kind; });
      if (procedure == std::end(procedures)) {
        std::vector<std::string_view> kinds;
        for (const Procedure& one : procedures) kinds.push_back(one.kind);
        table.reject(row,
                     "kind",
                     fmt::format("\"{}\"", kind),
                     fmt::format("one of {}", fmt::join(kinds, ", ")));
      }
      const DataType type = procedure->by_type ? table.type(row) : DataType::bf16;
      auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
        return group.kind == kind && group.type == type;
      });
      if (found == groups.end()) {
        groups.push_back({kind, type, {}});
        found = groups.end() - 1;
      }
      found->rows.push_back({&table, row});
    }
  }
  return groups;
}

std::string errors_table(const std::vector<RegionError>& errors) {
  std::string text =
      "| rows | count | median % | nine of ten below % | signed % |\n|---|---|---|---|---|\n";
  for (const RegionError& error : errors) {
    text += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:+.1f} |\n",
                        error.region,
                        error.rows,
                        100 * error.median,
                        100 * error.p90,
                        100 * error.median_signed);
  }
  return text;
}

std::string coverage_table(const std::vector<IntervalCoverage>& intervals) {
  std::string text =
      "\n**Intervals of measured / predicted**, from choosing rows, tried on held-out rows\n\n"
      "| rows | count | low | high | promised % | held % |\n|---|---|---|---|---|---|\n";
  for (const IntervalCoverage& one : intervals) {
    text += fmt::format("| {} | {} | {:.3f} | {:.3f} | {:.0f} | {:.1f} |\n",
                        one.region,
                        one.rows,
                        one.low,
                        one.high,
                        100 * one.promised,
                        100 * one.covered);
  }
  return text;
}

std::string parameters_table(std::string_view what,
                             const FittedParameters& fitted,
                             std::span<const ParameterInfo> infos) {
  if (!fitted.known()) return {};
  std::string text = fmt::format(
      "\n## Parameters of {}\n\n| parameter | value | 95 % interval | meaning "
      "|\n|---|---|---|---|\n",
      what);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const FittedValue& value = fitted.values[i];
    text += fmt::format(
        "| {} | {} | {} | {} |\n",
        infos[i].name,
        value.value,
        infos[i].integer ? std::string{"chosen"} : fmt::format("{} to {}", value.low, value.high),
        infos[i].meaning);
  }
  return text;
}

std::string parameters_table(const MatrixLibrary& library) {
  const auto& values = library.pipelined->values;
  std::string text = parameters_table(
      library.name, {.values = {values.begin(), values.end()}}, product_parameters());
  for (std::size_t i = 0; i < library.tiles.size(); ++i) {
    const FittedValue& value = library.pipelined->efficiencies[i];
    text +=
        fmt::format("| {} x {} | {} | {} to {} | share of a unit's peak that such tiles reach |\n",
                    library.tiles[i].m,
                    library.tiles[i].n,
                    value.value,
                    value.low,
                    value.high);
  }
  return text;
}

}  // namespace

const Fields<TableCalibration>& table_calibration_fields() {
  using T = TableCalibration;
  static const Fields<T> fields{{"machine", [](const T& made) { return made.machine.name; }},
                                {"fits", &T::fits, operator_fit_fields()}};
  return fields;
}

TableCalibration calibrate_from_tables(const std::vector<OperatorTable>& tables,
                                       const MachineSpec& base,
                                       const TableOptions& given) {
  constexpr std::size_t day = 10;
  TableOptions options = given;
  if (options.date.empty()) options.date = now_utc().substr(0, day);
  TableCalibration made{.machine = base, .fits = {}};
  made.machine.name = options.name;
  made.machine.platform.name = options.name;
  for (const Group& group : groups_of(tables)) {
    for (const Procedure& procedure : procedures) {
      if (procedure.kind != group.kind) continue;
      made.fits.push_back(procedure.fit(group.rows, group.type, options, made.machine));
    }
  }
  return made;
}

std::string table_calibration_text(const TableCalibration& made, const std::string& out) {
  std::string text;
  for (const OperatorFit& fit : made.fits) {
    text += fmt::format("{} {} of {}\n  {:<24} {:>7} {:>9} {:>9} {:>9}\n",
                        to_string(fit.type),
                        fit.kind,
                        fit.tables,
                        "held-out rows",
                        "count",
                        "median %",
                        "90 % <",
                        "signed %");
    for (const RegionError& error : fit.report) {
      text += fmt::format("  {:<24} {:>7} {:>9.1f} {:>9.1f} {:>+9.1f}\n",
                          error.region,
                          error.rows,
                          100 * error.median,
                          100 * error.p90,
                          100 * error.median_signed);
    }
  }
  return text + fmt::format("\nwrote {}\n", out);
}

std::string table_calibration_json(const TableCalibration& made) {
  return table_calibration_fields().json(made).dump(2) + "\n";
}

std::string table_calibration_markdown(const TableCalibration& made) {
  std::string text = fmt::format("# {}, from tables of measured operators\n", made.machine.name);
  for (const OperatorFit& fit : made.fits) {
    text += fmt::format("\n## {} in {}\n{}\n\n**Held-out rows**\n\n{}\n**Rows used**\n\n{}",
                        fit.kind,
                        to_string(fit.type),
                        fit.tables,
                        errors_table(fit.report),
                        errors_table(fit.used));
    if (!fit.readings.empty()) {
      text += fmt::format("\n**Readings of the table**, each fitted, on choosing rows\n\n{}",
                          errors_table(fit.readings));
    }
    if (!fit.coverage.empty()) text += coverage_table(fit.coverage);
  }
  const CollectiveCosts& costs = made.machine.platform.network.collectives;
  for (const FittedParameters& one : costs.ring_protocols) {
    text += parameters_table("a protocol of rings", one, protocol_parameters());
  }
  for (const FittedParameters& one : costs.pairwise_protocols) {
    text += parameters_table("a protocol of all-to-alls", one, protocol_parameters());
  }
  text += parameters_table("all-reduces in the switch", costs.in_switch, switch_parameters());
  text += parameters_table("expert dispatch", costs.dispatch, expert_parameters());
  text += parameters_table("expert combine", costs.combine, expert_parameters());
  const auto& profile = made.machine.platform.devices[DeviceId{0}].profile;
  if (profile == nullptr) return text;
  text += parameters_table("attention, context", profile->context, context_parameters());
  text += parameters_table("attention, generation", profile->generation, generation_parameters());
  for (const MatrixLibrary& library : profile->libraries) {
    if (!library.pipelined) continue;
    text += parameters_table(library);
  }
  return text;
}

}  // namespace schedlab
