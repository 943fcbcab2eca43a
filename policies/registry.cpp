// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"

#include "sim/base/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace schedlab {

// One line per policy: its file defines `PolicyInfo NAME_info()`. Explicit, because a static
// archive drops objects that register themselves. NOLINTNEXTLINE(cppcoreguidelines-macro-usage):
// declares and lists each policy from one line
#define SCHEDLAB_POLICIES(policy)                                                               \
  policy(single_stream) policy(layer_by_layer) policy(diagonal) policy(cudnn_like)              \
      policy(cann_like) policy(critical_first) policy(critical_first_matmul) policy(heft)       \
          policy(heft_no_insertion) policy(peft) policy(peft_no_insertion) policy(bottom_level) \
              policy(eager_fifo) policy(greedy_stages) policy(round_robin_fifo)                 \
                  policy(successor_first) policy(work_stealing) policy(intra_operator)          \
                      policy(random_order) policy(search) policy(pipeline_naive)                \
                          policy(pipeline_flush) policy(pipeline_1f1b)                          \
                              policy(pipeline_interleaved_1f1b) policy(pipeline_zb_h1)          \
                                  policy(pipeline_zb_v) policy(pipeline_dualpipe)               \
                                      policy(pipeline_dualpipe_v) policy(pipeline_chimera)      \
                                          policy(batch_overlap) policy(pipeline_file)           \
                                              policy(plan_file)

#define SCHEDLAB_DECLARE(name) PolicyInfo name##_info();
#define SCHEDLAB_LIST(name) name##_info(),
SCHEDLAB_POLICIES(SCHEDLAB_DECLARE)

const std::vector<PolicyInfo>& policies() {
  static const std::vector<PolicyInfo> table{SCHEDLAB_POLICIES(SCHEDLAB_LIST)};
  return table;
}

const PolicyInfo& find_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policies()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  refuse_unknown({}, "/name", fmt::format("the unknown policy \"{}\"", name), name, names);
}

std::unique_ptr<Policy> make_policy(std::string_view name,
                                    const std::map<std::string, OptionValue>& options) {
  const PolicyInfo& info = find_policy(name);
  return info.make(resolve_options("policy " + info.name, info.options, options));
}

}  // namespace schedlab
