// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/stage_profile.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace schedlab {
namespace {

bool valid(const PassCost& cost) {
  return cost.fixed >= Duration{0} && cost.per_sample >= Duration{0};
}

void expect_valid_stage(const StageProfile& stage, std::size_t index) {
  const auto culprit = [&] { return fmt::format("stage {} ({})", index, stage.name); };
  for (const PassCost& cost : {stage.forward, stage.backward_data, stage.backward_weight}) {
    SCHEDLAB_EXPECTS(valid(cost), culprit());
  }
  SCHEDLAB_EXPECTS(stage.update >= Duration{0}, culprit());
  for (const Bytes bytes :
       {stage.parameters, stage.optimizer_state, stage.kept_activations, stage.kept_gradients}) {
    SCHEDLAB_EXPECTS(bytes >= Bytes{0}, culprit());
  }
}

void expect_valid_tied(const TiedParameters& tied, const std::vector<StageProfile>& stages) {
  SCHEDLAB_EXPECTS(tied.stages.size() >= 2 && tied.bytes >= Bytes{0},
                   fmt::format("tied parameters {}", tied.name));
  for (std::size_t i = 0; i < tied.stages.size(); ++i) {
    const std::uint32_t stage = tied.stages[i];
    SCHEDLAB_EXPECTS(stage < stages.size() && (i == 0 || tied.stages[i - 1] < stage),
                     fmt::format("tied parameters {}: stage {}", tied.name, stage));
    SCHEDLAB_EXPECTS(tied.bytes <= stages[stage].parameters,
                     fmt::format("tied parameters {}: larger than stage {}", tied.name, stage));
  }
}

}  // namespace

std::vector<StageLink> chain_links(std::uint32_t stages, Bytes bytes) {
  std::vector<StageLink> links;
  for (std::uint32_t stage = 1; stage < stages; ++stage) {
    links.push_back({.from = stage - 1, .to = stage, .bytes = bytes});
  }
  return links;
}

void expect_valid(const PipelineProfile& profile) {
  SCHEDLAB_EXPECTS(!profile.stages.empty(), "a pipeline has stages");
  SCHEDLAB_EXPECTS(profile.labels >= Bytes{0}, "bytes of labels");
  for (std::size_t i = 0; i < profile.stages.size(); ++i) expect_valid_stage(profile.stages[i], i);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const StageLink& link : profile.links) {
    SCHEDLAB_EXPECTS(link.from < link.to && link.to < profile.stages.size() &&
                         link.bytes >= Bytes{0} && link.encoded >= Bytes{0} && valid(link.pack) &&
                         valid(link.unpack) && seen.emplace(link.from, link.to).second,
                     fmt::format("link from stage {} to stage {}", link.from, link.to));
  }
  for (const TiedParameters& tied : profile.tied) expect_valid_tied(tied, profile.stages);
}

std::vector<std::int64_t> equal_parts(std::int64_t total, std::int64_t parts) {
  SCHEDLAB_EXPECTS(parts >= 1 && parts <= total, fmt::format("{} in {} parts", total, parts));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), total / parts);
  for (std::int64_t i = 0; i < total % parts; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

}  // namespace schedlab
