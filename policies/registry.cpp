// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"

#include "policies/bottom_level.hpp"
#include "policies/cann_like.hpp"
#include "policies/critical_first.hpp"
#include "policies/cudnn_like.hpp"
#include "policies/diagonal.hpp"
#include "policies/eager_fifo.hpp"
#include "policies/greedy_stages.hpp"
#include "policies/heft.hpp"
#include "policies/intra_operator.hpp"
#include "policies/layer_by_layer.hpp"
#include "policies/peft.hpp"
#include "policies/pipeline/pipeline_policies.hpp"
#include "policies/plan_file.hpp"
#include "policies/random_order.hpp"
#include "policies/round_robin_fifo.hpp"
#include "policies/single_stream.hpp"
#include "policies/successor_first.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace schedlab {

const std::vector<PolicyInfo>& policies() {
  // One line per policy. Explicit, because a static archive drops objects that register themselves.
  static const std::vector<PolicyInfo> table{
      single_stream_info(),              // "single_stream"
      layer_by_layer_info(),             // "layer_by_layer"
      diagonal_info(),                   // "diagonal"
      cudnn_like_info(),                 // "cudnn_like"
      cann_like_info(),                  // "cann_like"
      critical_first_info(),             // "critical_first"
      critical_first_matmul_info(),      // "critical_first_matmul"
      heft_info(),                       // "heft"
      heft_no_insertion_info(),          // "heft_no_insertion"
      peft_info(),                       // "peft"
      peft_no_insertion_info(),          // "peft_no_insertion"
      bottom_level_info(),               // "bottom_level"
      eager_fifo_info(),                 // "eager_fifo"
      greedy_stages_info(),              // "greedy_stages"
      round_robin_fifo_info(),           // "round_robin_fifo"
      successor_first_info(),            // "successor_first"
      intra_operator_info(),             // "intra_operator"
      random_order_info(),               // "random"
      pipeline_naive_info(),             // "pipeline_naive"
      pipeline_flush_info(),             // "pipeline_flush"
      pipeline_1f1b_info(),              // "pipeline_1f1b"
      pipeline_interleaved_1f1b_info(),  // "pipeline_interleaved_1f1b"
      pipeline_zb_h1_info(),             // "pipeline_zb_h1"
      plan_file_info(),                  // "plan_file"
  };
  return table;
}

const PolicyInfo& find_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policies()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  const std::string close = closest_spelling(name, names);
  throw InputError({.file = {},
                    .pointer = "/name",
                    .found = fmt::format("the unknown policy \"{}\"", name),
                    .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                    .hint = close.empty() ? "" : fmt::format("did you mean \"{}\"?", close)});
}

std::unique_ptr<Policy> make_policy(std::string_view name,
                                    const std::map<std::string, OptionValue>& options) {
  const PolicyInfo& info = find_policy(name);
  return info.make(resolve_options("policy " + info.name, info.options, options));
}

}  // namespace schedlab
