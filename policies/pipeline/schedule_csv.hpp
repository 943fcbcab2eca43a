// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/step_order.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What an entry of a schedule of torch.distributed.pipelining does.
enum class ScheduleActionKind : std::uint8_t {
  forward,           ///< F
  backward,          ///< B: both gradients
  backward_data,     ///< I
  backward_weight,   ///< W
  send_forward,      ///< SEND_F: the activation to the next stage
  receive_forward,   ///< RECV_F: of the stage before
  send_backward,     ///< SEND_B: the gradient of the input to the stage before
  receive_backward,  ///< RECV_B: of the next stage
};

struct ScheduleAction {
  ScheduleActionKind kind = ScheduleActionKind::forward;
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;
  std::size_t entry = 0;   ///< of its row, from 1
  bool with_next = false;  ///< of an OVERLAP_F_B, but the last

  friend bool operator==(const ScheduleAction&, const ScheduleAction&) = default;
};

/// The actions of each rank.
using ScheduleTable = std::vector<std::vector<ScheduleAction>>;

/// Reads a CSV as torch.distributed.pipelining loads and dumps it (_load_csv, _dump_csv): a row per
/// rank, entries such as 0F0, 1I3, 1W3, 1B3, 0SEND_F0, (0F1;3B0)OVERLAP_F_B or nothing. UNSHARD,
/// RESHARD and REDUCE_GRAD are left out.
/// Errors   InputError naming `file`, row and entry.
[[nodiscard]] ScheduleTable parse_schedule_csv(std::string_view text, const std::string& file);

/// The steps of all ranks in the same form, without messages.
[[nodiscard]] std::string schedule_csv(const std::vector<StepOrder>& orders);

/// The steps of each rank of a pipeline, of a table that was read from `file`.
///
/// Errors   InputError naming row and entry: not as many rows as ranks, a stage or micro-batch that
/// the workload does not have there, a pass that is missing, given twice, or in a way that no one
/// can finish. Messages, where there are any, have to be sent before they are received, as PyTorch
/// checks it; the ranks that wait for each other are named.
/// Cost     O(entries x ranks).
[[nodiscard]] std::vector<StepOrder> schedule_orders(const ScheduleTable& table,
                                                     const PipelineShape& shape,
                                                     const std::string& file);

}  // namespace schedlab
