// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/model_fit.hpp"
#include "calibration/row_split.hpp"
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

/// Three protocols, for small, middle and large sizes, from rows of RowUse::fit; `pairwise`: of
/// all_to_all, else of the others. The sizes from which the second and third are used are those of a
/// grid (powers of two) with which the fitted rows err least; their interval is one step of it each
/// way. Empty with fewer than 8 rows for each protocol.
[[nodiscard]] std::vector<FittedParameters> fit_protocols(const std::vector<CollectiveRow>& rows,
                                                          bool pairwise,
                                                          Bandwidth link);

/// The most that the switch can take for all-reduces of more ranks than were measured, if a library
/// takes it only where it is faster than a ring: as long as the largest all-reduces measured among 3
/// ranks or more took. From more ranks than those on. Not known without such rows.
[[nodiscard]] FittedParameters bound_in_switch(const std::vector<CollectiveRow>& rows,
                                               Bandwidth link);

/// One measured dispatch or combine.
struct ExchangeRow {
  ExpertExchange exchange;
  double us = 0;
  RowUse use = RowUse::fit;
};
/// From rows of RowUse::fit; not known with fewer than 40.
[[nodiscard]] FittedParameters fit_exchange(const std::vector<ExchangeRow>& rows, Bandwidth link);

}  // namespace schedlab
