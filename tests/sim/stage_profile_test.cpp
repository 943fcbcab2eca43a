// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/stage_profile.hpp"

#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace schedlab {

using namespace literals;

TEST_CASE("parts are as equal as possible, the larger ones first") {
  CHECK(equal_parts(10, 4) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(equal_parts(9, 3) == std::vector<std::int64_t>{3, 3, 3});
  CHECK_THROWS_AS(static_cast<void>(equal_parts(3, 4)), ContractViolation);
}

TEST_CASE("a pass takes its fixed time and that of each sample") {
  const PassCost cost{.fixed = 5us, .per_sample = 2us};
  CHECK(cost.of(10) == 25us);  // 5 + 10 x 2
}

TEST_CASE("profiles that no pipeline can have are refused") {
  PipelineProfile profile;
  CHECK_THROWS_AS(expect_valid(profile), ContractViolation);
  profile.stages.resize(3);
  profile.links = chain_links(3, 8_B);
  expect_valid(profile);
  SUBCASE("a link that goes back") {
    profile.links.push_back({2, 1, 8_B});
  }
  SUBCASE("a link that is there already") {
    profile.links.push_back({0, 1, 8_B});
  }
  SUBCASE("tied parameters of one stage") {
    profile.tied.push_back({"embedding", 0_B, {0}});
  }
  SUBCASE("tied parameters larger than those of the stage") {
    profile.tied.push_back({"embedding", 4_B, {0, 2}});
  }
  SUBCASE("a negative duration") {
    profile.stages[1].update = -1us;
  }
  CHECK_THROWS_AS(expect_valid(profile), ContractViolation);
}

TEST_CASE("what another rank reads is one message with the bytes of all its tensors") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "forward"});
  const TaskId producer = builder.add_task(operation, pipeline_tags(0, 0, PipelineWork::forward));
  const TaskId first = builder.add_task(operation, pipeline_tags(1, 0, PipelineWork::forward));
  const TaskId second = builder.add_task(operation, pipeline_tags(1, 0, PipelineWork::forward));
  builder.set_rank(first, 1);
  builder.set_rank(second, 1);
  for (const Bytes bytes : {10_B, 20_B}) {
    const TensorId tensor = builder.add_tensor({.name = {}, .bytes = bytes});
    builder.writes(producer, tensor);
    builder.reads(first, tensor);
    builder.reads(second, tensor);
  }
  builder.add_edge(first, second);
  const TaskGraph graph = std::move(builder).build();
  CHECK(rank_messages(graph) == std::vector<RankMessage>{{producer, 1, 30_B}});
  CHECK(pipeline_work(graph.tags(producer)) == PipelineWork::forward);
  CHECK_FALSE(pipeline_work(Tags{}).has_value());
}

}  // namespace schedlab
