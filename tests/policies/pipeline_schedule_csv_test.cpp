// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/rank_programs.hpp"
#include "policies/pipeline/schedule_csv.hpp"
#include "sim/base/file.hpp"
#include "tests/policies/pipeline_support.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using testing::PipelineRun;
using testing::placed_pipeline;

constexpr PipelineShape two_ranks{.ranks = 2, .virtual_stages = 1, .microbatches = 2};

/// What the file is refused with.
std::string error_of(const std::string& text, const PipelineShape& shape = two_ranks) {
  try {
    static_cast<void>(schedule_orders(parse_schedule_csv(text, "s.csv"), shape, "s.csv"));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a schedule of PyTorch is read: passes, messages, sharding, gaps, overlaps") {
  const ScheduleTable table = parse_schedule_csv(
      "0UNSHARD,0F0,,0SEND_F0,0F1\r\n"
      ",1RECV_F0,1F0, 1I0 ,1SEND_B0,1W0,(1F1;1B1)OVERLAP_F_B,1REDUCE_GRAD\r\n",
      "s.csv");
  using Kind = ScheduleActionKind;
  REQUIRE(table.size() == 2);
  CHECK(table[0] == std::vector<ScheduleAction>{{Kind::forward, 0, 0, 2},
                                                {Kind::send_forward, 0, 0, 4},
                                                {Kind::forward, 0, 1, 5}});
  CHECK(table[1] == std::vector<ScheduleAction>{{Kind::receive_forward, 1, 0, 2},
                                                {Kind::forward, 1, 0, 3},
                                                {Kind::backward_data, 1, 0, 4},
                                                {Kind::send_backward, 1, 0, 5},
                                                {Kind::backward_weight, 1, 0, 6},
                                                {Kind::forward, 1, 1, 7, true},
                                                {Kind::backward, 1, 1, 7}});
}

TEST_CASE("every schedule that is written as CSV gives the same run when it is read") {
  for (const auto& [policy, order] : {std::pair{"pipeline_1f1b", &one_f_one_b_order},
                                      std::pair{"pipeline_zb_h1", &zb_h1_order},
                                      std::pair{"pipeline_zb_v", &zb_v_order},
                                      std::pair{"pipeline_dualpipe", &dualpipe_order},
                                      std::pair{"pipeline_dualpipe_v", &dualpipe_v_order},
                                      std::pair{"pipeline_chimera", &chimera_order}}) {
    CAPTURE(policy);
    const PipelineSpec spec = placed_pipeline(testing::placement_for(policy), 4, 9);
    const PipelineRun made{spec, policy};
    std::vector<StepOrder> orders;
    const PipelineShape shape{.ranks = 4,
                              .virtual_stages = spec.virtual_stages,
                              .microbatches = 9,
                              .placement = spec.placement};
    for (std::uint32_t rank = 0; rank < 4; ++rank) orders.push_back(order(shape, rank));
    const std::string csv = schedule_csv(orders);
    CHECK(schedule_orders(parse_schedule_csv(csv, "s.csv"), shape, "s.csv") == orders);
    const testing::TemporaryFolder folder;
    const std::string path = (folder.path() / "s.csv").string();
    write_file_atomically(path, csv);
    const PipelineRun read{spec, "pipeline_file", {{"path", path}}};
    CHECK(read.trace.makespan() == made.trace.makespan());
    CHECK(read.peaks() == made.peaks());
    // The same from the plan; steps that send nothing may be joined otherwise.
    const auto joined = joined_step_orders(made.graph, made.plan, policy);
    REQUIRE(joined.has_value());
    write_file_atomically(path, schedule_csv(*joined));
    const PipelineRun of_plan{spec, "pipeline_file", {{"path", path}}};
    CHECK(of_plan.trace.makespan() == made.trace.makespan());
    if (policy == std::string{"pipeline_1f1b"}) CHECK(*joined == orders);
  }
}

TEST_CASE("a schedule in which ranks wait for each other is refused with what they wait for") {
  // Rank 0 wants a gradient before it has sent micro-batch 1, rank 1 micro-batch 1 before that
  // gradient.
  CHECK(error_of("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n") ==
        "s.csv: found a schedule that hangs: rank 0 at 0B0 (entry 2) waits for 1I0; rank 1 at 1F1 "
        "(entry 2) waits for 0F1, expected an order that every rank can finish\n  an action can "
        "only wait for actions of earlier entries, on any rank");
  CHECK(error_of("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n").empty());
  // Backward before forward.
  CHECK(error_of("0B0,0F0,0F1,0B1\n1F0,1F1,1B0,1B1\n")
            .find("rank 0 at 0B0 (entry 1) waits for 0F0") != std::string::npos);
}

TEST_CASE("messages of a schedule have to be sent before they are received") {
  const std::string passes_0 = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n";
  CHECK(error_of(passes_0 + "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n").empty());
  // No rank receives micro-batch 1's gradient, and rank 1 does not send micro-batch 0's.
  CHECK(error_of(passes_0 + "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1B1,1SEND_B1\n")
            .find("rank 0 at 0RECV_B0 (entry 5) waits for 1SEND_B0") != std::string::npos);
  // Both receive first.
  CHECK(error_of("0F0,0RECV_B0,0SEND_F0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
                 "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n")
            .find("rank 0 at 0RECV_B0 (entry 2) waits for 1SEND_B0; rank 1 at 1RECV_F0 (entry 1) "
                  "waits for 0SEND_F0") != std::string::npos);
}

TEST_CASE("what is no schedule of the workload is refused by row and entry") {
  CHECK(error_of("0F0,2X1\n1F0\n").find("s.csv: row 1 (rank 0), entry 2: found \"2X1\"") == 0);
  CHECK(error_of("0F\n1F0\n").find("row 1 (rank 0), entry 1: found \"0F\"") != std::string::npos);
  CHECK(error_of("0F0,(0F1;0B0)BOTH\n").find("(0F1;0B0)BOTH") != std::string::npos);
  CHECK(error_of("0F0\n").find("found 1 rows, expected 2") != std::string::npos);
  CHECK(error_of("0F0\n0F1\n")
            .find("row 2 (rank 1), entry 1: found 0F1, expected a stage of this "
                  "rank: 1") != std::string::npos);
  CHECK(error_of("0F2\n1F0\n").find("one of the micro-batches 0 to 1") != std::string::npos);
  CHECK(error_of("7F0\n1F0\n").find("one of the workload's stages 0 to 1") != std::string::npos);
  CHECK(error_of("0F0,0F0\n1F0\n").find("each pass and message once") != std::string::npos);
  CHECK(error_of("0F0,0B0,0W0\n1F0\n").find("each pass and message once") != std::string::npos);
  CHECK(error_of("0F0,0F1,0B0,0I1\n1F0,1F1,1B0,1B1\n").find("row 1: found no 0W1") !=
        std::string::npos);
}

}  // namespace schedlab
