// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/model_fit.hpp"
#include "calibration/table_fit.hpp"
#include "hw_models/expert_exchange.hpp"
#include "hw_models/fitted_collective.hpp"

#include <vector>

namespace schedlab {

/// One measured collective inside a node.
struct CollectiveRow {
  NodeCollective collective;
  double us = 0;
  RowUse use = RowUse::fit;
};

/// The rows of a table (calibrate_collectives).
[[nodiscard]] std::vector<CollectiveRow> collective_rows(const std::vector<TableRow>& rows);

/// Three protocols, for small, middle and large sizes, from rows of RowUse::fit; `pairwise`: of
/// all_to_all, else of the others. The sizes from which the second and third are used are those of
/// a grid (powers of two) with which the fitted rows err least; their interval is one step of it
/// each way. Empty with fewer than 8 rows for each protocol.
[[nodiscard]] std::vector<FittedParameters> fit_protocols(const std::vector<CollectiveRow>& rows,
                                                          bool pairwise,
                                                          Bandwidth link);

/// The most that the switch can take for all-reduces of more ranks than were measured, if a library
/// takes it only where it is faster than a ring: as long as the largest all-reduces measured among
/// 3 ranks or more took. From more ranks than those on. Not known without such rows.
[[nodiscard]] FittedParameters bound_in_switch(const std::vector<CollectiveRow>& rows,
                                               Bandwidth link);

/// One measured dispatch or combine.
struct ExchangeRow {
  ExpertExchange exchange;
  double us = 0;
  RowUse use = RowUse::fit;
};
/// The rows of a table (calibrate_exchanges): of its dispatches or combines, by their name there.
[[nodiscard]] std::vector<ExchangeRow> exchange_rows(const std::vector<TableRow>& rows,
                                                     const std::string& what);
/// From rows of RowUse::fit; not known with fewer than 40.
[[nodiscard]] FittedParameters fit_exchange(const std::vector<ExchangeRow>& rows, Bandwidth link);

/// Fits protocols and the bound of the switch to a table and gives them to the machine's network.
/// Columns: collective, gpus, message_size (elements) and data_type. Besides the held-out rows the
/// report has all rows of more than two ranks, predicted from those of two ranks alone.
/// Throws InfeasibleError if the machine's network has no device links.
[[nodiscard]] OperatorFit calibrate_collectives(const std::vector<TableRow>& rows,
                                                DataType type,
                                                const TableOptions& options,
                                                MachineSpec& machine);

/// Fits dispatch and combine. Columns: node_num (1), hidden_size, num_token, num_topk, num_experts,
/// dispatch_sms, dispatch_transmit_us, combine_sms, combine_transmit_us.
[[nodiscard]] OperatorFit calibrate_exchanges(const std::vector<TableRow>& rows,
                                              DataType type,
                                              const TableOptions& options,
                                              MachineSpec& machine);

}  // namespace schedlab
