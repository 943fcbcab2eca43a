// SPDX-License-Identifier: Apache-2.0
#include "calibration/collective_fit.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t fewest_of_protocol = 8;
constexpr std::size_t fewest_exchanges = 40;
constexpr double kib = 1024;

std::vector<const CollectiveRow*> rows_between(const std::vector<const CollectiveRow*>& rows,
                                               double from,
                                               double to) {
  std::vector<const CollectiveRow*> between;
  for (const CollectiveRow* row : rows) {
    const double sent = collective_steps(row->collective).sent_bytes;
    if (sent >= from && sent < to) between.push_back(row);
  }
  return between;
}

std::optional<ModelFit> fit_one(const std::vector<const CollectiveRow*>& rows,
                                double from,
                                Bandwidth link) {
  if (rows.size() < fewest_of_protocol) return std::nullopt;
  std::vector<double> measured;
  for (const CollectiveRow* row : rows) measured.push_back(row->us);
  std::vector<ParameterInfo> infos{protocol_parameters().begin(), protocol_parameters().end()};
  infos[static_cast<std::size_t>(ProtocolParameter::from_bytes)].integer = true;  // not fitted here
  std::vector<double> start = usual_start(infos);
  start[static_cast<std::size_t>(ProtocolParameter::from_bytes)] = from;
  ModelFit fit =
      fit_model(infos, {start}, measured, [&](const FittedParameters& at, std::size_t i) {
        return to_us(fitted_time({&at, 1}, rows[i]->collective, link).total());
      });
  fit.cost *= static_cast<double>(rows.size());
  FittedValue& threshold =
      fit.parameters.values[static_cast<std::size_t>(ProtocolParameter::from_bytes)];
  threshold.low = threshold.value / 2;
  threshold.high = threshold.value * 2;
  return fit;
}

CollectiveOp op_of(const OperatorTable& table, std::size_t row) {
  const std::string& word = table.text(row, "collective");
  if (word == "alltoall") return CollectiveOp::all_to_all;  // nccl-tests' word
  const std::vector<std::string>& names = enum_names<CollectiveOp>();
  if (std::find(names.begin(), names.end(), word) == names.end()) {
    table.reject(row,
                 "collective",
                 fmt::format("\"{}\"", word),
                 fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return enum_value<CollectiveOp>(word);
}

struct Protocols {
  std::vector<FittedParameters> rings;
  std::vector<FittedParameters> pairs;
};

Protocols fit_both(const std::vector<CollectiveRow>& rows, Bandwidth link) {
  return {fit_protocols(rows, false, link), fit_protocols(rows, true, link)};
}

template <class Belongs>
void add_errors(const std::vector<CollectiveRow>& rows,
                const std::string& region,
                const Protocols& protocols,
                Bandwidth link,
                const Belongs& belongs,
                std::vector<RegionError>& errors) {
  RegionErrors found;
  for (const CollectiveRow& row : rows) {
    const bool exchange = row.collective.op == CollectiveOp::all_to_all;
    const auto& those = exchange ? protocols.pairs : protocols.rings;
    if (those.empty() || !belongs(row)) continue;
    found.add(to_us(fitted_time(those, row.collective, link).total()), row.us);
  }
  RegionError summary = found.summary(region);
  if (summary.rows > 0) errors.push_back(std::move(summary));
}

void report_collectives(const std::vector<CollectiveRow>& rows,
                        const Protocols& protocols,
                        Bandwidth link,
                        OperatorFit& fit) {
  const auto with = [](RowUse use) {
    return [use](const CollectiveRow& row) { return row.use == use; };
  };
  add_errors(rows, "fitted", protocols, link, with(RowUse::fit), fit.used);
  add_errors(rows, "choosing", protocols, link, with(RowUse::choose), fit.used);
  add_errors(rows, "all", protocols, link, with(RowUse::report), fit.report);
  for (const CollectiveOp op : {CollectiveOp::all_reduce,
                                CollectiveOp::all_gather,
                                CollectiveOp::reduce_scatter,
                                CollectiveOp::all_to_all}) {
    add_errors(
        rows,
        std::string{to_string(op)},
        protocols,
        link,
        [&](const CollectiveRow& row) {
          return row.use == RowUse::report && row.collective.op == op;
        },
        fit.report);
  }
  // From two ranks alone: what the model says of unmeasured numbers of ranks.
  std::vector<CollectiveRow> two;
  for (const CollectiveRow& row : rows) {
    if (row.collective.ranks == 2) two.push_back(row);
  }
  const Protocols from_two{fit_protocols(two, false, link), {}};
  add_errors(
      rows,
      "more ranks, from two alone",
      from_two,
      link,
      [](const CollectiveRow& row) { return row.collective.ranks > 2; },
      fit.report);
}

Bandwidth device_link(const MachineSpec& machine) {
  const Bandwidth link = machine.platform.network.device.bandwidth;
  if (link > Bandwidth{0.0}) return link;
  throw InfeasibleError(
      fmt::format("machine \"{}\" has no links between the devices of a node\n  give it "
                  "network/device_link_gb_per_s, what the data sheet says of one way",
                  machine.name));
}

constexpr double ranks_of_node = 8;  // of the published measurements; their tables do not say

void report_exchanges(const std::vector<ExchangeRow>& rows,
                      const std::string& what,
                      const FittedParameters& fitted,
                      Bandwidth link,
                      OperatorFit& fit) {
  const auto errors = [&](RowUse use, double units) {
    RegionErrors found;
    for (const ExchangeRow& row : rows) {
      if (row.use != use || (units > 0 && row.exchange.units != units)) continue;
      found.add(exchange_time(fitted, row.exchange, link).us, row.us);
    }
    return found;
  };
  fit.used.push_back(errors(RowUse::fit, 0).summary(what + ", fitted"));
  fit.report.push_back(errors(RowUse::report, 0).summary(what));
  for (const double units : {4.0, 8.0, 12.0, 16.0, 20.0, 24.0}) {
    RegionError one =
        errors(RowUse::report, units).summary(fmt::format("{}, {} units", what, units));
    if (one.rows > 0) fit.report.push_back(std::move(one));
  }
}

}  // namespace

std::vector<CollectiveRow> collective_rows(const std::vector<TableRow>& rows) {
  std::vector<CollectiveRow> all;
  for (const auto& [table, row] : rows) {
    const double elements = table->number(row, "message_size");
    const auto size = static_cast<double>(bytes_per_element(table->type(row)));
    all.push_back({.collective = {.op = op_of(*table, row),
                                  .bytes = elements * size,
                                  .ranks = table->number(row, "gpus")},
                   .us = table->microseconds(row),
                   .use = row_use(fmt::format("{} {} {} {}",
                                              table->text(row, "collective"),
                                              table->text(row, "data_type"),
                                              table->text(row, "gpus"),
                                              table->text(row, "message_size")))});
  }
  return all;
}

std::vector<ExchangeRow> exchange_rows(const std::vector<TableRow>& rows, const std::string& what) {
  std::vector<ExchangeRow> all;
  for (const auto& [table, row] : rows) {
    if (table->whole(row, "node_num") != 1) continue;  // between nodes: another model
    all.push_back({.exchange = {.tokens = table->number(row, "num_token"),
                                .hidden = table->number(row, "hidden_size"),
                                .top_k = table->number(row, "num_topk"),
                                .experts = table->number(row, "num_experts"),
                                .ranks = ranks_of_node,
                                .units = table->number(row, what + "_sms")},
                   .us = table->number(row, what + "_transmit_us"),
                   .use = row_use(fmt::format("{}/{}/{}/{}",
                                              table->text(row, "hidden_size"),
                                              table->text(row, "num_topk"),
                                              table->text(row, "num_experts"),
                                              table->text(row, "num_token")))});
  }
  return all;
}

std::vector<FittedParameters> fit_protocols(const std::vector<CollectiveRow>& rows,
                                            bool pairwise,
                                            Bandwidth link) {
  std::vector<const CollectiveRow*> fitted;
  for (const CollectiveRow& row : rows) {
    const bool exchange = row.collective.op == CollectiveOp::all_to_all;
    if (row.use == RowUse::fit && exchange == pairwise) fitted.push_back(&row);
  }
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<FittedParameters> best;
  double least = none;
  for (double second = 2 * kib; second <= 128 * kib; second *= 2) {
    const auto low = fit_one(rows_between(fitted, 0, second), 0, link);
    if (!low) continue;
    for (double third = 256 * kib; third <= 16 * kib * kib; third *= 2) {
      const auto middle = fit_one(rows_between(fitted, second, third), second, link);
      const auto high = fit_one(rows_between(fitted, third, none), third, link);
      if (!middle || !high) continue;
      const double cost = low->cost + middle->cost + high->cost;
      if (cost >= least) continue;
      least = cost;
      best = {low->parameters, middle->parameters, high->parameters};
    }
  }
  return best;
}

FittedParameters bound_in_switch(const std::vector<CollectiveRow>& rows, Bandwidth link) {
  double most_ranks = 0;
  double most_bytes = 0;
  const auto counts = [](const CollectiveRow& row) {
    return row.use == RowUse::fit && row.collective.op == CollectiveOp::all_reduce &&
           row.collective.ranks > 2;
  };
  for (const CollectiveRow& row : rows) {
    if (!counts(row)) continue;
    most_ranks = std::max(most_ranks, row.collective.ranks);
    most_bytes = std::max(most_bytes, row.collective.bytes);
  }
  std::vector<const CollectiveRow*> large;
  constexpr double span = 64;  // of sizes, for the part that does not grow with them
  for (const CollectiveRow& row : rows) {
    if (!counts(row) || row.collective.bytes < most_bytes / span) continue;
    large.push_back(&row);
  }
  if (large.size() < 4) return {};
  std::vector<double> start = usual_start(switch_parameters());
  std::vector<ParameterInfo> infos{switch_parameters().begin(), switch_parameters().end()};
  infos[static_cast<std::size_t>(SwitchParameter::from_bytes)].integer = true;
  start[static_cast<std::size_t>(SwitchParameter::from_bytes)] = most_bytes / span;
  start[static_cast<std::size_t>(SwitchParameter::from_ranks)] = most_ranks + 1;
  std::vector<double> measured;
  for (const CollectiveRow* row : large) measured.push_back(row->us);
  FittedParameters fitted =
      fit_model(infos, {start}, measured, [&](const FittedParameters& at, std::size_t i) {
        return to_us(in_switch_time(at, large[i]->collective, link).total());
      }).parameters;
  return fitted;
}

FittedParameters fit_exchange(const std::vector<ExchangeRow>& rows, Bandwidth link) {
  std::vector<const ExchangeRow*> fitted;
  std::vector<double> measured;
  for (const ExchangeRow& row : rows) {
    if (row.use != RowUse::fit) continue;
    fitted.push_back(&row);
    measured.push_back(row.us);
  }
  if (fitted.size() < fewest_exchanges) return {};
  return fit_model(expert_parameters(),
                   {usual_start(expert_parameters())},
                   measured,
                   [&](const FittedParameters& at, std::size_t i) {
                     return exchange_time(at, fitted[i]->exchange, link).us;
                   })
      .parameters;
}

OperatorFit calibrate_collectives(const std::vector<TableRow>& rows,
                                  DataType type,
                                  const TableOptions& options,
                                  MachineSpec& machine) {
  const Bandwidth link = device_link(machine);
  const std::vector<CollectiveRow> all = collective_rows(rows);
  options.progress("collectives");
  Protocols protocols = fit_both(all, link);
  OperatorFit fit{.kind = "collective",
                  .type = type,
                  .tables = file_names(rows),
                  .used = {},
                  .report = {},
                  .readings = {}};
  report_collectives(all, protocols, link, fit);
  FittedParameters in_switch = bound_in_switch(all, link);
  const std::string origin = fit_origin(fit, options);
  for (auto* const list : {&protocols.rings, &protocols.pairs}) {
    for (FittedParameters& one : *list) one.source = origin;
  }
  in_switch.source = origin + "; all-reduces of the most ranks measured, as if the switch added up";
  CollectiveCosts& costs = machine.platform.network.collectives;
  if (!protocols.rings.empty()) costs.ring_protocols = std::move(protocols.rings);
  if (!protocols.pairs.empty()) costs.pairwise_protocols = std::move(protocols.pairs);
  if (in_switch.known() && costs.switch_reduces) costs.in_switch = std::move(in_switch);
  return fit;
}

OperatorFit calibrate_exchanges(const std::vector<TableRow>& rows,
                                DataType type,
                                const TableOptions& options,
                                MachineSpec& machine) {
  const Bandwidth link = device_link(machine);
  OperatorFit fit{.kind = "expert_exchange",
                  .type = type,
                  .tables = file_names(rows),
                  .used = {},
                  .report = {},
                  .readings = {}};
  FittedParameters made[2];
  constexpr const char* names[] = {"dispatch", "combine"};
  for (int i = 0; i < 2; ++i) {
    const std::vector<ExchangeRow> all = exchange_rows(rows, names[i]);
    options.progress(names[i]);
    made[i] = fit_exchange(all, link);
    if (made[i].known()) report_exchanges(all, names[i], made[i], link, fit);
  }
  for (FittedParameters& one : made) one.source = fit_origin(fit, options);
  CollectiveCosts& costs = machine.platform.network.collectives;
  if (made[0].known()) costs.dispatch = std::move(made[0]);
  if (made[1].known()) costs.combine = std::move(made[1]);
  return fit;
}

}  // namespace schedlab
